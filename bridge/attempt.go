package bridge

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// attempt runs the agent once.
func (t *turn) attempt(ctx context.Context) (claude.Result, error) {
	if ctx.Err() != nil { // stopped before it began
		return claude.Result{}, context.Cause(ctx)
	}
	spec, err := t.spec(ctx)
	if err != nil {
		return claude.Result{}, err
	}
	p, err := t.acquire(ctx, spec)
	if err != nil {
		return claude.Result{}, err
	}
	defer t.b.pool.Release(t.claim.Turn.Key.String(), p)
	if ctx.Err() != nil {
		return claude.Result{}, context.Cause(ctx)
	}
	t.show(t.view.Restarted(time.Now()))
	var result claude.Result
	for ev, err := range t.ask(ctx, p) {
		if err != nil {
			return result, err
		}
		switch e := ev.(type) {
		case claude.ToolAsk:
			place := t.b.cfg.workspace(t.claim.Chat, p.Dir())
			if t.b.approvals.ask(ctx, t.claim, place, e, func(v claude.Decision) bool { return p.Answer(e.ID, v) }) {
				t.b.pool.Rest(p)
			}
		case claude.ToolAskEnd:
			if ctx.Err() == nil { // else the turn ends, and tells why
				t.b.approvals.withdraw(ctx, e.ID)
			}
		case claude.Started:
			t.session.begun(e.Session, p.Dir())
		case claude.Result:
			result = e
		}
		t.take(ctx, ev)
		switch ev.(type) {
		case claude.ToolAsk, claude.ToolAskEnd, claude.ToolAllowed, claude.ToolDenied:
			t.b.lanes.SetWaiting(t.claim.Turn.Key, t.b.approvals.asked(t.claim.Turn.ID))
		}
	}
	if t.ownCommand() != "" {
		t.carriedOut(result)
	}
	return result, t.session.lostWith(result, t.course.acted)
}

// spec says what process the turn is to be asked of.
func (t *turn) spec(ctx context.Context) (claude.Spec, error) {
	dir, err := t.b.cfg.workplace(t.claim.Chat)
	if err != nil {
		return claude.Spec{}, err
	}
	if err := t.session.checkResumable(); err != nil {
		return claude.Spec{}, err
	}
	return claude.Spec{
		Session: t.claim.Turn.Session, Resume: t.session.resume,
		Model: t.claim.Chat.Settings.Model, Effort: t.claim.Chat.Settings.Effort,
		Budget: t.b.budget.Load().TurnUSD,
		Dir:    dir, Mode: t.b.cfg.permissionMode(t.claim.Chat), Name: t.claim.Turn.Key.Stable("magpie-"),
		Tools: t.b.toolHandlers.serve(t.claim.Chat),
		Known: func() []string { return t.session.known(ctx) }, Files: t.b.files.Dir(ctx, t.claim.Turn.Key),
	}, nil
}

// noticeable is how long a turn waits for a free process before its user is told.
const noticeable = 500 * time.Millisecond

// acquire gets the turn its process, and shows that it waits for one.
func (t *turn) acquire(ctx context.Context, spec claude.Spec) (*claude.Process, error) {
	queued, key := t.view.Waiting(time.Now()), t.claim.Turn.Key
	acquired, told := make(chan struct{}), sync.WaitGroup{}
	told.Go(func() {
		select {
		case <-time.After(noticeable):
			t.painter.Show(queued)
		case <-acquired:
		}
	})
	defer func() { close(acquired); told.Wait() }() // what the turn shows next must come later
	failpoint.At("process: starting")
	defer failpoint.At("process: started")
	t.b.lanes.SetWaiting(key, !t.course.sent)
	defer t.b.lanes.SetWaiting(key, false)
	return t.b.pool.Acquire(ctx, key.String(), spec)
}

// build makes the prompt while the process starts.
func (t *turn) build(ctx context.Context, live bool, s syncState) contextmgr.Prompt {
	t.listen()
	c, r := t.claim, t.b.cfg.request(t.claim, t.session.resume, s)
	r.Note, r.Live, r.Lost = t.note(), live, t.session.lost != ""
	prompt := t.b.context.Build(ctx, r)
	t.told = reportOf(r, prompt, t.session.lost)
	t.view = t.view.WithContext(describe(*t.told, t.view.Lang))
	zerolog.Ctx(ctx).Info().Object("context", prompt.Stats).Bool("resume", prompt.UseResume).Bool("live", live).
		Bool("verified", s.verified).Msg("混合上下文统计")
	if t.b.cfg.Observe != nil {
		t.b.cfg.Observe(Built{Key: c.Turn.Key, Turn: c.Turn.ID, Prompt: prompt, Live: live, Lost: t.session.lost})
	}
	return prompt
}

// request says for which turn a context is wanted.
func (cfg Config) request(c db.Claim, resume bool, s syncState) contextmgr.Request {
	r := contextmgr.Request{
		Key: c.Turn.Key, Kind: c.Chat.Kind, Epoch: c.Turn.Epoch, Turn: c.Turn.ID, Asked: c.Asked, Project: cfg.project(c.Chat),
		Seen: s.turn, Verified: s.verified, Behind: s.isBehind,
	}
	if c.Chat.Epoch == c.Turn.Epoch {
		r.After, r.Summary = c.Chat.After(), contextmgr.Summary{Text: c.Chat.Summary.Text, Until: c.Chat.Summary.Until}
	}
	if resume {
		r.ResumeID = c.Turn.Session
	}
	return r
}

// course is what the attempts of a turn have come to so far.
type course struct {
	began time.Time
	first time.Duration // until the first text; 0 = none yet
	sent  bool          // the agent may have seen the question
	acted bool          // a tool was used: running the turn again would not be harmless
	noted bool          // acted is stored
	usage *db.Usage     // nil = not reported
}

// said takes up that the agent has said something.
func (c *course) said() {
	if c.first == 0 {
		c.first = time.Since(c.began)
	}
}

// spend adds up what the attempts have cost.
func (c *course) spend(e claude.Result) {
	var u db.Usage
	if c.usage != nil {
		u = *c.usage
	}
	c.usage = &db.Usage{
		Model: e.Model, Input: u.Input + e.Usage.Input, Output: u.Output + e.Usage.Output,
		CacheRead: u.CacheRead + e.Usage.CacheRead, CacheNew: u.CacheNew + e.Usage.CacheNew, CostUSD: u.CostUSD + e.CostUSD,
		FirstText: c.first, Duration: time.Since(c.began),
	}
}

// take takes one event up.
func (t *turn) take(ctx context.Context, ev claude.Event) {
	switch e := ev.(type) {
	case claude.Started:
		failpoint.At("agent: started")
	case claude.Text:
		failpoint.At("agent: text")
		t.course.said()
	case claude.ToolCall:
		failpoint.At("agent: tool announced")
		t.markSideEffect(ctx)
		failpoint.At("agent: tool noted")
	case claude.ToolUse:
		t.markSideEffect(ctx)
	case claude.ToolResult:
		t.markSideEffect(ctx)
		failpoint.At("agent: tool done")
	case claude.Result:
		failpoint.At("agent: finished")
		t.session.ended(e)
		t.course.spend(e)
		e.Window = t.b.cfg.Context.SessionWindow(e.Window) // the card shows how near the next summary is
		ev = e
	}
	t.show(t.view.Apply(ev, time.Now()))
}

// markSideEffect notes that a tool is about to be used: from now on the turn is not run again unasked. What could not
// be stored is stored by the next call.
func (t *turn) markSideEffect(ctx context.Context) {
	t.course.acted = true
	if t.course.noted {
		return
	}
	if err := t.b.db.Turns().SetActed(context.WithoutCancel(ctx), t.claim.Turn.ID); err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("use of a tool not stored")
		return
	}
	t.course.noted = true
}
