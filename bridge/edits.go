package bridge

import (
	"context"
	"errors"
	"strings"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
)

// Edited takes in that the author of a message has changed it. A question that nobody has begun to answer is changed;
// about another one its author is asked. A command is carried out once, as it was.
func (b *Bridge) Edited(ctx context.Context, m chat.Incoming) error {
	if taken, err := b.ownership.claim(ctx, m); taken || err != nil {
		b.outbox.jobs.Enqueue(b.ownership.welcome)
		return err
	}
	if _, isCode := b.logins.take(&m); isCode {
		return nil // it is kept by nobody; what is to be handed over comes in a message of its own
	}
	if m.Unreadable != "" || strings.TrimSpace(questionIn(m.Text)) == "" {
		return nil
	}
	if who, err := b.access.Authorize(ctx, m.Key, m.Actor); err != nil || who != access.Admitted {
		return err
	}
	e := db.Inbound{Incoming: m, Class: chat.Overheard, Lang: b.spoken(ctx, m)}
	if b.listening.toBot(ctx, m) {
		e.Class = chat.Talk
	}
	l := b.lang(ctx, m.Key, e.Lang)
	e.Held = func(turn int64) chat.Card { return editedCard(turn, l) }
	e.Text = b.cfg.kept(questionIn(e.Text))
	got, err := b.db.Messages().Edit(ctx, e)
	if err != nil || !got.Fresh {
		return err
	}
	b.outbox.wake(m.Key)
	b.wake(m.Key)
	return nil
}

// editedCard asks whether a message is to be answered again.
func editedCard(turn int64, l i18n.Lang) chat.Card {
	text := i18n.Edited.In(l)
	return chat.Card{Body: text, Summary: text, Buttons: []chat.Button{
		{Label: i18n.EditedButton.In(l), Action: chat.Action{Do: turncard.DoContinue, Turn: turn}},
		{Label: i18n.DropButton.In(l), Action: chat.Action{Do: turncard.DoDrop, Turn: turn}},
	}}
}

// Named gives people's names to those of their messages that are stored without one.
func (b *Bridge) Named(ctx context.Context, names map[string]string) error {
	return b.db.Messages().Name(ctx, names)
}

// Recalled takes back a message of a chat, or of one of its topics: the turn that answers it is stopped, and no later
// one is told of it.
func (b *Bridge) Recalled(ctx context.Context, room chat.Key, id string) error {
	text := i18n.Recalled.In(b.lang(ctx, room, ""))
	r, err := b.db.Messages().Recall(ctx, room, id, chat.Card{Body: text, Summary: text})
	if errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	if r.Running != 0 {
		b.lanes.HaltTurns(r.Key, r.Running)
		b.wake(r.Key) // for what else it asks
	}
	b.reactions.forget(func(to chat.Ref) bool { return to.ID == id && to.Key.Parent() == room.Parent() })
	b.files.Remove(r.Files...)
	b.outbox.wake(r.Key)
	zerolog.Ctx(ctx).Info().Stringer("chat", r.Key).Int("files", len(r.Files)).Msg("message taken back")
	return nil
}
