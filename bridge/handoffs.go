package bridge

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/handoff"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/db/handoffs"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// Attach has a chat go on in a terminal whose process is pid, and returns how that becomes the CLI. Besides the errors of
// [handoff.Handoffs.Take] there is [chat.ErrDenied].
func (b *Bridge) Attach(ctx context.Context, key chat.Key, pid int) (handoffs.Lease, workspace.Launch, error) {
	err := b.turns.awaitRecovery(ctx, key)
	if err != nil {
		return handoffs.Lease{}, workspace.Launch{}, err
	}
	if who, err := b.access.Authorize(ctx, key, b.cfg.Operator); err != nil || who != access.Admitted {
		return handoffs.Lease{}, workspace.Launch{}, cmp.Or(err, chat.ErrDenied)
	}
	return b.handoffs.Attach(ctx, key, pid)
}

// Adopt makes a session that somebody has begun in a terminal in the folder dir that of a chat without a History.
func (b *Bridge) Adopt(ctx context.Context, key chat.Key, session, dir string) error {
	return b.handoffs.Adopt(ctx, key, session, dir)
}

// nextClaim is the turn that the next question of a chat would be. If its session cannot be resumed here, that is the error.
func (a *aheadStarts) nextClaim(ctx context.Context, key chat.Key) (db.Claim, error) {
	return a.claimFor(ctx, chat.Message{Key: key, Text: "?", Time: time.Now()})
}

// terminalClaim is nextClaim without a question: whoever goes on in a terminal wants that conversation, however old it is.
func (a *aheadStarts) terminalClaim(ctx context.Context, key chat.Key) (db.Claim, error) {
	return a.claimFor(ctx, chat.Message{Key: key, Time: time.Now()})
}

func (a *aheadStarts) claimFor(ctx context.Context, question chat.Message) (db.Claim, error) {
	claim, err := a.preview.claim(ctx, question)
	if err != nil {
		return claim, err
	}
	if !claim.Resume {
		claim.Turn.Session = uuid.NewString()
	} else if cause := a.cfg.checkResumable(claim.Chat); cause != "" {
		return claim, &claude.LostError{Session: claim.Turn.Session, Cause: cause}
	}
	return claim, nil
}

// spec is the specification of the process for the turn.
func (a *aheadStarts) spec(ctx context.Context, claim db.Claim) (claude.Spec, error) {
	known := func() []string { return promptIDs(knownPrompts(ctx, a.db, claim)) }
	return a.specs.sessionSpec(ctx, claim, claim.Resume, known)
}

// terminalSpec is the spec of the CLI in a terminal.
func (a *aheadStarts) terminalSpec(ctx context.Context, claim db.Claim) (claude.Spec, error) {
	tools := a.specs.tools
	spec, err := a.spec(ctx, claim)
	spec.Tools = tools.ForTerminal(claim.Chat)
	return spec, err
}

// postponeHeld makes a claimed turn wait while its chat is in a terminal, and reports whether it does.
func (r *turnRunner) postponeHeld(ctx context.Context, t *turn) bool {
	key, log := t.Turn.Key, zerolog.Ctx(ctx)
	if t.Turn.Stopped || t.Turn.Follows != 0 {
		return false
	}
	until, changed, err := r.handoffs.Held(ctx, t.Claim)
	again := false
	for err != nil && !db.Permanent(err) && ctx.Err() == nil { // two that write would not know of each other
		if !isUnsure(err) {
			log.Error().Err(err).Msg("whether a chat is in a terminal is not known; trying again")
		}
		workqueue.Sleep(ctx, workqueue.StoreRetry)
		until, again, err = r.handoffs.Held(ctx, t.Claim)
		changed = changed || again
	}
	if err != nil && ctx.Err() == nil {
		log.Error().Err(err).Msg("whether a chat is in a terminal is not known; its question is asked")
	}
	if changed {
		if c, err := r.db.Chats().Get(ctx, key); err == nil && c.Epoch == t.Turn.Epoch {
			t.Chat.Session = c.Session
		}
	}
	if until.IsZero() {
		return false
	}
	end := turncard.Outcome{State: convo.Queued, Away: true, Notice: i18n.HandoffWaits}
	card := turncard.New(t.Turn.ID, r.cfg.langOf(t.Chat), time.Now()).Finish(end).Card(time.Now())
	postpone := func() error { return r.db.Turns().Postpone(context.WithoutCancel(ctx), t.Turn, until, card) }
	stored := false // perhaps
	for err = postpone(); err != nil && !db.Permanent(err) && ctx.Err() == nil; err = postpone() {
		if stored = stored || isUnsure(err); !isUnsure(err) {
			log.Error().Err(err).Msg("a question in a chat that is in a terminal does not wait yet; trying again")
		}
		workqueue.Sleep(ctx, workqueue.StoreRetry)
	}
	if err != nil && !(stored && errors.Is(err, db.ErrNotFound)) {
		log.Error().Err(err).Msg("a question in a chat that is in a terminal does not wait; it is asked at once")
		return false
	}
	log.Info().Msg("the chat is in a terminal; the turn waits")
	r.outbox.Wake(key)
	if _, held, err := r.handoffs.Of(ctx, key); err == nil && !held { // it came back in between
		r.limits.release(key)
	}
	return true
}

// handOff is the command /handoff: the chat goes on in a terminal, or comes back from it.
func (cs *commandSet) handOff(ctx context.Context, o invocation) (commandResult, error) {
	operator := cs.cfg.Operator
	back := slices.Contains([]string{"back", "收回"}, strings.ToLower(o.args))
	switch {
	case !back && o.args != "":
		return o.say(i18n.HandoffUsage)
	case !back && operator.ID == "":
		return o.say(i18n.HandoffNoTerminal)
	case !o.late:
		return commandResult{later: true}, nil // it may wait for the end of a process
	case back:
		return cs.takeBack(ctx, o)
	}
	l, _, err := cs.handoffs.Take(ctx, o.Key, 0)
	switch lost := new(claude.LostError); {
	case errors.Is(err, handoffs.ErrTaken) && l.Found:
		return o.say(whereabouts(l, operator, cs.access.At(o.Key).Further))
	case errors.Is(err, handoffs.ErrTaken), err == nil:
		return offer(whereabouts(l, operator, cs.access.At(o.Key).Further).In(o.lang), []chat.Button{takeBackButton(o.lang)})
	case errors.Is(err, handoffs.ErrBusy):
		return o.say(i18n.Busy)
	case errors.As(err, &lost):
		return o.say(i18n.HandoffLost, lostText(lost.Cause).In(o.lang))
	}
	why := i18n.ErrorText(o.lang, err)
	if cs.access.At(o.Key).Further { // it may tell of the machine
		cs.log.Warn().Err(err).Stringer("chat", o.Key).Msg("a chat does not go on in a terminal")
		why = i18n.HandoffSeeLog.In(o.lang)
	}
	return commandResult{reply: i18n.HandoffFailed.Sprintf(o.lang, why)}, nil
}

func takeBackButton(l i18n.Lang) chat.Button {
	return turncard.CommandButton(i18n.TakeBackButton.In(l), turncard.TakeBack)
}

// whereabouts says where a chat goes on, or can. The admins of a further app learn nothing about the machine.
func whereabouts(l handoffs.Lease, operator chat.Actor, further bool) i18n.Phrase {
	switch {
	case l.Found && further:
		return i18n.HandoffByHandElsewhere
	case l.Found:
		return i18n.HandoffByHand.With(l.Pid, l.Node)
	case l.Pid != 0 && further:
		return i18n.HandoffTakenElsewhere
	case l.Pid != 0:
		return i18n.HandoffTaken.With(l.Node)
	case further:
		return i18n.HandoffReadyElsewhere.With(l.Key)
	}
	return i18n.HandoffReady.With(operator.Name, l.Node, l.Key)
}

// takeBack takes a chat back from its terminal.
func (cs *commandSet) takeBack(ctx context.Context, o invocation) (commandResult, error) {
	l, over, err := cs.handoffs.Recall(ctx, o.Key)
	switch {
	case errors.Is(err, handoff.ErrFree):
		return o.say(i18n.HandoffNone)
	case err != nil:
		return commandResult{}, err
	case over:
		return o.say(i18n.HandoffOver)
	case l.Found:
		return o.say(whereabouts(l, cs.cfg.Operator, cs.access.At(o.Key).Further))
	}
	return o.say(i18n.HandoffRecalled)
}

// newHandoffs makes what hands chats to terminals, of parts that are made already.
func newHandoffs(
	cfg *Config, turns *turnQueue, ahead *aheadStarts, limits *usageLimits, history historyWriter, log zerolog.Logger,
) *handoff.Handoffs {
	budget := ahead.specs.budget
	return handoff.New(handoff.Config{
		DB: history.db, Pool: ahead.pool, Outbox: limits.outbox, Languages: history.languages, Node: cfg.Node,
		Operator: cfg.Operator, Claim: ahead.terminalClaim, Spec: ahead.terminalSpec, Wake: turns.wake,
		Redact: cfg.redactForHistory, Excerpt: cfg.excerptForHistory, Estimate: budget.Estimate, Log: log,
	})
}
