package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/handoff"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/db/cluster"
	"magpie/db/engine"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// turnQueue runs the turns waiting in the database, one at a time per chat.
type turnQueue struct {
	node    string // this machine
	resumes bool   // a turn goes on in the chat's session
	turns   db.Turns
	place   *cluster.Place // see [db.DB.Place]
	jobs    *workqueue.Queue
	busy    *busyChats
	// the chats that go on in a terminal
	handoffs *handoff.Handoffs
	run      func(context.Context, db.Claim) // answers a claimed turn
	// closed when it is known in which chats the previous process has left something
	listed chan struct{}
	// by chat in which it has: what happens before the chat's turns, func(context.Context) error, and what is closed when
	// what is left there is recovered, chan struct{}
	first, recovered sync.Map
	log              zerolog.Logger
}

// wake makes sure that the chat's turns are processed.
func (q *turnQueue) wake(key chat.Key) {
	if q.busy.Enter(key) {
		q.jobs.Enqueue(func(ctx context.Context) { q.work(ctx, key) })
	}
}

// isUnsure reports whether it is unknown if a write was stored: the database server is away, of which the operator is told
// once. Repeating the write does no harm.
func isUnsure(err error) bool { return errors.Is(err, engine.ErrAway) }

// wakeIfUnsure looks for a turn that may have been stored, although err says otherwise: the platform delivers its question
// again, which is then known and starts nothing.
func (q *turnQueue) wakeIfUnsure(key chat.Key, err error) {
	if isUnsure(err) {
		q.wake(key)
	}
}

// reserve takes the lane of an idle chat and a slot for its turn, so that its question can be claimed in the
// transaction that stores it and the answer waits for only one commit. It returns false if the question has to queue.
func (q *turnQueue) reserve(key chat.Key) bool {
	if !isClosed(q.listed) || !q.jobs.Reserve() {
		return false
	}
	if !q.busy.Enter(key) {
		q.jobs.Release()
		return false
	}
	return true
}

// runReserved uses the reservation: it runs a claimed turn, and whatever else waits in the chat. Nil gives the
// reservation back.
func (q *turnQueue) runReserved(key chat.Key, claim *db.Claim) {
	if claim == nil && q.busy.Leave(key) {
		q.jobs.Release()
		return
	}
	q.jobs.Fill(func(ctx context.Context) {
		if claim == nil || !q.runNext(ctx, *claim) {
			q.work(ctx, key)
		}
	})
}

// findReserved uses the reservation when it is unknown whether a turn was claimed that way, or even stored.
func (q *turnQueue) findReserved(key chat.Key, start db.Start) {
	start.Again = true
	q.jobs.Fill(func(ctx context.Context) { q.workFrom(ctx, key, start) })
}

// startParams returns the parameters of a claim.
func (q *turnQueue) startParams() db.Start {
	return db.Start{
		Session: uuid.NewString(), Prompt: uuid.NewString(), Node: q.node, Resume: q.resumes,
	}
}

// runNext runs a claimed turn. If other chats are waiting, it leaves the rest of the chat's turns to a job behind them
// and returns true.
func (q *turnQueue) runNext(ctx context.Context, claim db.Claim) (left bool) {
	failpoint.At("turn: claimed")
	q.run(ctx, claim)
	if waiting, _ := q.jobs.Count(); waiting == 0 {
		return false
	}
	q.jobs.Enqueue(func(ctx context.Context) { q.work(ctx, claim.Turn.Key) })
	return true
}

// work runs the chat's turns one by one until none are left. Between two turns it lets other chats go first.
func (q *turnQueue) work(ctx context.Context, key chat.Key) { q.workFrom(ctx, key, q.startParams()) }

// workFrom is work that claims the first turn with start.
func (q *turnQueue) workFrom(ctx context.Context, key chat.Key, start db.Start) {
	if !q.restart(ctx, key) {
		return
	}
	for !q.busy.Closed() { // turns left at shutdown are found at the next start
		failpoint.At("turn: claiming")
		claim, err := q.turns.Claim(ctx, key, start)
		switch {
		case err == nil:
			start = q.startParams()
			q.busy.claimed(key, claim.Turn.ID)
			if q.runNext(ctx, claim) {
				return
			}
		case db.Permanent(err):
			if !errors.Is(err, db.ErrNotFound) && !errors.Is(err, chat.ErrElsewhere) {
				q.log.Error().Err(err).Stringer("chat", key).Msg("next turn not begun")
			}
			if q.busy.Leave(key) {
				return
			}
		default:
			start.Again = start.Again || isUnsure(err)
			if !isUnsure(err) {
				q.log.Error().Err(err).Stringer("chat", key).Msg("next turn not found; trying again")
			}
			workqueue.Sleep(ctx, workqueue.StoreRetry)
		}
	}
}

// restart does what comes before the chat's turns, and reports whether they may begin. Whatever fails is tried again
// later, and holds up nobody else meanwhile.
func (q *turnQueue) restart(ctx context.Context, key chat.Key) bool {
	_, err := q.place.Take(ctx, key) // what is left there is known from then on
	first, left := q.first.Load(key)
	if err == nil && !left {
		return true
	}
	if q.busy.Closed() { // the next start finds it
		return false
	}
	if err == nil {
		err = first.(func(context.Context) error)(ctx)
	}
	if err != nil {
		if !isUnsure(err) {
			q.log.Error().Err(err).Stringer("chat", key).Msg("chat not recovered; trying again")
		}
		time.AfterFunc(workqueue.StoreRetry, func() {
			q.jobs.Enqueue(func(ctx context.Context) { q.work(ctx, key) })
		})
		return false
	}
	q.first.Delete(key)
	return true
}

// inOrder takes these steps one after the other. After one that fails it goes on with that when it is called again.
func inOrder(steps ...func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		for len(steps) > 0 {
			if err := steps[0](ctx); err != nil {
				return err
			}
			steps = steps[1:]
		}
		return nil
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// isRecovered reports whether what the previous process has left in a chat is recovered.
func (q *turnQueue) isRecovered(key chat.Key) bool {
	if !isClosed(q.listed) {
		return false
	}
	recovered, left := q.recovered.Load(key)
	return !left || isClosed(recovered.(chan struct{}))
}

// hasBegun reports whether a turn of the chat has begun and not ended, or its agent still works in the background. After
// a crash a turn may be waiting to begin again.
func (q *turnQueue) hasBegun(ctx context.Context, key chat.Key) (bool, error) {
	if q.busy.running(key) != 0 {
		return true, nil
	}
	life, err := q.turns.Of(ctx, key)
	return slices.ContainsFunc(life.Turns, func(t convo.Turn) bool {
		return !t.IsUndecided() && (t.Attempts > 0 || t.Follows != 0)
	}), err
}

// awaitRecovery waits until what the previous process has left in a chat is recovered. If that takes too long, it fails,
// and the platform redelivers the message.
func (q *turnQueue) awaitRecovery(ctx context.Context, key chat.Key) error {
	recovered := q.listed
	for range 2 {
		select {
		case <-recovered:
		case <-ctx.Done():
			return ctx.Err()
		}
		if its, left := q.recovered.Load(key); left {
			recovered = its.(chan struct{})
		}
	}
	return nil
}

// openTurns lists the unfinished turns of a chat: the running one, or else those that wait or are about to begin or to
// end. Only the database knows all of them: a turn is claimed there before this program knows, and one that the previous
// one left runs in none before it is recovered.
func (q *turnQueue) openTurns(ctx context.Context, key chat.Key) (ids []int64, err error) {
	if turn := q.busy.running(key); turn != 0 {
		return []int64{turn}, nil
	}
	life, err := q.turns.Of(ctx, key)
	for _, t := range life.In(convo.Queued, convo.Running) {
		ids = append(ids, t.ID)
	}
	return ids, err
}

// isBusy says why nothing else can be done in a chat now: it is in a terminal, or has a running or waiting turn. No text = it
// can.
func (q *turnQueue) isBusy(ctx context.Context, key chat.Key) (why i18n.Phrase, err error) {
	if err := q.awaitRecovery(ctx, key); err != nil { // what the previous process left may be about to end
		return why, err
	}
	if held, err := q.handoffs.Holds(ctx, key); err != nil || held {
		return i18n.HandoffHolds, err
	}
	open, err := q.openTurns(ctx, key)
	if len(open) > 0 {
		why = i18n.Busy
	}
	return why, err
}
