package bridge

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// wake makes sure that somebody works for the chat.
func (b *Bridge) wake(key chat.Key) {
	if b.lanes.Enter(key) {
		b.turns.Enqueue(func(ctx context.Context) { b.work(ctx, key) })
	}
}

// work runs the chat's turns, one after the other, until there are none. Between two of them it lets other chats go
// first.
func (b *Bridge) work(ctx context.Context, key chat.Key) {
	for !b.lanes.Closed() { // what waits at the end of the program is found at the next start
		names := db.TurnIDs{Session: uuid.NewString(), Prompt: uuid.NewString(), Node: b.cfg.Node}
		failpoint.At("turn: claiming")
		claim, err := b.db.Queue().Claim(ctx, key, names, b.cfg.Context.Resumes())
		switch {
		case err == nil:
			failpoint.At("turn: claimed")
			b.runTurn(ctx, claim)
			if waiting, _ := b.turns.Count(); waiting > 0 {
				b.turns.Enqueue(func(ctx context.Context) { b.work(ctx, key) })
				return
			}
		case hopeless(err):
			if !errors.Is(err, db.ErrNotFound) {
				b.log.Error().Err(err).Stringer("chat", key).Msg("next turn not begun")
			}
			if b.lanes.Leave(key) {
				return
			}
		default:
			b.log.Error().Err(err).Stringer("chat", key).Msg("next turn not found; trying again")
			workqueue.Sleep(ctx, workqueue.StoreRetry)
		}
	}
}

// runTurn answers a claimed turn.
func (b *Bridge) runTurn(ctx context.Context, claim db.Claim) {
	t := newTurn(b, claim)
	log := b.log.With().Stringer("chat", claim.Turn.Key).Int64("turn", claim.Turn.ID).Logger().Hook(t.session)
	defer b.budget.release(claim.Turn.ID)
	t.run(log.WithContext(ctx))
}
