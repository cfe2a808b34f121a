package approval

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// A later request that a decision covers: the same tool with the same input, however that is written.
func TestWhatIsTheSameCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tool, was, is string
		want          bool
	}{
		"the same bytes":             {"Bash", `{"command":"make"}`, `{"command":"make"}`, true},
		"another order":              {"Write", `{"file_path":"a","content":"b"}`, `{ "content":"b", "file_path":"a" }`, true},
		"described otherwise":        {"Bash", `{"command":"make","description":"x"}`, `{"command":"make","description":"y"}`, true},
		"not described":              {"Bash", `{"command":"make","description":"x"}`, `{"command":"make"}`, true},
		"another command":            {"Bash", `{"command":"make"}`, `{"command":"make "}`, false},
		"out of the sandbox":         {"Bash", `{"command":"make"}`, `{"command":"make","dangerouslyDisableSandbox":true}`, false},
		"in the background":          {"Bash", `{"command":"make"}`, `{"command":"make","run_in_background":true}`, false},
		"another tool's description": {"mcp__a__b", `{"description":"x"}`, `{"description":"y"}`, false},
		"no JSON":                    {"mcp__a__b", `x`, `x`, true},
	} {
		a := db.Approval{Tool: c.tool, Input: json.RawMessage(c.was)}
		q := claude.ToolAsk{Name: c.tool, Input: json.RawMessage(c.is)}
		if got := sameCall(a, q); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
		q.Name = "Other"
		if sameCall(a, q) {
			t.Errorf("%s: another tool is the same", name)
		}
	}
}

func TestDecisionsInTheAgentsPrompt(t *testing.T) {
	t.Parallel()
	long := json.RawMessage(`{"content":"` + string(make8000()) + `"}`)
	got := DecisionsForAgent([]db.Approval{
		{Tool: "Bash", Input: json.RawMessage(`{"command":"a && b > c"}`), Settlement: db.Settlement{State: convo.Allowed}},
		{Tool: "Write", Input: long, Settlement: db.Settlement{State: convo.Denied, Words: "不要"}},
		{Tool: claude.QuestionTool, Input: json.RawMessage(`{"questions":[]}`), Settlement: db.Settlement{
			State: convo.Allowed, Answers: json.RawMessage(`{"questions":[],"answers":{"a":"b"}}`),
		}},
	})
	want := `[{"tool":"Bash","input":{"command":"a && b > c"},"decision":"allowed"},` +
		`{"tool":"Write","decision":"denied","reason":"不要"},` +
		`{"tool":"AskUserQuestion","input":{"questions":[]},"decision":"answered","answers":{"a":"b"}}]`
	if got != want {
		t.Errorf("told %s", got)
	}
}

func make8000() []byte {
	b := make([]byte, maxDecidedInput)
	for i := range b {
		b[i] = 'x'
	}
	return b
}

// interrupt ends the turn as the end of the program does, and lets another one continue it.
func (a *asking) interrupt() db.Claim {
	a.Helper()
	ctx, turn := a.Context(), a.approval.Turn
	a.as.EndTurn(ctx, db.Turn{ID: turn, Key: a.approval.Key}, convo.Interrupted)
	claimed := db.Turn{ID: turn, Key: a.approval.Key, State: convo.Running}
	a.must(a.store.Turns().Finish(ctx, db.TurnResult{Turn: claimed, State: convo.Interrupted}))
	w := db.Decision{Key: a.approval.Key, Turn: turn, GoOn: true,
		ContinueMessage: chat.Message{Actor: asker, Text: "go on"}}
	a.must(a.store.Turns().Decide(ctx, w))
	c, err := a.store.Turns().Claim(ctx, a.approval.Key, db.Start{Session: "s2", Prompt: "p2", Resume: true})
	if err != nil || c.Turn.Continues != turn {
		a.Fatalf("%+v, %v", c.Turn, err)
	}
	return c
}

// askAgain makes the agent of a turn ask for what the turn before asked for.
func (a *asking) askAgain(c db.Claim) (waits bool) {
	ask := claude.ToolAsk{ID: "r2", Use: "t2", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)}
	return a.as.RequestDecision(a.Context(), c, Workspace{Dir: "/p"}, ask, func(v claude.Decision) bool {
		a.decisions <- v
		return true
	})
}

// A turn continues before its approval is decided: the agent waits for the existing card, and gets exactly what it
// showed. The end of that turn withdraws what was not requested again.
func TestATurnGoesOnBeforeTheDecision(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	a.work()
	c := a.interrupt()
	if got := a.as.Decided(t.Context(), c.Turn); len(got) != 0 {
		t.Errorf("decided: %+v", got)
	}
	if a.as.Pending(t.Context(), c.Turn) {
		t.Error("the turn waits for a tool that its agent did not ask for")
	}
	if !a.askAgain(c) || !a.as.Pending(t.Context(), c.Turn) {
		t.Fatal("the agent does not wait")
	}
	if a.askAgain(c); a.state() != convo.Waiting { // requested twice: the second needs its own card
		t.Error("one decision would count twice")
	}
	a.press("ev_1", DoAllow)
	if v := a.decision(); !v.Allow || string(v.Input) != string(a.approval.Input) {
		t.Errorf("decision %+v", v)
	}
	a.as.EndTurn(t.Context(), c.Turn, convo.Done)
	list, err := a.store.Access().OpenApprovals(t.Context(), a.approval.Key)
	if err != nil || len(list) != 0 {
		t.Errorf("still waiting: %+v, %v", list, err)
	}
	if left, err := a.store.Access().OpenApprovals(t.Context(), c.Turn.Key, c.Turn.ID); err != nil || len(left) != 0 {
		t.Errorf("not told: %+v, %v", left, err)
	}
}

func TestWhatATurnDoesNotAskForAgainIsWithdrawn(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	a.work()
	c := a.interrupt()
	a.as.EndTurn(t.Context(), c.Turn, convo.Done)
	if a.state() != convo.Withdrawn {
		t.Errorf("state %s", a.state())
	}
	if got := a.press("ev_1", DoAllow); got != i18n.ApprovalOver.EN {
		t.Errorf("told %q", got)
	}
}

// A decision counts once. A change of the project or of the people who may decide makes it void.
func TestALaterDecisionCountsOnce(t *testing.T) {
	t.Parallel()
	a := newAsking(t, time.Hour)
	a.work()
	c := a.interrupt()
	a.press("ev_1", DoAllow)
	a.becomes(convo.Allowed)
	elsewhere := claude.ToolAsk{ID: "r9", Name: "Bash", Input: a.approval.Input}
	if !a.as.RequestDecision(t.Context(), c, Workspace{Dir: "/other"}, elsewhere,
		func(claude.Decision) bool { return true }) {
		t.Error("it counts in another project")
	}
	if a.askAgain(c) {
		t.Fatal("people are asked again")
	}
	if v := a.decision(); !v.Allow || string(v.Input) != string(a.approval.Input) {
		t.Errorf("decision %+v", v)
	}
	if !a.askAgain(c) {
		t.Error("it counts twice")
	}
}

// A turn that goes on with its decision may end the program each time. After a few starts that is not tried again:
// people are told, the decision is void, and the turn waits for somebody to continue it.
func TestADecisionIsPassedOnAFewTimes(t *testing.T) {
	t.Parallel()
	for do, state := range map[string]convo.Verdict{DoAllow: convo.Allowed, DoRefuse: convo.Denied} {
		a := newAsking(t, time.Hour)
		a.work()
		turn := a.interrupt().Turn
		a.press("ev_1", do)
		starts := 0
		for ; starts < 10; starts++ {
			// the program ends in the turn, which the next start finds
			must(t, a.store.Turns().Finish(t.Context(), db.TurnResult{Turn: turn, State: convo.Interrupted}))
			a.restart()
			c, err := a.store.Turns().Claim(t.Context(), a.approval.Key, db.Start{Session: "s", Prompt: "p", Resume: true})
			if errors.Is(err, db.ErrNotFound) {
				break
			} else if err != nil || c.Turn.Continues != turn.ID {
				t.Fatalf("%+v, %v", c.Turn, err)
			}
			if left, err := a.store.Access().OpenApprovals(t.Context(), c.Turn.Key, c.Turn.ID); err != nil || len(left) != 1 ||
				left[0].State != state {
				t.Fatalf("to be told: %+v, %v", left, err)
			}
			turn = c.Turn
		}
		if starts != maxContinued || a.state() != convo.Withdrawn {
			t.Errorf("it went on at %d starts; the decision is %s", starts, a.state())
		}
		a.restart()
		told := 0
		for _, p := range a.posts() {
			if p.Text == i18n.ApprovalNotPassedOn.In(i18n.English) && p.ReplyTo == "om_1" {
				told++
			}
		}
		if told != 1 {
			t.Errorf("people were told %d times", told)
		}
	}
}
