package bridge

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/turncard"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/convo"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// readFollowUp reads a turn that the agent started by itself. If the budget does not allow it, its process is ended.
func (r *turnRunner) readFollowUp(ctx context.Context, t *turn) turncard.Outcome {
	log, key := zerolog.Ctx(ctx), t.Turn.Key
	if err := r.budget.Check(ctx, t.Claim); err != nil {
		<-r.pool.Stop(key.String())
		t.addUsage(r.unreadUsage(ctx, t.Claim))
		return failedOutcome(log, err)
	}
	result, err := r.follow(ctx, t)
	if err != nil {
		return failedOutcome(log, err)
	}
	r.leaveRefused(ctx, t, result)
	return r.resultOutcome(ctx, t.Claim, result)
}

// leaveRefused makes what the model's API has refused end with its turn.
func (r *turnRunner) leaveRefused(ctx context.Context, t *turn, result claude.Result) {
	if key := t.Turn.Key; result.Failure.OfContents() {
		t.session.leaveRefused(ctx, t.acted || t.Turn.Follows != 0, r.pool.Config().Transcripts(key.String()))
	}
}

// maxTries limits the attempts of one turn: one may find a lost session, one a dead process; the third has to work.
const maxTries = 3

// answer runs the agent of a prepared turn until it has answered. It replaces a lost session or a dead process without
// the user noticing.
func (r *turnRunner) answer(ctx context.Context, t *turn) turncard.Outcome {
	log := zerolog.Ctx(ctx)
	t.decided = r.approvals.Decided(ctx, t.Turn)
	r.takeSpare(ctx, t) // must come before anything creates the chat's folder
	// Files come first because the prompt names their paths. The group's messages are fetched in parallel with the
	// rest.
	r.fetchFiles(ctx, t)
	t.listen = r.overheard.Fetch(ctx, t.Claim)
	defer t.listen()
	if err := r.budget.Check(ctx, t.Claim); err != nil {
		return unbegunOutcome(log, err)
	}
	var err error
	// A lost session or a dead process ends one attempt; several in a row mean that something else is wrong.
	for n := range maxTries {
		if n > 0 {
			t.setView(t.view.Restarted(time.Now()))
		}
		var result claude.Result
		result, err = r.attemptInstalled(ctx, t)
		var lost *claude.LostError
		var exit *claude.ExitError
		if errors.Is(err, claude.ErrSuspended) || errors.As(err, &exit) && r.db.Place().Lapsed() { // as by a shutdown
			err = context.Canceled
		}
		switch {
		case errors.As(err, &lost):
			if err := t.session.forget(ctx, lost); err != nil {
				return unbegunOutcome(log, err)
			}
		// Only before the first tool call: a command must not run twice.
		case errors.As(err, &exit) && !t.acted && ctx.Err() == nil:
			log.Warn().Err(err).Msg("claude died before it used a tool; running the turn again")
			if err := t.session.prepareRetry(ctx); err != nil {
				return unbegunOutcome(log, err)
			}
		// The agent has received nothing yet, so the turn can run again after a restart.
		case err != nil && !t.sent && errors.Is(err, context.Canceled):
			return turncard.Outcome{State: convo.Queued}
		// It has changed nothing, so it goes on by itself at the next start.
		case errors.Is(err, context.Canceled) && !errors.Is(err, errStopped) && !t.effects.any() &&
			!turncard.HasAsked(t.view) && t.Turn.Attempts < maxAttempts:
			return turncard.Outcome{State: convo.Queued}
		case err != nil && !t.sent:
			return unbegunOutcome(log, err)
		case err != nil:
			return failedOutcome(log, err)
		default:
			r.leaveRefused(ctx, t, result)
			return r.budget.ExplainLimit(t.Turn.Key, r.resultOutcome(ctx, t.Claim, result))
		}
	}
	return failedOutcome(log, err)
}

// attempt runs the agent once, in the process of its chat.
func (r *turnRunner) attempt(ctx context.Context, t *turn) (claude.Result, error) {
	if ctx.Err() != nil { // stopped before it began
		return claude.Result{}, context.Cause(ctx)
	}
	spec, err := r.specs.specFor(ctx, t)
	if err != nil {
		return claude.Result{}, err
	}
	p, err := r.acquire(ctx, t, spec)
	if err != nil {
		return claude.Result{}, err
	}
	defer r.pool.Release(p)
	if ctx.Err() != nil {
		return claude.Result{}, context.Cause(ctx)
	}
	p.OnSuggestion(t.suggestion.arrive)
	r.followUps.watch(t.Turn, p)
	p.Unasked().StartFor(taskOwner(t.Turn))
	t.setView(t.view.Restarted(time.Now()))
	if r.ownCommand(t) == "" {
		if err := r.askUnread(ctx, t); err != nil {
			return claude.Result{}, err
		}
		r.busy.asked(t.Claim)
	}
	reported := t.usage
	result, err := r.readAnswer(ctx, t, p, r.runPrompt(ctx, t, p))
	if err != nil {
		if t.usage == reported {
			t.addUsage(r.followUps.unreported(context.WithoutCancel(ctx), p.Dir(), t.Turn, t.counted))
		}
		return result, err
	}
	if r.ownCommand(t) != "" {
		t.handleCommandResult(result)
	}
	return result, t.session.checkLost(result, t.acted)
}

// attemptInstalled is attempt, which waits for a CLI that is being replaced.
func (r *turnRunner) attemptInstalled(ctx context.Context, t *turn) (claude.Result, error) {
	for update := claude.NewReplacement(r.pool); ; {
		result, err := r.attempt(ctx, t)
		if err == nil || t.acted {
			return result, err
		}
		awaits := func() {
			zerolog.Ctx(ctx).Warn().Err(err).Msg("claude is being replaced; waiting for it")
			t.sent = false // whatever stands in its place has read nothing
			t.setView(t.view.Doing(i18n.Updating, time.Now()))
			r.busy.setWaiting(t.Turn.Key, true)
		}
		began := time.Now()
		again := update.Await(ctx, err, awaits)
		t.view = turncard.Waited(t.view, time.Since(began))
		r.busy.setWaiting(t.Turn.Key, false)
		switch {
		case ctx.Err() != nil:
			return result, context.Cause(ctx)
		case !again:
			return result, err
		}
		t.setView(t.view.Restarted(time.Now()))
		if errors.As(err, new(*claude.ExitError)) {
			if err := t.session.prepareRetry(ctx); err != nil {
				return result, err
			}
		}
	}
}

// follow reads a turn that the agent started by itself.
func (r *turnRunner) follow(ctx context.Context, t *turn) (claude.Result, error) {
	t.sent = true
	key := t.Turn.Key
	p, err := r.pool.AcquireWoken(ctx, key.String())
	if err != nil {
		return claude.Result{}, err
	}
	if p == nil {
		return claude.Result{}, &claude.ExitError{Err: claude.ErrNoProcess}
	}
	defer r.pool.Release(p)
	p.OnSuggestion(t.suggestion.arrive)
	p.Unasked().StartFor(taskOwner(t.Turn))
	failpoint.At("follow-up: reading")
	result, err := r.readAnswer(ctx, t, p, p.Follow(ctx))
	if err != nil && t.usage == nil {
		t.addUsage(r.unreadUsage(ctx, t.Claim))
	}
	if result.Message != "" {
		t.Turn.Prompt = result.Message // from this message on, the transcript is unread
	}
	failpoint.At("follow-up: read")
	return result, err
}

// unreadUsage is what the agent of a follow-up has used whose process has ended before the follow-up was read; nil =
// unknown.
func (r *turnRunner) unreadUsage(ctx context.Context, c db.Claim) *db.Usage {
	ctx, cut := context.WithoutCancel(ctx), r.followUps.cutOffTurns
	return cut.unreported(ctx, cut.transcriptDir(c.Chat, c.Turn), c.Turn, time.Time{})
}

// readAnswer handles the agent's events until the turn has ended.
func (r *turnRunner) readAnswer(
	ctx context.Context, t *turn, p *claude.Process, events iter.Seq2[claude.Event, error],
) (result claude.Result, err error) {
	defer func() { t.worksOn = p.Unasked().IsBusy() }()
	for ev, err := range events {
		if err != nil {
			return result, err
		}
		switch e := ev.(type) {
		case claude.ToolAsk:
			place := r.places.Workspace(t.Chat, p.Dir())
			answer := func(v claude.Decision) bool { return p.Answer(e.ID, v) }
			if r.approvals.RequestDecision(ctx, t.Claim, place, e, answer) {
				r.pool.Yield(p)
				t.view = t.view.WithQuestionAsked()
			}
		case claude.ToolAskEnd:
			if ctx.Err() == nil { // otherwise the turn ends and reports why
				r.approvals.Withdraw(ctx, e.ID)
			}
		case claude.Started:
			t.session.recordStart(e.Session, p.Dir())
			r.servers.note(p.Dir(), e.Servers)
			r.busy.attach(t.Turn.Key, p.Steer)
		case claude.Steered:
			if m, ok := r.markRead(ctx, t, e.ID); ok {
				t.Asked = append(slices.Clip(t.Asked), m)
				r.busy.asked(t.Claim)
				t.setView(t.view.WithAddition(m.Text, time.Now()))
			}
		case claude.RateLimit:
			r.limits.report(ctx, t.Chat, e)
		case claude.Result:
			result = e
			if e.Failure == "" {
				r.limits.lift(ctx, t.Chat, t.began)
			}
		}
		t.actions.recordToolEvent(ctx, ev)
		r.handleEvent(ctx, t, ev)
		switch ev.(type) {
		case claude.ToolAsk, claude.ToolAskEnd, claude.ToolAllowed, claude.ToolDenied:
			r.busy.setWaiting(t.Turn.Key, r.approvals.Pending(ctx, t.Turn))
		}
	}
	return result, nil
}

// runPrompt sends the question, or one of the agent's own commands, to a process.
func (r *turnRunner) runPrompt(ctx context.Context, t *turn, p *claude.Process) iter.Seq2[claude.Event, error] {
	if line := r.ownCommand(t); line != "" {
		t.sent = true
		return p.Command(ctx, t.Turn.Prompt, line)
	}
	prompt := r.buildPrompt(ctx, t, !p.Fresh(), t.session.compare(ctx, p))
	if isUnsure(prompt.Unread) { // it can soon be read
		t.sent = false
		return unbegun(prompt.Unread)
	}
	r.context.RecordSent(t.Turn.Key, prompt, !p.Fresh())
	if !p.Fresh() && len(t.shown) == 0 {
		t.promptTokens = contextmgr.EstimateTokens(prompt.Text())
	}
	failpoint.At("prompt: sending")
	if r.db.Place().Lapsed() { // the machine was asleep, and another bridge may answer
		return unbegun(context.Canceled)
	}
	t.sent = true
	return p.Run(ctx, t.Turn.Prompt, prompt.Text(), t.shown...)
}

// unbegun are the events of a turn that is not begun.
func unbegun(why error) iter.Seq2[claude.Event, error] {
	return func(yield func(claude.Event, error) bool) { yield(nil, why) }
}

// buildPrompt makes the prompt while the process starts, which takes longer.
func (r *turnRunner) buildPrompt(ctx context.Context, t *turn, live bool, s syncState) contextmgr.Prompt {
	// The fetched group messages belong to the prompt, so their fetch must end first.
	t.listen()
	q := r.cfg.contextRequest(t.Claim, t.session.resume, s)
	q.Note, q.Live, q.Lost = t.noteForAgent(s), live, t.session.lost != ""
	prompt := r.context.Build(ctx, q)
	t.report = reportOf(q, prompt, t.session.lost)
	t.view = t.view.WithContext(describe(*t.report, t.view.Lang))
	zerolog.Ctx(ctx).Info().Object("context", prompt.Stats).Bool("resume", prompt.UseResume).Bool("live", live).
		Bool("verified", s.verified).Msg("混合上下文统计")
	if r.cfg.Observe != nil {
		r.cfg.Observe(BuiltContext{Key: t.Turn.Key, Turn: t.Turn.ID, Prompt: prompt, Live: live, Lost: t.session.lost})
	}
	return prompt
}

// calibrateTokens notes how many tokens the model needed for a prompt and its answer. What it has done and thought
// besides is not estimated.
func (r *turnRunner) calibrateTokens(t *turn, e claude.Result) {
	c, before := t.Chat.Settings, t.Chat.Session
	if t.promptTokens > 0 && !t.acted && e.Failure == "" && before.Tokens > 0 {
		estimated := t.promptTokens + contextmgr.EstimateTokens(e.Text)
		r.context.CalibrateTokens(c.Model, estimated, e.Held-before.Tokens)
	}
}

// contextRequest describes the context that a turn needs.
func (cfg Config) contextRequest(c db.Claim, resume bool, s syncState) contextmgr.Request {
	now := c.Chat
	r := contextmgr.Request{
		Key: c.Turn.Key, Kind: now.Kind, Epoch: c.Turn.Epoch, Turn: c.Turn.ID,
		Asked: c.Asked, Project: cfg.Projects.DirOf(now), Model: now.Settings.Model, Lang: string(cfg.langOf(now)),
		Synced: contextmgr.Synced{Seen: s.turn, Verified: s.verified, Incomplete: s.isBehind},
	}
	// A turn of an ended conversation must not get the summary of the current one.
	if now.Epoch == c.Turn.Epoch {
		r.After = now.ContextAfter()
		r.Summary = contextmgr.Summary{Text: now.Summary.Text, Until: now.Summary.Until}
	}
	if resume {
		r.ResumeID = c.Turn.Session
	}
	return r
}

// turnProgress is what the attempts of a turn have done so far.
type turnProgress struct {
	began        time.Time
	firstText    time.Duration // time until the first text; 0 = no text yet
	sent         bool          // the agent may have seen the question
	acted        bool          // a tool was used, so running the turn again may do harm
	effects      effects
	promptTokens int       // estimated, when the session grows by the prompt and its answer only; 0 = unknown
	usage        *db.Usage // nil = not reported
	counted      time.Time // until when usage has what subagents have used
}

// effects are the tool uses of a turn that may change something, or may have. Of a tool that was announced only the name
// is known.
type effects struct {
	uses   map[string]bool
	stored bool // what the store knows
}

func (e effects) any() bool { return len(e.uses) > 0 }

// set records whether a tool use may change something.
func (e *effects) set(use string, mayChange bool) {
	if e.uses == nil {
		e.uses = map[string]bool{}
	}
	if delete(e.uses, use); mayChange {
		e.uses[use] = true
	}
}

// markTextSeen records the time until the agent's first text.
func (c *turnProgress) markTextSeen() {
	if c.firstText == 0 {
		c.firstText = time.Since(c.began)
	}
}

// addCost adds the cost of an attempt.
func (c *turnProgress) addCost(e claude.Result) {
	c.addUsage(&db.Usage{
		Model: e.Model, Input: e.Usage.Input, Output: e.Usage.Output,
		CacheRead: e.Usage.CacheRead, CacheNew: e.Usage.CacheNew, CostUSD: e.CostUSD,
	})
}

// addUsage adds what an attempt has used; nil = unknown. A turn may need several attempts, and all of them cost money.
func (c *turnProgress) addUsage(e *db.Usage) {
	if e == nil {
		return
	}
	c.counted = time.Now()
	var u db.Usage
	if c.usage != nil {
		u = *c.usage
	}
	c.usage = &db.Usage{
		Model: e.Model, Input: u.Input + e.Input, Output: u.Output + e.Output,
		CacheRead: u.CacheRead + e.CacheRead, CacheNew: u.CacheNew + e.CacheNew,
		CostUSD: u.CostUSD + e.CostUSD, FirstText: c.firstText, Duration: time.Since(c.began),
	}
}

// handleEvent handles one event of the agent.
func (r *turnRunner) handleEvent(ctx context.Context, t *turn, ev claude.Event) {
	switch e := ev.(type) {
	case claude.Started:
		failpoint.At("agent: started")
	case claude.Thinking, claude.Steered, claude.Compacting:
		t.promptTokens = 0
	case claude.Text:
		failpoint.At("agent: text")
		t.markTextSeen()
	case claude.ToolCall:
		failpoint.At("agent: tool announced")
		t.acted = true
		t.effects.set(e.ID, !stream.Harmless(e.Name, nil))
		r.storeEffects(ctx, t)
		failpoint.At("agent: tool noted")
	case claude.ToolUse:
		t.effects.set(e.ID, !stream.Harmless(e.Name, e.Input))
		r.storeEffects(ctx, t)
	case claude.ToolResult:
		if e.Refused() {
			t.effects.set(e.ID, false)
		}
		r.storeEffects(ctx, t) // also if that has failed before
		failpoint.At("agent: tool done")
	case claude.Result:
		failpoint.At("agent: finished")
		r.calibrateTokens(t, e)
		t.session.recordResult(e)
		t.addCost(e)
		rules := r.cfg.Context
		e.Window = rules.SessionWindow(e.Window) // the card shows how near the next summary is
		ev = e
	}
	t.setView(t.view.Apply(ev, time.Now()))
}

// storeEffects stores whether a tool may change something, before it can: from then on the turn is rerun only if
// somebody asks for it. If storing fails, the next event of a tool tries again.
func (r *turnRunner) storeEffects(ctx context.Context, t *turn) {
	now := t.effects.any()
	if t.effects.stored == now {
		return
	}
	acts := convo.Acts{Turn: t.Turn.ID, Acted: now}
	if _, err := r.db.Turns().Happens(context.WithoutCancel(ctx), t.Turn.Key, acts); err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("use of a tool not stored")
		return
	}
	t.effects.stored = now
}
