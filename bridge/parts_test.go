package bridge

import (
	"context"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/attachment"
	"magpie/bridge/budget"
	"magpie/bridge/delivery"
	"magpie/bridge/login"
	"magpie/bridge/toolset"
	"magpie/bridge/turncard"
	"magpie/bridge/upkeep"
	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// parts are what tests look at within a bridge. Where each part is found stands here alone, so that the walls inside
// can be moved.
type parts struct{ bridge *Bridge }

func (p parts) cfg() *Config                   { return p.bridge.cfg }
func (p parts) prompts() *contextmgr.Manager   { return p.bridge.context }
func (p parts) authorizer() *access.Authorizer { return p.bridge.access.Authorizer }
func (p parts) ownership() *access.Ownership   { return p.bridge.access.Owners[0] }
func (p parts) receiver() *receiver            { return p.bridge.receiver }
func (p parts) commandSet() *commandSet        { return p.receiver().commands }
func (p parts) busy() *busyChats               { return p.queue().busy }
func (p parts) logins() *login.Logins          { return p.receiver().logins }
func (p parts) files() *attachment.Store       { return p.receiver().files }
func (p parts) history() historyWriter         { return p.receiver().history }
func (p parts) presses() *pressHandler         { return p.bridge.presses }
func (p parts) approvals() *approval.Requests  { return p.bridge.queues.approvals }
func (p parts) outbox() *delivery.Outbox       { return p.bridge.queues.outbox }
func (p parts) reactions() *delivery.Reactions { return p.bridge.queues.reactions }
func (p parts) queue() *turnQueue              { return p.bridge.queues.turns }
func (p parts) upkeep() *upkeep.Keeper         { return p.bridge.queues.upkeep }
func (p parts) runner() *turnRunner            { return p.bridge.runner }
func (p parts) budget() *budget.Budget         { return p.runner().budget }
func (p parts) tools() *toolset.Set            { return p.runner().specs.tools }
func (p parts) limits() *usageLimits           { return p.bridge.limits }

// recover takes up what an earlier process has left, and work does what waits, as when the bridge runs.
func (p parts) recover(ctx context.Context) error {
	err := p.bridge.recovery.run(ctx)
	p.queue().first.Range(func(key, _ any) bool { return p.queue().restart(ctx, key.(chat.Key)) })
	return err
}
func (p parts) work(ctx context.Context) { p.bridge.queues.run(ctx, p.bridge.cfg.Shutdown) }

// forgetLogin drops a login that nobody runs.
func (p parts) forgetLogin() {
	was := p.logins()
	now := &login.Logins{Pool: was.Pool, Out: was.Out, Jobs: was.Jobs, Log: was.Log, LoggedIn: was.LoggedIn}
	p.receiver().logins, p.commandSet().logins = now, now
}

// digest sends the daily digests that are due.
func (p parts) digest(ctx context.Context, now time.Time) error {
	return p.bridge.sendDueDigests(ctx, now)
}

// turnOf is the turn of a claim, before it runs; runWith runs it.
func (p parts) turnOf(c db.Claim) *turn { return newTurn(p.bridge.cfg, p.bridge.db, c) }

func (p parts) runWith(ctx context.Context, t *turn, answer func(context.Context, *turn) turncard.Outcome) {
	p.runner().runWith(ctx, t, answer)
}

// awaitRecovery waits until what an earlier process has left is taken up.
func (p parts) awaitRecovery(ctx context.Context) error {
	return p.queue().awaitRecovery(ctx, room)
}

// open lets the bridge claim turns though it does not run: an earlier process has left nothing.
func (p parts) open() { close(p.queue().listed) }

// enter begins work in the chat, and reports whether nobody else works there.
func (p parts) enter(key chat.Key) bool { return p.queue().busy.Enter(key) }

// beginTurn makes a turn run in the chat, which stop ends; endTurn ends it.
func (p parts) beginTurn(key chat.Key, turn int64, stop context.CancelCauseFunc) {
	p.enter(key)
	p.queue().busy.begin(key, turn, stop)
}

// worksFor has the agent of a turn work until leave is called.
func (p parts) worksFor(c db.Claim, project string) (leave func()) {
	busy, key := p.busy(), c.Turn.Key
	mine := busy.Enter(key)
	busy.claimed(key, c.Turn.ID)
	busy.works(c, project)
	return func() {
		busy.end(key)
		for mine && !busy.Leave(key) {
		}
	}
}

func (p parts) endTurn(key chat.Key) { p.queue().busy.end(key) }

// forget drops what is in memory of turns, as the death of a program that does not run yet.
func (p parts) forget() {
	q := p.queue()
	*q.busy, q.jobs = busyChats{}, workqueue.New(onlookers)
}

// working counts the chats with turns in work, and the jobs that run turns or wait to.
func (p parts) working() (chats, jobs int) {
	waiting, active := p.queue().jobs.Count()
	return p.queue().busy.Count(), waiting + active
}

// aside counts what is done beside the turns.
func (p parts) aside() (waiting, active int) { return p.upkeep().Jobs.Count() }

// takePlaces leaves no place for turns until they are freed: questions queue meanwhile.
func (p parts) takePlaces() (free func()) {
	jobs, places := p.queue().jobs, 0
	for jobs.Reserve() {
		places++
	}
	return func() {
		for range places {
			jobs.Release()
		}
	}
}

// answerWith answers the turns without an agent.
func (p parts) answerWith(answer func(context.Context, *turn) turncard.Outcome) {
	p.queue().run = func(ctx context.Context, c db.Claim) {
		p.runWith(ctx, p.turnOf(c), answer)
	}
}

// agent is what an agent does in a turn: what it reports on the way, and its result.
type agent func(t *turn, take func(claude.Event)) claude.Result

// actAs lets the test be the agent.
func (p parts) actAs(a agent) {
	p.answerWith(func(ctx context.Context, t *turn) turncard.Outcome {
		p.runner().prepare(ctx, t)
		take := func(e claude.Event) { p.handle(ctx, t, e) }
		result := a(t, take)
		take(result)
		return p.outcome(ctx, t, result)
	})
}

// handle lets an agent's event happen in a turn.
func (p parts) handle(ctx context.Context, t *turn, e claude.Event) {
	p.runner().handleEvent(ctx, t, e)
}

// outcome is how a turn ends with a result of its agent.
func (p parts) outcome(ctx context.Context, t *turn, r claude.Result) turncard.Outcome {
	return p.runner().resultOutcome(ctx, t.Claim, r)
}
