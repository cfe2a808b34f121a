package claude

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// The tools by which the agent asks people something. They come as a [ToolAsk] in every mode but dontAsk, whatever is
// allowed.
const (
	QuestionTool = "AskUserQuestion"
	PlanTool     = "ExitPlanMode"
)

// PlanMode is the permission mode in which the agent only looks, and proposes what it would do.
const PlanMode = "plan"

// Rule is what the CLI would no longer ask for, as it writes rules itself: "Bash" and "git log:*".
type Rule struct{ Tool, Content string }

// Decision is the answer to a [ToolAsk].
type Decision struct {
	Allow bool
	Input json.RawMessage // with which an allowed tool is used
	Why   string          // what the agent reads when the tool is refused
}

// toolAsk reports the question whether a tool may be used, if the line is one.
func toolAsk(line []byte) (ToolAsk, bool) {
	v := gjson.ParseBytes(line)
	if v.Get("type").String() != "control_request" || v.Get("request.subtype").String() != "can_use_tool" {
		return ToolAsk{}, false
	}
	q := v.Get("request")
	ask := ToolAsk{
		ID: v.Get("request_id").String(), Use: q.Get("tool_use_id").String(), Name: q.Get("tool_name").String(),
		Input: json.RawMessage(q.Get("input").Raw),
	}
	for _, s := range q.Get("permission_suggestions").Array() {
		if s.Get("type").String() != "addRules" || s.Get("behavior").String() != "allow" {
			continue // such as a change of the mode: more than what was asked
		}
		for _, r := range s.Get("rules").Array() {
			ask.Rules = append(ask.Rules, Rule{r.Get("toolName").String(), r.Get("ruleContent").String()})
		}
	}
	return ask, true
}

// withPlan is what an agent asks for with its plan. 2.1.330 takes the plan out of the input when there is no plan file,
// and then people would see none; called is the input as the agent has given it.
func withPlan(asked, called json.RawMessage) json.RawMessage {
	if gjson.GetBytes(asked, "plan").Exists() || !gjson.GetBytes(called, "plan").Exists() {
		return asked
	}
	return called
}

// withdrawal reports which question needs no answer any more, if the line says that.
func withdrawal(line []byte) (id string, ok bool) {
	if gjson.GetBytes(line, "type").String() != "control_cancel_request" {
		return "", false
	}
	return gjson.GetBytes(line, "request_id").String(), true
}

// asks are the questions of a run that wait for an answer.
type asks struct {
	signal chan struct{} // something was answered

	mu       sync.Mutex
	open     []ToolAsk
	answered []Event // that the run has not told of yet
}

func newAsks() *asks { return &asks{signal: make(chan struct{}, 1)} }

func (a *asks) add(q ToolAsk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open = append(a.open, q)
}

// remove takes a question out and reports whether it was open.
func (a *asks) remove(id string) (ToolAsk, bool) {
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

// tell leaves an event for the run.
func (a *asks) tell(ev Event) {
	a.mu.Lock()
	a.answered = append(a.answered, ev)
	a.mu.Unlock()
	select {
	case a.signal <- struct{}{}:
	default: // the run has been told already
	}
}

func (a *asks) take() []Event {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.answered
	a.answered = nil
	return list
}

func (a *asks) waiting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open) > 0
}

// Answer answers a [ToolAsk] of the turn that runs. It reports false, and does nothing, when the ask was answered
// before or needs no answer any more. It may be called at any time, also while an event is being handled.
func (p *Process) Answer(id string, v Decision) bool {
	r := p.out.running()
	if r == nil {
		return false
	}
	q, ok := r.asks.remove(id)
	if !ok {
		return false
	}
	p.in.answer(id, v)
	if v.Allow {
		r.asks.tell(ToolAllowed{ID: q.Use, Name: q.Name})
	} else {
		r.asks.tell(ToolDenied{ID: q.Use, Name: q.Name})
	}
	return true
}

// putInMode brings a process back into its permission mode: an approved plan has changed it, or the agent itself.
func (p *Process) putInMode() {
	if p.mode != "" && p.mode != p.spec.Mode && p.spec.Mode != "" {
		p.in.setMode(p.spec.Mode)
	}
}

// noteMode takes up in which mode the process says that it is.
func (p *Process) noteMode(line []byte) {
	if kind := gjson.GetBytes(line, "type").String(); kind != "system" {
		return
	}
	if mode := gjson.GetBytes(line, "permissionMode").String(); mode != "" {
		p.mode = mode
	}
}

// bounds ends a run that takes too long or is silent for too long. Neither counts while people are asked.
type bounds struct {
	turn, silence *time.Timer
	ends          time.Time     // of the turn
	left          time.Duration // of the turn, while held
	held          bool
}

func newBounds(turn, silence time.Duration) *bounds {
	return &bounds{turn: time.NewTimer(turn), silence: time.NewTimer(silence), ends: time.Now().Add(turn)}
}

// heard begins a new silence, of which so much is allowed.
func (b *bounds) heard(patience time.Duration) {
	if b.held {
		b.ends = time.Now().Add(b.left)
		b.turn.Reset(b.left)
		b.held = false
	}
	b.silence.Reset(patience)
}

// hold stops the time.
func (b *bounds) hold() {
	if b.held {
		return
	}
	b.held, b.left = true, time.Until(b.ends)
	b.turn.Stop()
	b.silence.Stop()
}

func (b *bounds) stop() {
	b.turn.Stop()
	b.silence.Stop()
}
