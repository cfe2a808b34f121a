package claude

import (
	"strings"
	"testing"

	"magpie/internal/claude/stream"
)

// If a turn is not read for long, only complete messages are kept.
func TestTheBacklogOfATurn(t *testing.T) {
	var b backlog
	piece := []byte(`{"type":"stream_event","event":"` + strings.Repeat("x", maxBacklog/4) + `"}`)
	whole := []byte(`{"type":"assistant"}`)
	b.append(whole)
	b.append(piece)
	if len(b.lines) != 2 {
		t.Errorf("%d lines of a short turn", len(b.lines))
	}
	for range 5 {
		b.append(piece)
	}
	b.append(whole)
	if len(b.lines) != 2 || string(b.lines[1]) != string(whole) {
		t.Errorf("%d lines of a long turn", len(b.lines))
	}
}

// Which commands run in the background, and which ends the agent was not notified of, follows from the CLI's last
// report.
func TestWhatRunsInTheBackground(t *testing.T) {
	const (
		runs = `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"a"},` +
			`{"task_id":"z","ambient":true}]}`
		none     = `{"type":"system","subtype":"background_tasks_changed","tasks":[]}`
		ended    = `{"type":"system","subtype":"task_notification","task_id":"a","status":"completed"}`
		stopped  = `{"type":"system","subtype":"task_notification","task_id":"a","status":"stopped"}`
		another  = `{"type":"system","subtype":"task_notification","task_id":"fore","status":"completed"}`
		told     = `{"type":"user","message":{"content":"<task-notification>\n<task-id>a</task-id>\n</task-notification>"}}`
		ambient  = `{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"z","ambient":true}]}`
		begun    = `{"type":"system","subtype":"init"}`
		nonsense = `{"type":"system","subtype":"background_tasks_changed","tasks":"x"}`
	)
	for name, tc := range map[string]struct {
		lines []string
		want  bool
	}{
		"runs": {[]string{runs}, true}, "has ended": {[]string{runs, ended, none}, true},
		"was told": {[]string{runs, ended, none, told}, false}, "was stopped": {[]string{runs, stopped, none}, false},
		"in the foreground": {[]string{another}, false}, "goes on for ever": {[]string{ambient}, false},
		"nonsense": {[]string{runs, nonsense}, false}, "the agent has begun": {[]string{begun}, true},
		"nobody watches": {[]string{begun}, false},
	} {
		u := UnaskedWork{allowed: true, tasks: newTasks(), asks: map[string]bool{}}
		if name != "nobody watches" {
			u.Watch(Watcher{Woken: func() {}})
		}
		for _, line := range tc.lines {
			u.track([]byte(line))
			u.handleBetweenTurns([]byte(line))
		}
		if got := u.busy(); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A permission request of a background task says for whom it was started.
func TestForWhomATaskAsks(t *testing.T) {
	u := UnaskedWork{allowed: true, tasks: newTasks(), asks: map[string]bool{}}
	var asked []stream.ToolAsk
	u.Watch(Watcher{Asked: func(q stream.ToolAsk) { asked = append(asked, q) }})
	u.StartFor("1")
	u.track([]byte(`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"a"}]}`))
	u.StartFor("2")
	if !u.handlePermissionLine([]byte(`{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool",`+
		`"tool_name":"Bash","input":{},"tool_use_id":"t","agent_id":"a"}}`)) || len(asked) != 1 || asked[0].For != "1" {
		t.Errorf("asked: %+v", asked)
	}
}
