package bridge

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/crash"
)

// wake makes sure that somebody works for the chat.
func (b *Bridge) wake(key chat.Key) {
	if b.lanes.enter(key) {
		b.turns.add(func(ctx context.Context) { b.work(ctx, key) })
	}
}

// retryStore is the wait before the database is tried again.
const retryStore = time.Second

// work runs the chat's turns, one after the other, until there are none. Between two of them it lets other chats go first.
func (b *Bridge) work(ctx context.Context, key chat.Key) {
	for !b.lanes.closing() { // what waits at the end of the program is found at the next start
		names := db.Names{Session: uuid.NewString(), Prompt: uuid.NewString(), Node: b.cfg.Node}
		crash.At("turn: claiming")
		claim, err := b.db.Turns().Claim(ctx, key, names, b.cfg.Context.Resumes())
		switch {
		case err == nil:
			crash.At("turn: claimed")
			b.runTurn(ctx, claim)
			if b.turns.crowded() {
				b.turns.add(func(ctx context.Context) { b.work(ctx, key) })
				return
			}
		case errors.Is(err, db.ErrNotFound):
			if b.lanes.leave(key) {
				return
			}
		default:
			b.log.Error().Err(err).Stringer("chat", key).Msg("next turn not found; trying again")
			pause(ctx, retryStore)
		}
	}
}

// pause waits for d, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// turn is one claimed turn on its way to its answer.
type turn struct {
	b       *Bridge
	claim   db.Claim
	resume  bool             // claim.Turn.Session exists already
	lost    claude.LostCause // why an earlier session was given up
	prompts []db.Prompt      // with which the session was compared
	told    *db.Told         // nil = nothing yet
	sent    bool             // the agent may have seen the question
	acted   bool             // a tool was used: running it again would not be harmless
	noted   bool             // acted is stored
	kept    db.Session       // the session that holds the turn; no ID = none
	usage   *db.Usage        // nil = not reported
	view    view
	painter *painter
	shown   []claude.Image // pictures that the model sees
	listen  func()         // waits for what was said in the group
	began   time.Time
	first   time.Duration // until the first text; 0 = none yet
	logged  atomic.Value  // the session's id, in every line of the log
}

// Run implements zerolog.Hook.
func (t *turn) Run(e *zerolog.Event, _ zerolog.Level, _ string) { e.Any("session", t.logged.Load()) }

// note is a line for the agent below the question; empty = none.
func (t *turn) note() string {
	if t.claim.Turn.Continues == 0 {
		return ""
	}
	return texts.GoOnNote.in(t.view.lang)
}

// runTurn answers a claimed turn.
func (b *Bridge) runTurn(ctx context.Context, claim db.Claim) {
	t := &turn{b: b, claim: claim, resume: claim.Resume, began: time.Now()}
	t.logged.Store(claim.Turn.Session)
	log := b.log.With().Stringer("chat", claim.Turn.Key).Int64("turn", claim.Turn.ID).Logger().Hook(t)
	t.view = newView(claim.Turn.ID, b.cfg.langOf(claim.Chat))
	defer b.purse.release(claim.Turn.ID)
	t.run(log.WithContext(ctx))
}

// langOf is the language that was set for the chat, else the configured one, else the one that it speaks, else the one in
// which a new chat is spoken to.
func (cfg Config) langOf(c db.Chat) lang {
	if lang(cmp.Or(c.Settings.Lang, cfg.Lang, c.Lang, cfg.NewLang)) == en {
		return en
	}
	return zh
}

// run answers the turn, and stores how it ended and what is to be shown.
func (t *turn) run(ctx context.Context) {
	work, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	key, b := t.claim.Turn.Key, t.b
	b.lanes.begin(key, t.claim.Turn.ID, stop)
	defer b.desk.attend(t.claim, b.cfg.project(t.claim.Chat))()
	b.signals.set(t.claim.Asked, chat.Working)
	rest := t.paint(ctx)
	end := b.answer(t, work)
	b.lanes.end(key) // from here on there is nothing to stop
	b.approvals.leave(ctx, t.claim.Turn.ID, end.state)
	crash.At("end: storing")
	err := t.store(ctx, end)
	crash.At("end: stored")
	rest()
	crash.At("end: painter at rest")
	switch {
	case end.state == db.Queued:
		t.draw(ctx, t.view.end(outcome{state: db.Queued, notice: texts.Restarting}))
	case err != nil:
		t.draw(ctx, t.view.end(end)) // nobody shall wait for a full disk
		err = t.insist(ctx, end, err)
	}
	b.outbox.wake(key)
	b.signals.set(t.claim.Asked, signalOf(end.state))
	t.unsettle(ctx, end)

	log := zerolog.Ctx(ctx).Info()
	if err != nil {
		log = zerolog.Ctx(ctx).Error().Err(err)
	}
	log.Str("state", string(end.state)).Str("failure", end.failure).
		Dur("first_text", t.first).Dur("took", time.Since(t.began)).Msg("turn ended")
	b.cfg.ended(Ended{State: end.state, Failure: end.failure, FirstText: t.first, Took: time.Since(t.began), Usage: t.usage})
}

// draw shows a last view that is in no outbox, if there is a card and the platform takes it at once.
func (t *turn) draw(ctx context.Context, v view) {
	if t.painter.card == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), courtesy(ctx))
	defer cancel()
	if err := t.b.out.Close(ctx, t.painter.card, v.card(time.Now())); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("card not drawn")
	}
}

// courtesy is how long a call to the platform that is under way at a turn's end may take before it is cut off: not long
// when the turn's context has ended with the program.
func courtesy(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 300 * time.Millisecond
	}
	return 2 * time.Second
}

// paint shows how the turn goes on, until rest is called.
func (t *turn) paint(turn context.Context) (rest func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(turn))
	idle, over := context.WithCancel(ctx)
	to, id, draft, searches := chat.Ref{Key: t.claim.Turn.Key, ID: t.claim.Turn.ReplyTo}, t.claim.Turn.ID, "", 0
	t.painter = &painter{
		out: t.b.out, to: to, idem: cardKey(id, to),
		view: t.view, dirty: make(chan struct{}, 1), card: t.claim.Turn.Card,
		found: func(ctx context.Context) (string, error) {
			if t.claim.Turn.Attempts == 1 {
				return "", nil
			}
			searches++
			return t.b.outbox.posted(ctx, to, db.Post{Turn: id, Begun: t.claim.Turn.Created, Attempts: searches})
		},
		posted: func(ctx context.Context, card string) {
			crash.At("card: posted")
			defer crash.At("card: stored")
			if err := t.b.db.Turns().SetCard(context.WithoutCancel(ctx), id, card); err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Msg("card of the turn not stored")
			}
		},
		shows: func(ctx context.Context, answer string) {
			if answer = t.b.cfg.Secrets.Growing(answer); answer == draft {
				return
			}
			draft = answer
			crash.At("draft: storing")
			defer crash.At("draft: stored")
			if err := t.b.db.Turns().SetDraft(ctx, id, answer); err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Msg("draft of the answer not stored")
			}
		},
	}
	release := t.b.outbox.hold(id)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer release()
		t.painter.run(ctx, idle)
	}()
	return func() {
		over()
		late := time.AfterFunc(courtesy(turn), cancel)
		<-done
		late.Stop()
		cancel()
	}
}

// attempts is how often one turn may be begun: a lost session, then a process that died, then none.
const attempts = 3

// answer runs the agent until it has answered, healing what can be healed without the user noticing.
func (t *turn) answer(ctx context.Context) outcome {
	log := zerolog.Ctx(ctx)
	t.settle(ctx)
	t.fetch(ctx)
	t.listen = t.b.background.ask(ctx, t.claim)
	defer t.listen()
	if err := t.b.purse.check(ctx, t.claim); err != nil {
		return failed(log, err)
	}
	var err error
	for range attempts {
		var result claude.Result
		result, err = t.attempt(ctx)
		var lost *claude.LostError
		var exit *claude.ExitError
		switch {
		case errors.As(err, &lost):
			if err = t.forgetSession(ctx, lost); err != nil {
				return failed(log, err)
			}
		case errors.As(err, &exit) && !t.acted && ctx.Err() == nil:
			log.Warn().Err(err).Msg("claude died before it used a tool; running the turn again")
			if err = t.rejoin(ctx); err != nil {
				return failed(log, err)
			}
		case err != nil && !t.sent && errors.Is(err, context.Canceled):
			return outcome{state: db.Queued}
		case err != nil:
			return failed(log, err)
		default:
			return t.b.purse.limited(ended(log, result))
		}
		t.show(t.view.restarted())
	}
	return failed(log, err)
}

// forgetSession gives the turn a new session in place of a lost one.
func (t *turn) forgetSession(ctx context.Context, lost *claude.LostError) error {
	zerolog.Ctx(ctx).Warn().Str("cause", string(lost.Cause)).
		Msg("session lost; the conversation goes on from the History")
	t.lost = lost.Cause
	if lost.Cause == claude.LostMachine { // where it can be gone on with
		return t.renewSession(ctx)
	}
	if err := t.b.db.Chats().ForgetSession(context.WithoutCancel(ctx), t.claim.Turn.Key, lost.Session); err != nil {
		return err
	}
	return t.renewSession(ctx)
}

// rejoin makes a turn whose process died ready to begin again: in the same session once that has begun. One that may
// have begun or not can be neither resumed nor begun again, so it is left.
func (t *turn) rejoin(ctx context.Context) error {
	if t.resume || t.kept.ID != "" {
		t.resume = true
		return t.rename(ctx, t.claim.Turn.Session)
	}
	return t.renewSession(ctx)
}

func (t *turn) renewSession(ctx context.Context) error {
	t.resume, t.kept = false, db.Session{}
	return t.rename(ctx, uuid.NewString())
}

// rename stores in which session the question is asked next, and gives it a new name: the CLI ignores one that the
// session knows.
func (t *turn) rename(ctx context.Context, session string) error {
	t.claim.Turn.Session, t.claim.Turn.Prompt = session, uuid.NewString()
	t.logged.Store(session)
	names := db.Names{Session: session, Prompt: t.claim.Turn.Prompt}
	return t.b.db.Turns().Rename(context.WithoutCancel(ctx), t.claim.Turn.ID, names)
}

// noticeable is how long a turn waits for a free process before its user is told.
const noticeable = 500 * time.Millisecond

// attempt runs the agent once.
func (t *turn) attempt(ctx context.Context) (claude.Result, error) {
	if ctx.Err() != nil { // stopped before it began
		return claude.Result{}, context.Cause(ctx)
	}
	b, owner := t.b, t.claim.Turn.Key.String()
	dir, err := b.cfg.workplace(t.claim.Chat)
	if err != nil {
		return claude.Result{}, err
	}
	if err := t.here(); err != nil {
		return claude.Result{}, err
	}
	spec := claude.Spec{
		Session: t.claim.Turn.Session, Resume: t.resume,
		Model: t.claim.Chat.Settings.Model, Effort: t.claim.Chat.Settings.Effort,
		Budget: b.purse.Load().TurnUSD,
		Dir:    dir, Mode: b.cfg.permissionMode(t.claim.Chat), Name: t.claim.Turn.Key.Stable("magpie-"),
		Tools: b.desk.serve(t.claim.Chat),
		Known: func() []string { return t.known(ctx) }, Files: t.place(ctx),
	}
	queued := t.view.waiting(time.Now())
	waiting := time.AfterFunc(noticeable, func() { t.painter.show(queued) })
	crash.At("process: starting")
	b.lanes.wait(t.claim.Turn.Key, !t.sent)
	p, err := b.pool.Acquire(ctx, owner, spec)
	b.lanes.wait(t.claim.Turn.Key, false)
	crash.At("process: started")
	waiting.Stop()
	if err != nil {
		return claude.Result{}, err
	}
	defer b.pool.Release(owner, p)
	if ctx.Err() != nil {
		return claude.Result{}, context.Cause(ctx)
	}
	t.show(t.view.restarted())
	var result claude.Result
	for ev, err := range t.ask(ctx, p) {
		if err != nil {
			return result, err
		}
		switch e := ev.(type) {
		case claude.ToolAsk:
			if b.approvals.ask(ctx, t.claim, b.cfg.workspace(t.claim.Chat, p.Dir()), e, func(v claude.Verdict) bool { return p.Answer(e.ID, v) }) {
				b.pool.Rest(p)
			}
		case claude.ToolAskEnd:
			if ctx.Err() == nil { // else the turn ends, and tells why
				b.approvals.withdraw(ctx, e.ID)
			}
		}
		if e, ok := ev.(claude.Started); ok {
			t.kept = db.Session{ID: e.Session, Node: b.cfg.Node, Cwd: p.Dir()}
		}
		t.take(ctx, ev)
		if r, ok := ev.(claude.Result); ok {
			result = r
		}
	}
	if t.ownCommand() != "" {
		t.carriedOut(result)
	}
	switch {
	case result.Failure == claude.FailSession:
		return result, &claude.LostError{Session: spec.Session, Cause: claude.LostUnknown}
	case result.Failure == claude.FailTooLong && spec.Resume && !t.acted:
		return result, &claude.LostError{Session: spec.Session, Cause: claude.LostTooLong}
	}
	return result, nil
}

// build makes the prompt while the process starts.
func (t *turn) build(ctx context.Context, live bool, s standing) contextmgr.Prompt {
	t.listen()
	c, r := t.claim, t.b.cfg.request(t.claim, t.resume, s)
	r.Note, r.Live, r.Lost = t.note(), live, t.lost != ""
	prompt := t.b.context.Build(ctx, r)
	t.told = told(r, prompt, t.lost)
	t.view = t.view.given(describe(*t.told, t.view.lang))
	zerolog.Ctx(ctx).Info().Object("context", prompt.Stats).Bool("resume", prompt.UseResume).Bool("live", live).
		Bool("verified", s.verified).Msg("混合上下文统计")
	if t.b.cfg.Observe != nil {
		t.b.cfg.Observe(Built{Key: c.Turn.Key, Turn: c.Turn.ID, Prompt: prompt, Live: live, Lost: t.lost})
	}
	return prompt
}

// request says for which turn a context is wanted.
func (cfg Config) request(c db.Claim, resume bool, s standing) contextmgr.Request {
	r := contextmgr.Request{
		Key: c.Turn.Key, Kind: c.Chat.Kind, Epoch: c.Turn.Epoch, Turn: c.Turn.ID, Asked: c.Asked, Project: cfg.project(c.Chat),
		Seen: s.turn, Verified: s.verified, Behind: s.behind,
	}
	if c.Chat.Epoch == c.Turn.Epoch {
		r.After, r.Summary = c.Chat.After(), contextmgr.Summary{Text: c.Chat.Summary.Text, Until: c.Chat.Summary.Until}
	}
	if resume {
		r.ResumeID = c.Turn.Session
	}
	return r
}

// take takes one event up.
func (t *turn) take(ctx context.Context, ev claude.Event) {
	switch e := ev.(type) {
	case claude.Started:
		crash.At("agent: started")
	case claude.Text:
		crash.At("agent: text")
		if t.first == 0 {
			t.first = time.Since(t.began)
		}
	case claude.ToolCall:
		crash.At("agent: tool announced")
		t.act(ctx)
		crash.At("agent: tool noted")
	case claude.ToolUse:
		t.act(ctx)
	case claude.ToolResult:
		t.act(ctx)
		crash.At("agent: tool done")
	case claude.Result:
		crash.At("agent: finished")
		if t.kept.ID != "" && e.Session != "" {
			t.kept.ID = e.Session
		}
		t.kept.Tokens, t.kept.Window = e.Held, e.Window
		t.spend(e)
	}
	t.show(t.view.apply(ev, time.Now()))
}

// spend adds up what the attempts have cost.
func (t *turn) spend(e claude.Result) {
	var u db.Usage
	if t.usage != nil {
		u = *t.usage
	}
	t.usage = &db.Usage{
		Model: e.Model, Input: u.Input + e.Usage.Input, Output: u.Output + e.Usage.Output,
		CacheRead: u.CacheRead + e.Usage.CacheRead, CacheNew: u.CacheNew + e.Usage.CacheNew, CostUSD: u.CostUSD + e.CostUSD,
		FirstText: t.first, Duration: time.Since(t.began),
	}
}

func (t *turn) show(v view) {
	t.view = v
	t.painter.show(v)
}

// act notes that a tool is about to be used: from now on the turn is not run again unasked. What could not be stored is
// stored by the next call.
func (t *turn) act(ctx context.Context) {
	t.acted = true
	if t.noted {
		return
	}
	if err := t.b.db.Turns().SetActed(context.WithoutCancel(ctx), t.claim.Turn.ID); err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("use of a tool not stored")
		return
	}
	t.noted = true
}

// insist stores the end of the turn, for as long as it takes; at the end of the program it tries a few times more. What
// is not stored even then is recovered from the transcript.
func (t *turn) insist(ctx context.Context, end outcome, err error) error {
	for tries := 0; err != nil && !errors.Is(err, db.ErrNotFound) && (ctx.Err() == nil || tries < 3); tries++ {
		zerolog.Ctx(ctx).Error().Err(err).Msg("end of the turn not stored; trying again")
		pause(context.WithoutCancel(ctx), retryStore)
		err = t.store(ctx, end)
	}
	return err
}

// store stores the end of the turn. A turn for which nothing has been run goes back to the queue.
func (t *turn) store(ctx context.Context, end outcome) error {
	ctx = context.WithoutCancel(ctx)
	if end.state == db.Queued {
		return t.b.db.Turns().Requeue(ctx, t.claim.Turn.ID)
	}
	e := db.End{
		Turn: t.claim.Turn, State: end.state, Failure: end.failure, Answer: t.view.answer(), Usage: t.usage,
		Card: t.view.end(end).card(time.Now()), Told: t.told,
	}
	if t.b.cfg.Context.Resumes() {
		e.Session = t.kept
	}
	return t.b.finish(ctx, e)
}
