package door

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/sync/errgroup"

	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// Doors are all doors of a bridge. What the bridge shows goes to the door of the message that it answers, and what
// answers none to the door of its chat; edits go to the door of the card. What a door cannot do is left out.
type Doors []Door

// Of is the door of a channel; nil = there is none.
func (ds Doors) Of(channel string) Door {
	for _, d := range ds {
		if d.Channel() == channel {
			return d
		}
	}
	return nil
}

// Name is what people call the door of a channel.
func (ds Doors) Name(channel string) i18n.Phrase {
	if d := ds.Of(channel); d != nil {
		return d.Traits().Name
	}
	return i18n.Phrase{ZH: channel, EN: channel}
}

// Run runs all doors until ctx is done, or one of them fails.
func (ds Doors) Run(ctx context.Context, h Handler) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, d := range ds {
		g.Go(func() error { return d.Run(ctx, h) })
	}
	return g.Wait()
}

// Health is that of the first door at which messages cannot come or go, or of the first door if all is well.
func (ds Doors) Health() Health {
	for _, d := range ds {
		if h := d.Health(); !h.Connected || h.CircuitOpen {
			h.Channel = d.Channel()
			return h
		}
	}
	if len(ds) == 0 {
		return Health{}
	}
	h := ds[0].Health()
	h.Channel = ds[0].Channel()
	return h
}

// Traits are those of the door at which something is shown.
func (ds Doors) Traits(to chat.Ref) Traits {
	if d := ds.at(to); d != nil {
		return d.Traits()
	}
	return Traits{}
}

// at is the door at which something is shown; nil = there is none. The versions of a message that was edited have IDs
// of no door, and belong to that of their chat.
func (ds Doors) at(to chat.Ref) Door {
	if d := ds.Of(to.Channel()); d != nil {
		return d
	}
	return ds.Of(to.Key.Channel)
}

// Reply replies to a message with a short text.
func (ds Doors) Reply(ctx context.Context, to chat.Ref, text, idem string) (messageID string, err error) {
	d := ds.at(to)
	if d == nil {
		return "", chat.ErrUnreachable
	}
	return d.Reply(ctx, to, text, idem)
}

// Mention replies to a message with a short text, and notifies people if the door can.
func (ds Doors) Mention(ctx context.Context, to chat.Ref, users []string, text, idem string) (string, error) {
	if m, ok := ds.at(to).(Mentioner); ok {
		return m.Mention(ctx, to, users, text, idem)
	}
	return ds.Reply(ctx, to, text, idem)
}

// Post replies to a message with a card.
func (ds Doors) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error) {
	d := ds.at(to)
	if d == nil {
		return "", chat.ErrUnreachable
	}
	return d.Post(ctx, to, card, idem)
}

// Ready waits until another edit of the card is accepted.
func (ds Doors) Ready(ctx context.Context, cardID string) error {
	if p, ok := ds.Of(chat.ChannelOf(cardID)).(Pacer); ok {
		return p.Ready(ctx, cardID)
	}
	return ctx.Err()
}

// Edit replaces the content of the card.
func (ds Doors) Edit(ctx context.Context, cardID string, card chat.Card) error {
	d := ds.Of(chat.ChannelOf(cardID))
	if d == nil {
		return chat.ErrUnreachable
	}
	return d.Edit(ctx, cardID, card)
}

// Close draws the final, complete state of the card.
func (ds Doors) Close(ctx context.Context, cardID string, card chat.Card) error {
	d := ds.Of(chat.ChannelOf(cardID))
	if d == nil {
		return chat.ErrUnreachable
	}
	return d.Close(ctx, cardID, card)
}

// RemoveButtons removes the buttons of a closed card.
func (ds Doors) RemoveButtons(ctx context.Context, buttons string) error {
	if r, ok := ds.Of(chat.ChannelOf(buttons)).(ButtonRemover); ok {
		return r.RemoveButtons(ctx, buttons)
	}
	return nil
}

// CardOf is the first message of the card of which a message shows a part.
func (ds Doors) CardOf(messageID string) (first string) {
	if p, ok := ds.Of(chat.ChannelOf(messageID)).(Pager); ok {
		return p.CardOf(messageID)
	}
	return messageID
}

// Upload uploads a file for a chat without showing it.
func (ds Doors) Upload(ctx context.Context, to chat.Ref, u chat.Upload) (name string, err error) {
	if a, ok := ds.at(to).(Attacher); ok {
		return a.Upload(ctx, to, u)
	}
	return "", chat.ErrNotTaken
}

// Attach replies to a message with an uploaded file.
func (ds Doors) Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (messageID string, err error) {
	if a, ok := ds.at(to).(Attacher); ok {
		return a.Attach(ctx, to, name, caption, idem)
	}
	return "", chat.ErrNotTaken
}

// Find lists the bot's replies to a message, oldest first.
func (ds Doors) Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error) {
	if f, ok := ds.at(to).(Finder); ok {
		return f.Find(ctx, to)
	}
	return nil, nil
}

// SetReaction shows the state of a message as a reaction.
func (ds Doors) SetReaction(ctx context.Context, to chat.Ref, r chat.Reaction) error {
	if d, ok := ds.at(to).(Reactor); ok {
		return d.SetReaction(ctx, to, r)
	}
	return nil
}

// Download writes a file of a message to w.
func (ds Doors) Download(ctx context.Context, f chat.File, most int64, w io.Writer) error {
	if d, ok := ds.Of(chat.ChannelOf(f.Of)).(Fetcher); ok {
		return d.Download(ctx, f, most, w)
	}
	return chat.ErrUnreachable
}

// FetchQuoted returns the message that another one of the chat replies to.
func (ds Doors) FetchQuoted(ctx context.Context, key chat.Key, id string) (chat.Incoming, error) {
	if d, ok := ds.Of(chat.ChannelOf(id)).(Fetcher); ok {
		return d.FetchQuoted(ctx, key, id)
	}
	return chat.Incoming{}, chat.ErrGone
}

// FetchForwarded returns the text of the messages inside a forwarded one.
func (ds Doors) FetchForwarded(ctx context.Context, key chat.Key, id string) (string, error) {
	if d, ok := ds.Of(chat.ChannelOf(id)).(Fetcher); ok {
		return d.FetchForwarded(ctx, key, id)
	}
	return "", chat.ErrGone
}

// Transcribe converts a recording to text by the door of its message, or if that never can by the first one that can; empty = not
// possible.
func (ds Doors) Transcribe(ctx context.Context, message string, recording *os.File, length time.Duration) (string, error) {
	for _, d := range append(Doors{ds.Of(chat.ChannelOf(message))}, ds...) {
		if t, ok := d.(Transcriber); ok {
			return t.Transcribe(ctx, recording, length)
		}
	}
	return "", nil
}

// ListMessages lists the messages of users in a chat since a time, oldest first; none if the door cannot list them.
func (ds Doors) ListMessages(
	ctx context.Context, key chat.Key, kind chat.Kind, since time.Time, most int,
) ([]chat.Incoming, error) {
	if l, ok := ds.Of(key.Channel).(Lister); ok {
		return l.ListMessages(ctx, key, kind, since, most)
	}
	return nil, nil
}

// Departments lists the departments of a user.
func (ds Doors) Departments(ctx context.Context, userID string) ([]string, error) {
	if d, ok := ds.Of(chat.ChannelOf(userID)).(Directory); ok {
		return d.Departments(ctx, userID)
	}
	return nil, nil
}

// Age is how long ago a message was written, by the clock that has stamped it.
func (ds Doors) Age(m chat.Incoming) time.Duration {
	if c, ok := ds.Of(chat.ChannelOf(m.ID)).(Clock); ok {
		return c.Age(m.Time)
	}
	return time.Since(m.Time)
}
