package claude_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// toolKind is what a tool of the CLI may do without a question.
type toolKind int

const (
	offTool      toolKind = iota // the CLI does not offer it
	harmlessTool                 // runs unasked in every mode: it changes nothing, or only what is the agent's own
	changingTool                 // is asked for
	editingTool                  // is asked for, but in acceptEdits it changes files of the project unasked
	questionTool                 // is a question to people
	planTool                     // asks people whether plan mode ends; fails in the others
)

// everyTool is each tool of any version of the CLI, with an input that it takes. PROJECT is the project's folder.
var everyTool = map[string]struct {
	kind  toolKind
	input map[string]any
}{
	"Agent":                   {harmlessTool, map[string]any{"description": "x", "prompt": "hello", "subagent_type": "Explore"}}, // its tools are asked for
	"AskUserQuestion":         {questionTool, map[string]any{"questions": []any{question}}},
	"Bash":                    {changingTool, map[string]any{"command": "make canary", "description": "x"}},
	"DeferredToolPlaceholder": {offTool, map[string]any{}},
	"Edit":                    {editingTool, map[string]any{"file_path": "PROJECT/a.txt", "old_string": "abc", "new_string": "canary"}},
	"EnterPlanMode":           {harmlessTool, map[string]any{}}, // there more is asked
	"ExitPlanMode":            {planTool, map[string]any{"plan": "x"}},
	"NotebookEdit": {editingTool, map[string]any{"notebook_path": "PROJECT/a.ipynb", "new_source": "canary", "cell_type": "code",
		"edit_mode": "insert"}},
	"Read":           {harmlessTool, map[string]any{"file_path": "PROJECT/a.txt"}},
	"ReportFindings": {harmlessTool, map[string]any{"findings": []any{}}},
	"Skill":          {harmlessTool, map[string]any{"skill": "init"}}, // text for the agent
	"TaskCreate":     {harmlessTool, map[string]any{"subject": "x", "description": "x"}},
	"TaskGet":        {harmlessTool, map[string]any{"taskId": "1"}},
	"TaskList":       {harmlessTool, map[string]any{}},
	"TaskOutput":     {harmlessTool, map[string]any{"task_id": "x", "block": false, "timeout": 1}},
	"TaskStop":       {harmlessTool, map[string]any{"task_id": "x"}}, // what it has started itself
	"TaskUpdate":     {harmlessTool, map[string]any{"taskId": "1", "status": "completed"}},
	"ToolSearch":     {harmlessTool, map[string]any{"query": "x", "max_results": 1}},
	"WebFetch":       {changingTool, map[string]any{"url": "http://127.0.0.1:1/", "prompt": "x"}},
	"WebSearch":      {changingTool, map[string]any{"query": "canary"}},
	"Write":          {editingTool, map[string]any{"file_path": "PROJECT/new.txt", "content": "canary"}},

	"EnterWorktree":  {offTool, map[string]any{"name": "x"}},
	"ExitWorktree":   {offTool, map[string]any{"action": "keep"}},
	"ListAgents":     {offTool, map[string]any{}},
	"Monitor":        {offTool, map[string]any{"command": "touch canary", "description": "x"}},
	"ScheduleWakeup": {offTool, map[string]any{"delaySeconds": 60, "reason": "x", "prompt": "x"}},
	"SendMessage":    {offTool, map[string]any{"to": "x", "message": "x"}},
	"Workflow":       {offTool, map[string]any{"script": "x"}},
}

var question = map[string]any{"question": "Which?", "header": "W", "multiSelect": false, "options": []any{
	map[string]string{"label": "a", "description": "d"}, map[string]string{"label": "b", "description": "d"},
}}

// wants reports whether a tool of this kind is asked for in a mode, and whether it runs there although people refuse.
func (k toolKind) wants(mode string) (asked, runs bool) {
	switch {
	case k == offTool:
		return false, false
	case k == harmlessTool:
		return false, true
	case mode == "dontAsk":
		return false, false
	case k == planTool:
		return mode == claude.PlanMode, false
	case k == questionTool:
		return true, false
	case mode == "bypassPermissions", k == editingTool && mode == "acceptEdits":
		return false, true
	}
	return true, false
}

// deferred matches the names of the tools that the model has to ask for first.
var deferred = regexp.MustCompile(`(?s)deferred tools are now available via ToolSearch[^\n]*\n(.*?)\n\n`)

// Each tool that the CLI offers is called once in each mode. Those that change something are asked for or off.
func TestEveryToolOfTheCLIIsAskedForOrHarmless(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		modes := slices.DeleteFunc(slices.Clone(workspace.PermissionModes), func(mode string) bool {
			// A model decides in auto mode. What a mode asks for is checked with today's version, what there is with both.
			return mode == "auto" || mode != "default" && (testing.Short() || command == claudetest.Oldest(t))
		})
		for _, mode := range modes {
			t.Run(mode, func(t *testing.T) {
				n := newTwoChats(t, command, func(c *claude.Config) {
					works(t, c, command)
					c.Env = map[string]string{"IS_SANDBOX": "1"} // root may not bypass permissions otherwise
				})
				n.callEveryTool(mode)
			})
		}
	})
}

func (n twoChats) callEveryTool(mode string) {
	project := n.cfg.Project
	write(n.T, filepath.Join(project, "a.txt"), "abc\n")
	write(n.T, filepath.Join(project, "a.ipynb"), `{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}`)
	spec := fresh()
	spec.Mode = mode
	// What is changed has to be read before.
	n.tryTools("a", spec, map[string][]any{"Read": {
		map[string]string{"file_path": project + "/a.txt"}, map[string]string{"file_path": project + "/a.ipynb"},
	}})
	req := n.model.Requests()[0]
	offered := req.Tools
	if names := deferred.FindStringSubmatch(req.AllText()); names != nil {
		offered = append(offered, strings.Split(names[1], "\n")...)
	} else if req.HasTool("ToolSearch") {
		n.Error("the names of the tools that are not loaded are not found in the request")
	}
	calls := map[string][]any{}
	for _, tool := range offered {
		if _, known := everyTool[tool]; !known {
			n.Errorf("the CLI offers a tool that is not known: %s. Find out what it does unasked in each mode. If it changes anything, "+
				"add it to disallowedTools, or make sure that it is asked for; if not, consider harmlessTools. Then add it here", tool)
		}
	}
	for tool, call := range everyTool {
		if call.kind == offTool || slices.Contains(offered, tool) {
			calls[tool] = []any{n.inputIn(project, call.input)}
		}
	}
	enter := calls["EnterPlanMode"]
	delete(calls, "EnterPlanMode") // it would change what the other calls may do
	tries := n.tryTools("a", spec, calls)
	if enter != nil {
		tries = append(tries, n.tryTools("a", spec, map[string][]any{"EnterPlanMode": enter})...)
	}
	for _, u := range tries {
		kind := everyTool[u.tool].kind
		asked, runs := kind.wants(mode)
		switch {
		case kind == offTool && !u.unknown():
			n.Errorf("%s: it is not off: asked %v: %v", mode, u.asked, u)
		case u.asked != asked && !(u.asked && mode == "bypassPermissions"): // 2.1.197 asks for all commands if files are denied
			n.Errorf("%s: asked %v: %v", mode, u.asked, u)
		case kind != offTool && !runs && !u.failed:
			n.Errorf("%s: it ran: %v", mode, u)
		}
	}
	for name, before := range map[string]string{"a.txt": "abc\n", "new.txt": ""} {
		_, runs := editingTool.wants(mode)
		if data, err := os.ReadFile(filepath.Join(project, name)); (string(data) != before) != runs {
			n.Errorf("%s: %s holds %q, %v", mode, name, data, err)
		}
	}
}

// inputIn is an input with the project's folder.
func (n twoChats) inputIn(project string, input map[string]any) any {
	filled := map[string]any{}
	for k, v := range input {
		if s, ok := v.(string); ok {
			v = strings.ReplaceAll(s, "PROJECT", project)
		}
		filled[k] = v
	}
	return filled
}
