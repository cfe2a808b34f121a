//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude"
)

// toolbox has the tools of the agent and the rules about their use.
type toolbox struct {
	none    bool     // it has no tools
	denied  []string // names, see --disallowedTools
	allowed []string // rules, see --allowedTools
	folders []string // besides the working folder, see --add-dir
	servers map[string]mcpServer
	remote  []object // tools of the servers
}

// builtIn are the tools that it really has.
var builtIn = []string{"AskUserQuestion", "Bash", "Edit", "ExitPlanMode", "Read", "Write"}

// definitions are the tools in the form of the model's API.
func (t *toolbox) definitions() []object {
	if t.none {
		return nil
	}
	var list []object
	for _, name := range builtIn {
		if !slices.Contains(t.denied, name) {
			list = append(list, object{"name": name, "description": name, "input_schema": object{"type": "object"}})
		}
	}
	return append(list, t.remote...)
}

// outcome is the result of a tool.
type outcome struct {
	text    string
	failed  bool
	content json.RawMessage // instead of text; of a server's tool
}

func failed(err error) outcome { return outcome{text: err.Error(), failed: true} }

// use runs a permitted tool.
func (a *agent) use(ctx context.Context, name string, input gjson.Result) outcome {
	path := input.Get("file_path").String()
	switch name {
	case "Bash":
		if input.Get("run_in_background").Bool() {
			return a.startTask(input)
		}
		return bash(ctx, input.Get("command").String())
	case "Read":
		data, err := os.ReadFile(path)
		if err != nil {
			return outcome{"File does not exist.", true, nil}
		}
		return outcome{text: numbered(string(data))}
	case "Write":
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as the CLI does
			return failed(err)
		}
		data := []byte(input.Get("content").String())
		if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // as the CLI does
			return failed(err)
		}
		return outcome{text: "File created successfully at: " + path +
			" (file state is current in your context — no need to Read it back)"}
	case "Edit":
		data, err := os.ReadFile(path)
		if err != nil {
			return failed(err)
		}
		before, after, ok := strings.Cut(string(data), input.Get("old_string").String())
		if !ok {
			return outcome{"String to replace not found in file.", true, nil}
		}
		data = []byte(before + input.Get("new_string").String() + after)
		if err := os.WriteFile(path, data, 0o644); err != nil { //nolint:gosec // as the CLI does
			return failed(err)
		}
		return outcome{text: "The file " + path + " has been updated successfully."}
	case claude.QuestionTool:
		var said []string
		input.Get("answers").ForEach(func(question, answer gjson.Result) bool {
			said = append(said, fmt.Sprintf("%q=%q", question.String(), answer.String()))
			return true
		})
		return outcome{text: "Your questions have been answered: " + strings.Join(said, ", ") +
			". You can now continue with these answers in mind."}
	case claude.PlanTool:
		return outcome{text: "User has approved your plan. You can now start coding.\n\n## Approved Plan:\n" +
			input.Get("plan").String()}
	}
	if parts := strings.SplitN(name, "__", 3); len(parts) == 3 && parts[0] == "mcp" {
		if s, ok := a.toolbox.servers[parts[1]]; ok {
			return s.use(ctx, parts[2], input)
		}
	}
	return outcome{"<tool_use_error>Error: No such tool available: " + name + "</tool_use_error>", true, nil}
}

// numbered writes line numbers as the real Read tool does, since models and tests quote them.
func numbered(text string) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%d\t%s\n", i+1, line)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// bash runs a command. When ctx ends, so do all its descendants.
func bash(ctx context.Context, command string) outcome {
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	// A process group, so that children of the shell end, too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	text := strings.TrimRight(string(out), "\n")
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return outcome{strings.TrimSpace(fmt.Sprintf("Exit code %d\n%s", exit.ExitCode(), text)), true, nil}
	case err != nil:
		return failed(err)
	}
	if text == "" {
		text = "(Bash completed with no output)"
	}
	return outcome{text: text}
}

// reading are the commands that the CLI runs without asking, as far as tests use them.
var reading = []string{"cat", "date", "echo", "head", "ls", "ps", "pwd", "sleep", "tail", "wc", "true"}

// unasked reports whether the CLI would use a tool without asking.
func (a *agent) unasked(name string, input gjson.Result, mode string) bool {
	// The CLI always sends these two as permission requests: the answer is their result.
	if name == claude.QuestionTool || name == claude.PlanTool {
		return false
	}
	allowed := func(rule string) bool { return covers(rule, name, input) }
	if mode == "bypassPermissions" || slices.ContainsFunc(a.toolbox.allowed, allowed) {
		return true
	}
	inside := a.inside(input.Get("file_path").String())
	switch name {
	case "Read":
		return inside
	case "Write", "Edit":
		return mode == "acceptEdits" && inside
	case "Bash":
		command := input.Get("command").String()
		// A command that a shell might expand or redirect may be harmful.
		if strings.ContainsAny(command, "<>$`(){}\n") {
			return false
		}
		for part := range strings.FieldsFuncSeq(command, func(r rune) bool { return strings.ContainsRune("&|;", r) }) {
			if words := strings.Fields(part); len(words) > 0 && !slices.Contains(reading, words[0]) {
				return false
			}
		}
		return true
	}
	return false
}

// inside reports whether a file is in the working folder, or in an added one.
func (a *agent) inside(path string) bool {
	cwd, err := os.Getwd()
	if err != nil {
		return false
	}
	for _, folder := range append([]string{cwd}, a.toolbox.folders...) {
		if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// covers reports whether a rule such as "Read", "Bash(git status)" or "Bash(git log *)" allows a use of a tool.
func covers(rule, name string, input gjson.Result) bool {
	tool, content, ok := strings.Cut(strings.TrimSuffix(rule, ")"), "(")
	if tool != name {
		return false
	}
	if !ok {
		return true
	}
	what := input.Get("command").String()
	if name != "Bash" {
		return content == "./**" || content == "**"
	}
	for _, tail := range []string{":*", " *", "*"} {
		if prefix, ok := strings.CutSuffix(content, tail); ok {
			return what == prefix || strings.HasPrefix(what, prefix+" ")
		}
	}
	return what == content
}

// suggestions are the rules that the CLI proposes with a request.
func suggestions(name string, input gjson.Result) []object {
	switch name {
	case "Bash":
		rule := object{"toolName": name, "ruleContent": input.Get("command").String()}
		return []object{
			{"type": "addRules", "rules": []object{rule}, "behavior": "allow", "destination": "localSettings"},
		}
	case "Write", "Edit":
		return []object{{"type": "setMode", "mode": "acceptEdits", "destination": "session"}}
	}
	rule := object{"toolName": name}
	return []object{{"type": "addRules", "rules": []object{rule}, "behavior": "allow", "destination": "localSettings"}}
}

// mcpServer is an MCP server over HTTP.
type mcpServer struct {
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
}

// connect connects to the servers of a configuration, see --mcp-config, and asks them for their tools.
func (t *toolbox) connect(config string) error {
	var c struct {
		Servers map[string]mcpServer `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(config), &c); err != nil {
		return fmt.Errorf("--mcp-config: %w", err)
	}
	t.servers = c.Servers
	for name, s := range c.Servers {
		result, err := s.call(context.Background(), "tools/list", object{})
		if err != nil {
			return fmt.Errorf("MCP server %s: %w", name, err)
		}
		for _, tool := range result.Get("tools").Array() {
			t.remote = append(t.remote, object{
				"name":         "mcp__" + name + "__" + tool.Get("name").String(),
				"description":  tool.Get("description").String(),
				"input_schema": json.RawMessage(tool.Get("inputSchema").Raw),
			})
		}
	}
	return nil
}

// use uses one of the server's tools.
func (s mcpServer) use(ctx context.Context, name string, input gjson.Result) outcome {
	result, err := s.call(ctx, "tools/call", object{"name": name, "arguments": json.RawMessage(input.Raw)})
	if err != nil {
		return failed(err)
	}
	return outcome{content: json.RawMessage(result.Get("content").Raw), failed: result.Get("isError").Bool()}
}

// call makes one request of JSON-RPC.
func (s mcpServer) call(ctx context.Context, method string, params object) (gjson.Result, error) {
	body := encode(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return gjson.Result{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range s.Headers {
		req.Header.Set(name, os.ExpandEnv(value))
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return gjson.Result{}, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return gjson.Result{}, err
	}
	v := gjson.ParseBytes(data)
	if resp.StatusCode != http.StatusOK || v.Get("error").Exists() {
		return gjson.Result{}, fmt.Errorf("%s: %d %s", method, resp.StatusCode, data)
	}
	return v.Get("result"), nil
}
