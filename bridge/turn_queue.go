package bridge

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// turnQueue runs the turns that wait in the database, one at a time in each chat.
type turnQueue struct {
	cfg   *Config
	store db.Queue
	jobs  *workqueue.Queue
	lanes workqueue.Lanes
	run   func(context.Context, db.Claim) // answers a claimed turn
	// closed when the turns that an earlier process left running are recovered
	recovered chan struct{}
	log       zerolog.Logger
}

// wake makes sure that the chat's turns are worked on.
func (q *turnQueue) wake(key chat.Key) {
	if q.lanes.Enter(key) {
		q.jobs.Enqueue(func(ctx context.Context) { q.work(ctx, key) })
	}
}

// work runs the chat's turns, one after the other, until there are none. Between two of them it lets other chats go
// first.
func (q *turnQueue) work(ctx context.Context, key chat.Key) {
	for !q.lanes.Closed() { // what waits at the end of the program is found at the next start
		names := db.TurnIDs{Session: uuid.NewString(), Prompt: uuid.NewString(), Node: q.cfg.Node}
		failpoint.At("turn: claiming")
		claim, err := q.store.Claim(ctx, key, names, q.cfg.Context.Resumes())
		switch {
		case err == nil:
			failpoint.At("turn: claimed")
			q.run(ctx, claim)
			if waiting, _ := q.jobs.Count(); waiting > 0 {
				q.jobs.Enqueue(func(ctx context.Context) { q.work(ctx, key) })
				return
			}
		case db.Permanent(err):
			if !errors.Is(err, db.ErrNotFound) {
				q.log.Error().Err(err).Stringer("chat", key).Msg("next turn not begun")
			}
			if q.lanes.Leave(key) {
				return
			}
		default:
			q.log.Error().Err(err).Stringer("chat", key).Msg("next turn not found; trying again")
			workqueue.Sleep(ctx, workqueue.StoreRetry)
		}
	}
}

// awaitRecovery waits until the turns that an earlier process left running are recovered. When that takes too long, the
// platform delivers the message again.
func (q *turnQueue) awaitRecovery(ctx context.Context) error {
	select {
	case <-q.recovered:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open lists the turns of a chat that have not ended: the one that runs, else those that wait to be run.
func (q *turnQueue) open(ctx context.Context, key chat.Key) ([]int64, error) {
	if turn := q.lanes.RunningTurn(key); turn != 0 {
		return []int64{turn}, nil
	}
	if err := q.awaitRecovery(ctx); err != nil { // a question may be so new that its turn has not begun
		return nil, err
	}
	return q.store.Turns(ctx, key)
}

// busy reports whether a chat is being answered, or waits for it.
func (q *turnQueue) busy(ctx context.Context, key chat.Key) (bool, error) {
	open, err := q.open(ctx, key)
	return len(open) > 0, err
}
