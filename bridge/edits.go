package bridge

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// HandleNames adds people's names to their stored messages that have none.
func (b *Bridge) HandleNames(ctx context.Context, names map[string]string) error {
	return b.db.Messages().Name(ctx, names)
}

// HandleRecall handles a recalled message of a chat or one of its topics: it stops the turn that answers it and what
// its agent does for it in the background, and keeps the message out of later prompts.
func (b *Bridge) HandleRecall(ctx context.Context, room chat.Key, id string) error {
	defer b.arrivals.arrived()()
	l := b.languages.OfChat(ctx, room)
	text := i18n.Recalled.In(l)
	r, err := b.db.Messages().Recall(ctx, room, id, chat.Card{
		Title: i18n.Stopped.In(l), State: chat.CardQueued, Body: text, Summary: text,
	})
	if errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	if r.Running != 0 {
		b.busy.halt(r.Key, errRecalled, r.Running)
		b.turns.wake(r.Key) // for what else it asks
	}
	if r.FollowUp.ID != 0 {
		b.approvals.EndTurnSoon(r.FollowUp, convo.Cancelled)
		b.followUps.stopFor(ctx, r.FollowUp)
	}
	for _, turn := range r.Over { // what is expected to follow may be about another question
		b.pool.StopTasks(taskOwner(db.Turn{ID: turn}))
	}
	b.reactions.Forget(func(to chat.Ref) bool { return to.ID == id && to.Key.Parent() == room.Parent() })
	b.files.Remove(r.Files...)
	b.approvals.Reconsider(r.Key)
	b.outbox.Wake(r.Key)
	zerolog.Ctx(ctx).Info().Stringer("chat", r.Key).Int("files", len(r.Files)).Msg("message recalled")
	return nil
}
