package claude

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// The tools by which the agent asks people something. They arrive as a [ToolAsk] in every mode except dontAsk, whatever
// the rules allow.
const (
	QuestionTool = "AskUserQuestion"
	PlanTool     = "ExitPlanMode"
)

// PlanMode is the permission mode in which the agent only reads, and proposes a plan.
const PlanMode = "plan"

// Rule is a permission rule in the CLI's own form: "Bash" and "git log:*".
type Rule struct{ Tool, Content string }

// Decision is the answer to a [ToolAsk].
type Decision struct {
	Allow bool
	Input json.RawMessage // the input for an allowed tool
	Why   string          // the reason that tells the agent why the tool was refused
	// a person has refused it; otherwise nobody has decided
	Refused bool
}

// toolAsk parses a permission request, if the line is one.
func toolAsk(line []byte) (ToolAsk, bool) {
	v := gjson.ParseBytes(line)
	q := v.Get("request")
	switch kind := q.Get("subtype").String(); {
	case v.Get("type").String() != "control_request" || !validJSON(line): // the input becomes part of the answer
		return ToolAsk{}, false
	case kind == "elicitation":
		return ToolAsk{ID: v.Get("request_id").String(), Name: FormTool, Input: formInput(q)}, true
	case kind != "can_use_tool":
		return ToolAsk{}, false
	}
	ask := ToolAsk{
		ID: v.Get("request_id").String(), Use: q.Get("tool_use_id").String(), Name: q.Get("tool_name").String(),
		Input: json.RawMessage(cmp.Or(q.Get("input").Raw, "{}")),
	}
	for _, s := range q.Get("permission_suggestions").Array() {
		if s.Get("type").String() != "addRules" || s.Get("behavior").String() != "allow" {
			continue // for example a change of the mode, which allows more than requested
		}
		for _, r := range s.Get("rules").Array() {
			ask.Rules = append(ask.Rules, Rule{r.Get("toolName").String(), r.Get("ruleContent").String()})
		}
	}
	return ask, true
}

// withPlan restores a missing plan in a request. Without a plan file, 2.1.330 removes the plan from the input, so that
// people would see none; called is the input of the agent's tool call.
func withPlan(asked, called json.RawMessage) json.RawMessage {
	if gjson.GetBytes(asked, "plan").Exists() || !gjson.GetBytes(called, "plan").Exists() {
		return asked
	}
	return called
}

// cancelRequest returns the ID of the permission request that the CLI withdraws by this line, if it does.
func cancelRequest(line []byte) (id string, ok bool) {
	if gjson.GetBytes(line, "type").String() != "control_cancel_request" {
		return "", false
	}
	return gjson.GetBytes(line, "request_id").String(), true
}

// openAsks are the unanswered permission requests of a run.
type openAsks struct {
	signal chan struct{} // a request was answered

	mu       sync.Mutex
	open     []ToolAsk
	answered []Event // events that the run has not reported yet
}

func newOpenAsks() *openAsks { return &openAsks{signal: make(chan struct{}, 1)} }

func (a *openAsks) add(q ToolAsk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, q)
}

// remove removes a request and reports whether it was open.
func (a *openAsks) remove(id string) (ToolAsk, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.open, func(q ToolAsk) bool { return q.ID == id })
	if i < 0 {
		return ToolAsk{}, false
	}
	q := a.open[i]
	a.open = slices.Delete(a.open, i, i+1)
	return q, true
}

// removeAll removes all requests that are open.
func (a *openAsks) removeAll() []ToolAsk {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.open
	a.open = nil
	return list
}

// queueEvent queues an event for the run.
func (a *openAsks) queueEvent(ev Event) {
	a.mu.Lock()
	a.answered = append(a.answered, ev)
	a.mu.Unlock()
	select {
	case a.signal <- struct{}{}:
	default: // the run is notified already
	}
}

// takeEvents returns each event once, in the order in which the requests were answered.
func (a *openAsks) takeEvents() []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.answered
	a.answered = nil
	return list
}

func (a *openAsks) anyOpen() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open) > 0
}

// Answer answers a [ToolAsk] of the running turn. It returns false and does nothing if the request was already answered
// or withdrawn. It may be called at any time, even while an event is being handled.
func (p *Process) Answer(id string, v Decision) bool {
	r := p.out.currentRun()
	if r == nil {
		return false
	}
	q, ok := r.asks.remove(id)
	if !ok {
		return false
	}
	if v.Allow {
		r.asks.queueEvent(ToolAllowed{ID: q.Use, Name: q.Name})
	} else {
		r.asks.queueEvent(ToolDenied{ID: q.Use, Name: q.Name})
	}
	p.in.sendDecision(q, v) // last: the run must know the decision before the process can act on it
	return true
}

// permissionMode is the mode that a process has reported; empty = none.
type permissionMode string

// restore sets the wanted mode again: an approved plan, or the agent itself, may have changed it.
func (m permissionMode) restore(in *input, wanted string) {
	if m != "" && string(m) != wanted && wanted != "" {
		in.setMode(wanted)
	}
}

// track records the mode that the process reports.
func (m *permissionMode) track(line []byte) {
	if kind := gjson.GetBytes(line, "type").String(); kind != "system" {
		return
	}
	if mode := gjson.GetBytes(line, "permissionMode").String(); mode != "" {
		*m = permissionMode(mode)
	}
}

// turnTimers end a run that takes too long or is silent for too long. They are paused while people are asked.
type turnTimers struct {
	turn, silence *time.Timer
	ends          time.Time     // end of the turn
	left          time.Duration // of the turn, while paused
	paused        bool
}

func newTurnTimers(turn, silence time.Duration) *turnTimers {
	return &turnTimers{turn: time.NewTimer(turn), silence: time.NewTimer(silence), ends: time.Now().Add(turn)}
}

// restart restarts the silence timeout, and resumes paused timers.
func (b *turnTimers) restart(patience time.Duration) {
	if b.paused {
		b.ends = time.Now().Add(b.left)
		b.turn.Reset(b.left)
		b.paused = false
	}
	b.silence.Reset(patience)
}

// pause stops both timers.
func (b *turnTimers) pause() {
	if b.paused {
		return
	}
	b.paused, b.left = true, time.Until(b.ends)
	b.turn.Stop()
	b.silence.Stop()
}

func (b *turnTimers) stop() {
	b.turn.Stop()
	b.silence.Stop()
}
