package bridge

import (
	"context"
	"sync"
	"time"

	"magpie/bridge/approval"
	"magpie/bridge/delivery"
	"magpie/bridge/upkeep"
)

// queues do the work of a bridge in the background: turns, the maintenance of conversations, and what people are to be
// shown.
type queues struct {
	busy      *busyChats
	turns     *turnQueue
	upkeep    *upkeep.Keeper
	approvals *approval.Requests
	outbox    *delivery.Outbox
	reactions *delivery.Reactions
}

// Parts of the time for the program's end.
const (
	lastWords = 3 * time.Second // in which interrupted turns are stored and shown; the last of it is
	closing   = time.Second     // in which processes are ended and the store is closed
)

// run works until ctx is done. Then it begins nothing new, interrupts the turns that wait for people, gives the others
// most of timeout, interrupts what is left, and delivers as much as the rest of the time allows.
func (q queues) run(ctx context.Context, timeout time.Duration) {
	work, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	defer interrupt()
	last, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() {
		q.busy.close()
		time.AfterFunc(timeout-min(timeout/4, lastWords), interrupt)
		time.AfterFunc(timeout-min(timeout/10, closing), cut)
	})()

	turns, aside := q.turns.jobs, q.upkeep.Jobs
	quiet, answered := make(chan struct{}), make(chan struct{})
	var maintained, shown sync.WaitGroup
	// Nothing of it is worth waiting for at the end, but turns may be waiting for it.
	maintained.Go(func() { aside.Run(ctx, quiet) })
	shown.Go(func() { q.approvals.Run(last, answered) })
	shown.Go(func() { q.outbox.Run(last, answered) })
	shown.Go(func() { q.reactions.Run(last, answered) })
	turns.Run(work, ctx.Done())
	close(quiet)
	maintained.Wait()
	close(answered)
	shown.Wait()
}
