package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/handoff"
	"magpie/bridge/upkeep"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// aheadStarts starts a chat's process when a question seems likely, so that the user does not wait for the start and
// for the session to resume.
type aheadStarts struct {
	cfg      *Config
	preview  *Preview
	db       *db.DB
	access   *access.Authorizer
	pool     *claude.Pool
	specs    processSpecs
	upkeep   *upkeep.Keeper // knows which signs have counted, and whether a summary is made before the next turn
	turns    *turnQueue
	handoffs *handoff.Handoffs
	jobs     *workqueue.Queue
	log      zerolog.Logger
}

// Most signs are not followed by a question, so their effect is limited.
// Those that often mean nothing are ignored in chats that were silent for longer.
const signAge = 24 * time.Hour

// restoreRetry is how long the start of a process that nobody waits for is put off by the start of another.
const restoreRetry = 200 * time.Millisecond

// noteActivity notes activity in a chat by somebody who may ask a question soon.
func (a *aheadStarts) noteActivity(key chat.Key) { a.noteActivityOf(key, nil) }

// notePress notes that a button was pressed. Whoever presses is there, however long the chat was silent.
func (a *aheadStarts) notePress(key chat.Key) { a.noteSign(key, upkeep.ByPress, aheadSign{}) }

// noteActivityOf is noteActivity for somebody whose access is checked only if the sign counts; nil = it is checked.
func (a *aheadStarts) noteActivityOf(key chat.Key, by *chat.Actor) {
	a.noteSign(key, upkeep.AnySign, aheadSign{age: signAge, by: by})
}

func (a *aheadStarts) noteSign(key chat.Key, kind int, s aheadSign) {
	if !a.pool.Prolong(key.String()) && a.upkeep.CountSign(key, kind, time.Now()) {
		a.enqueue(key, s)
	}
}

// expectQuestion notes that a question is coming.
func (a *aheadStarts) expectQuestion(key chat.Key) { a.enqueue(key, aheadSign{}) }

// expectNew notes that a new conversation has begun, whose first question may take a while.
func (a *aheadStarts) expectNew(key chat.Key) { a.enqueue(key, aheadSign{isNew: true}) }

// afterTurn replaces the chat's process if it no longer fits after a turn: the settings have changed, or a new
// conversation has begun. Often the next question is already waiting.
func (a *aheadStarts) afterTurn(ctx context.Context, c db.Claim) {
	now, err := a.db.Chats().Get(ctx, c.Turn.Key)
	if err != nil || ctx.Err() != nil {
		return // the next turn notices as well
	}
	isNew, s, was := now.Epoch != c.Turn.Epoch, now.Settings, c.Chat.Settings
	if isNew || s.Project != was.Project || s.Mode != was.Mode || s.Model != was.Model || s.Effort != was.Effort {
		a.enqueue(c.Turn.Key, aheadSign{isNew: isNew, replaces: true})
	}
}

// restore starts the processes of the chats that spoke last, which ended with an earlier run of the program: latest
// first, one after another, and as many as there is room for.
func (a *aheadStarts) restore(ctx context.Context) {
	limits := a.pool.Limits()
	if limits.Idle == 0 {
		return // no process waits for a question
	}
	chats, err := a.db.Chats().Active(ctx, "", time.Now().Add(-signAge), limits.Processes)
	if err != nil && ctx.Err() == nil {
		a.log.Error().Err(err).Msg("chats that spoke last not found")
	}
	for _, c := range chats {
		if here, err := a.db.Place().Free(ctx, []chat.Key{c.Key}); err != nil || len(here) == 0 {
			continue // another bridge answers there
		}
		err := a.startAgain(ctx, c)
		for ; errors.Is(err, claude.ErrBusy); err = a.startAgain(ctx, c) {
			workqueue.Sleep(ctx, restoreRetry)
		}
		if ctx.Err() != nil || errors.Is(err, claude.ErrNoRoom) {
			return
		}
		a.logFailure(c.Key, err)
	}
}

// startAgain starts the process of a chat that spoke before the program was started. A chat with turns gets one by them,
// or its agent has outlived the earlier run.
func (a *aheadStarts) startAgain(ctx context.Context, c chat.Activity) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// The others do not wait until this chat is recovered.
	recovered, stop := context.WithTimeout(ctx, workqueue.StoreRetry)
	defer stop()
	if why, err := a.turns.isBusy(recovered, c.Key); err != nil || why != (i18n.Phrase{}) {
		return err
	}
	return a.start(ctx, c.Key, aheadSign{spoke: c.Since, age: signAge})
}

// aheadSign is a sign that a question is likely to come.
type aheadSign struct {
	isNew    bool          // it would be the first of a new conversation
	replaces bool          // an existing process that does not fit is ended
	spoke    time.Time     // the chat's process is started again; zero = it is the first
	age      time.Duration // ignored if the chat was silent for longer; 0 = never ignored
	by       *chat.Actor   // ignored unless they may ask; nil = they may
}

func (a *aheadStarts) enqueue(key chat.Key, s aheadSign) {
	a.jobs.Enqueue(func(ctx context.Context) {
		who, err := access.Admitted, error(nil)
		if s.by != nil {
			who, err = a.access.Authorize(ctx, key, *s.by)
		}
		if who == access.Admitted && err == nil {
			err = a.start(ctx, key, s)
		}
		a.logFailure(key, err)
	})
}

func (a *aheadStarts) logFailure(key chat.Key, err error) {
	if err != nil {
		// the turn reports it as well, and falls back to the History
		a.log.Debug().Err(err).Stringer("chat", key).Msg("no process started ahead of the question")
	}
}

// start starts the process that the chat's next turn needs.
func (a *aheadStarts) start(ctx context.Context, key chat.Key, s aheadSign) error {
	if _, err := a.db.Chats().Folder(ctx, key); errors.Is(err, db.ErrNotFound) {
		return nil // its first turn takes a spare process
	} else if err != nil {
		return err
	}
	return a.handoffs.Start(ctx, key, func() error { return a.startProcess(ctx, key, s) })
}

func (a *aheadStarts) startProcess(ctx context.Context, key chat.Key, s aheadSign) error {
	claim, err := a.nextClaim(ctx, key)
	if err != nil || a.upkeep.IsDue(claim.Chat) || s.age > 0 && time.Since(claim.Chat.Turned) > s.age {
		return err
	}
	spec, err := a.spec(ctx, claim)
	if err != nil {
		return err
	}
	if s.replaces {
		if err := a.pool.DropUnfit(key.String(), spec); err != nil {
			return err
		}
	}
	switch {
	case !s.spoke.IsZero():
		return a.pool.StartAgain(ctx, key.String(), spec, s.spoke)
	case s.isNew:
		return a.pool.StartNew(ctx, key.String(), spec)
	}
	return a.pool.StartAhead(ctx, key.String(), spec)
}
