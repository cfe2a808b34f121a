package feishu

import (
	"context"
	"io"
	"slices"
	"time"

	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// Named is the door of a further app. An open_id is that of a person in one app only, and two apps in a group are told of
// the same messages; so what the platform calls something begins with the app's channel outside of this door, and with
// nothing inside; see [chat.ID].
type Named struct {
	*Client
	name    string // as the operator calls the app
	channel string
}

// NewNamed makes the door of an app that has a name.
func NewNamed(c *Client, name string) *Named {
	return &Named{Client: c, name: name, channel: chat.AppChannel(name)}
}

// Channel begins the keys of the app's chats, and all other IDs.
func (n *Named) Channel() string { return n.channel }

// Traits are those of the platform. The app's name tells its door from others.
func (n *Named) Traits() door.Traits {
	t := n.Client.Traits()
	suffix := " (" + n.name + ")"
	t.Name = i18n.Phrase{ZH: t.Name.ZH + suffix, EN: t.Name.EN + suffix}
	return t
}

// Owner returns the user who owns the app, or "" if the platform does not name one.
func (n *Named) Owner(ctx context.Context) (string, error) {
	user, err := n.Client.Owner(ctx)
	return n.id(user), err
}

// id is what is called so outside that the platform calls own; ownID is the reverse.
func (n *Named) id(own string) string   { return chat.ID(n.channel, own) }
func (n *Named) ownID(id string) string { return chat.OwnID(n.channel, id) }

// key is a chat of the platform as outside; ownKey is the reverse.
func (n *Named) key(k chat.Key) chat.Key {
	k.Channel = n.channel
	return k
}

func (n *Named) ownKey(k chat.Key) chat.Key {
	k.Channel = chat.AppChannel("")
	return k
}

func (n *Named) ownRef(to chat.Ref) chat.Ref {
	return chat.Ref{Key: n.ownKey(to.Key), ID: n.ownID(to.ID)}
}

// incoming is a message as outside.
func (n *Named) incoming(m chat.Incoming) chat.Incoming {
	m.Key, m.ID, m.Actor.ID = n.key(m.Key), n.id(m.ID), n.id(m.Actor.ID)
	m.Files = slices.Clone(m.Files)
	for i := range m.Files {
		m.Files[i].Of = n.id(m.Files[i].Of)
	}
	return m
}

// Run is [Client.Run].
func (n *Named) Run(ctx context.Context, h door.Handler) error {
	return n.Client.Run(ctx, namedHandler{h, n})
}

// Reply is [Client.Reply].
func (n *Named) Reply(ctx context.Context, to chat.Ref, text, idem string) (messageID string, err error) {
	messageID, err = n.Client.Reply(ctx, n.ownRef(to), text, idem)
	return n.id(messageID), err
}

// Mention is [Client.Mention].
func (n *Named) Mention(
	ctx context.Context, to chat.Ref, users []string, text, idem string,
) (messageID string, err error) {
	users = slices.Clone(users)
	for i := range users {
		users[i] = n.ownID(users[i])
	}
	messageID, err = n.Client.Mention(ctx, n.ownRef(to), users, text, idem)
	return n.id(messageID), err
}

// SetReaction is [Client.SetReaction].
func (n *Named) SetReaction(ctx context.Context, to chat.Ref, r chat.Reaction) error {
	return n.Client.SetReaction(ctx, n.ownRef(to), r)
}

// Post is [Client.Post].
func (n *Named) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error) {
	cardID, err = n.Client.Post(ctx, n.ownRef(to), n.ownCard(card), idem)
	return n.id(cardID), err
}

// ownCard is a card whose neighbors are called as the platform does.
func (n *Named) ownCard(card chat.Card) chat.Card {
	card.Others = slices.Clone(card.Others)
	for i := range card.Others {
		card.Others[i] = n.ownID(card.Others[i])
	}
	return card
}

// Ready is [Client.Ready].
func (n *Named) Ready(ctx context.Context, cardID string) error {
	return n.Client.Ready(ctx, n.ownID(cardID))
}

// Edit is [Client.Edit].
func (n *Named) Edit(ctx context.Context, cardID string, card chat.Card) error {
	return n.Client.Edit(ctx, n.ownID(cardID), n.ownCard(card))
}

// Close is [Client.Close].
func (n *Named) Close(ctx context.Context, cardID string, card chat.Card) error {
	card, shown := n.ownCard(card), card.Shown
	if shown != nil {
		card.Shown = &chat.Shown{}
	}
	err := n.Client.Close(ctx, n.ownID(cardID), card)
	if shown != nil {
		shown.Buttons, shown.Pages = n.id(card.Shown.Buttons), nil
		for id, page := range card.Shown.Pages {
			if shown.Pages == nil {
				shown.Pages = map[string]string{}
			}
			shown.Pages[n.id(id)] = page
		}
	}
	return err
}

// RemoveButtons is [Client.RemoveButtons].
func (n *Named) RemoveButtons(ctx context.Context, buttons string) error {
	return n.Client.RemoveButtons(ctx, n.ownID(buttons))
}

// CardOf is [Client.CardOf].
func (n *Named) CardOf(messageID string) (first string) {
	return n.id(n.Client.CardOf(n.ownID(messageID)))
}

// Find is [Client.Find].
func (n *Named) Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error) {
	list, err := n.Client.Find(ctx, n.ownRef(to))
	for i := range list {
		list[i].ID, list[i].Card = n.id(list[i].ID), n.id(list[i].Card)
	}
	return list, err
}

// Upload is [Client.Upload].
func (n *Named) Upload(ctx context.Context, to chat.Ref, u chat.Upload) (name string, err error) {
	return n.Client.Upload(ctx, n.ownRef(to), u)
}

// Attach is [Client.Attach].
func (n *Named) Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (messageID string, err error) {
	messageID, err = n.Client.Attach(ctx, n.ownRef(to), name, caption, idem)
	return n.id(messageID), err
}

// Download is [Client.Download].
func (n *Named) Download(ctx context.Context, f chat.File, most int64, w io.Writer) error {
	f.Of = n.ownID(f.Of)
	return n.Client.Download(ctx, f, most, w)
}

// FetchQuoted is [Client.FetchQuoted].
func (n *Named) FetchQuoted(ctx context.Context, key chat.Key, id string) (chat.Incoming, error) {
	m, err := n.Client.FetchQuoted(ctx, n.ownKey(key), n.ownID(id))
	return n.incoming(m), err
}

// FetchForwarded is [Client.FetchForwarded].
func (n *Named) FetchForwarded(ctx context.Context, key chat.Key, id string) (string, error) {
	return n.Client.FetchForwarded(ctx, n.ownKey(key), n.ownID(id))
}

// ListMessages is [Client.ListMessages].
func (n *Named) ListMessages(
	ctx context.Context, key chat.Key, kind chat.Kind, since time.Time, most int,
) ([]chat.Incoming, error) {
	list, err := n.Client.ListMessages(ctx, n.ownKey(key), kind, since, most)
	for i := range list {
		list[i] = n.incoming(list[i])
	}
	return list, err
}

// Departments is [Client.Departments].
func (n *Named) Departments(ctx context.Context, userID string) ([]string, error) {
	list, err := n.Client.Departments(ctx, n.ownID(userID))
	for i := range list {
		list[i] = n.id(list[i])
	}
	return list, err
}

// namedHandler takes in what arrives at the door of a further app.
type namedHandler struct {
	door.Handler
	n *Named
}

func (h namedHandler) HandleMessage(ctx context.Context, m chat.Incoming) error {
	return h.Handler.HandleMessage(ctx, h.n.incoming(m))
}

func (h namedHandler) HandleEdit(ctx context.Context, m chat.Incoming) error {
	return h.Handler.HandleEdit(ctx, h.n.incoming(m))
}

func (h namedHandler) HandleRecall(ctx context.Context, room chat.Key, id string) error {
	return h.Handler.HandleRecall(ctx, h.n.key(room), h.n.id(id))
}

func (h namedHandler) HandlePress(ctx context.Context, p chat.Press) (toast string, err error) {
	p.ID, p.Key, p.Card, p.Actor.ID = h.n.id(p.ID), h.n.key(p.Key), h.n.id(p.Card), h.n.id(p.Actor.ID)
	return h.Handler.HandlePress(ctx, p)
}

func (h namedHandler) ActiveChats(ctx context.Context, _ string) ([]chat.Activity, error) {
	list, err := h.Handler.ActiveChats(ctx, h.n.channel)
	list = slices.Clone(list)
	for i := range list {
		list[i].Key = h.n.ownKey(list[i].Key)
	}
	return list, err
}

func (h namedHandler) HandleMembership(ctx context.Context, c chat.Change) error {
	c.Key, c.Actor.ID = h.n.key(c.Key), h.n.id(c.Actor.ID)
	return h.Handler.HandleMembership(ctx, c)
}

func (h namedHandler) HandleRead(ctx context.Context, key chat.Key, reader chat.Actor) {
	reader.ID = h.n.id(reader.ID)
	h.Handler.HandleRead(ctx, h.n.key(key), reader)
}

func (h namedHandler) PrivateChat(ctx context.Context, user string) (chat.Key, error) {
	key, err := h.Handler.PrivateChat(ctx, h.n.id(user))
	if key != (chat.Key{}) {
		key = h.n.ownKey(key)
	}
	return key, err
}

func (h namedHandler) HandleNames(ctx context.Context, names map[string]string) error {
	called := make(map[string]string, len(names))
	for own, name := range names {
		called[h.n.id(own)] = name
	}
	return h.Handler.HandleNames(ctx, called)
}
