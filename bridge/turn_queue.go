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

// reserve takes the lane of an idle chat and a place for its turn, so that a question can be claimed in the transaction
// that stores it: whoever waits for an answer waits for one commit. It reports false when the question has to queue.
func (q *turnQueue) reserve(key chat.Key) bool {
	select {
	case <-q.recovered:
	default:
		return false
	}
	if !q.jobs.Reserve() {
		return false
	}
	if !q.lanes.Enter(key) {
		q.jobs.Free()
		return false
	}
	return true
}

// runReserved uses what reserve has taken: it runs a claimed turn, and what else waits in the chat. Nil gives it back.
func (q *turnQueue) runReserved(key chat.Key, claim *db.Claim) {
	if claim == nil && q.lanes.Leave(key) {
		q.jobs.Free()
		return
	}
	q.jobs.Fill(func(ctx context.Context) {
		if claim == nil || !q.runNext(ctx, *claim) {
			q.work(ctx, key)
		}
	})
}

// start says how a turn is claimed.
func (q *turnQueue) start() db.Start {
	return db.Start{
		TurnIDs: db.TurnIDs{Session: uuid.NewString(), Prompt: uuid.NewString(), Node: q.cfg.Node},
		Resume:  q.cfg.Context.Resumes(),
	}
}

// runNext runs a claimed turn. If other chats wait it leaves the rest of the chat's turns to a job behind them, and
// reports true.
func (q *turnQueue) runNext(ctx context.Context, claim db.Claim) (left bool) {
	failpoint.At("turn: claimed")
	q.run(ctx, claim)
	if waiting, _ := q.jobs.Count(); waiting == 0 {
		return false
	}
	q.jobs.Enqueue(func(ctx context.Context) { q.work(ctx, claim.Turn.Key) })
	return true
}

// work runs the chat's turns sequentially until there are none. Between two of them it lets other chats go
// first.
func (q *turnQueue) work(ctx context.Context, key chat.Key) {
	for !q.lanes.Closed() { // what waits at the end of the program is found at the next start
		start := q.start()
		failpoint.At("turn: claiming")
		claim, err := q.store.Claim(ctx, key, start.TurnIDs, start.Resume)
		switch {
		case err == nil:
			if q.runNext(ctx, claim) {
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
