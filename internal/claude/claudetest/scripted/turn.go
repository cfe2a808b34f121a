//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude"
)

// The CLI's notes to the model about an interrupted turn.
const (
	interruptedText = "[Request interrupted by user]"
	interruptedTool = "[Request interrupted by user for tool use]"
	rejected        = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it " +
		"was a file edit, the new_string was NOT written to the file). STOP what you are doing and wait for the user " +
		"to tell you " +
		"how to proceed."
)

// agent answers with the help of a model.
type agent struct {
	*output
	*permissions
	api     api
	system  string // replaces its own system prompt
	toolbox toolbox
	conv    *session
	replay  bool
	prompts *inbox // prompts that come while it answers
	tasks   background

	suggests bool
	answers  int

	mu    sync.Mutex
	stop  func() // interrupts the running turn
	spent usage
	woken bool // it has started the running turn by itself
}

func newAgent(out *output, o options, url string, prompts *inbox) (*agent, error) {
	a := &agent{
		output: out, permissions: newPermissions(out, o.mode),
		api: api{url, o.session, fullName(o.model)}, system: o.system, toolbox: o.toolbox,
		replay: o.replay, prompts: prompts, suggests: o.suggest,
	}
	var err error
	if a.conv, err = openSession(o.session, o.resume, o.keep); errors.Is(err, errNoConversation) {
		return nil, a.noConversation()
	} else if err != nil {
		return nil, err
	}
	prompts.came = a.conv.queued
	if o.servers != "" {
		err = a.toolbox.connect(o.servers)
	}
	return a, err
}

// noConversation ends as the CLI does if the session to resume does not exist.
func (a *agent) noConversation() error {
	text := "No conversation found with session ID: " + a.session
	err := a.say(object{
		"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "total_cost_usd": 0,
		"usage": usage{}.object(), "modelUsage": object{}, "errors": []string{text},
	})
	return errors.Join(err, errors.New(text))
}

// prompt answers one prompt.
func (a *agent) prompt(m message) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	a.onInterrupt(cancel)
	defer a.onInterrupt(func() {})
	return a.turn(ctx, m)
}

// onInterrupt sets the effect of an interrupt.
func (a *agent) onInterrupt(stop func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stop = stop
}

// control answers a control request.
func (a *agent) control(o order) (object, error) {
	switch o.Subtype {
	case "interrupt":
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.stop != nil {
			a.stop()
		}
	case "set_permission_mode":
		return object{}, a.set(o.Mode)
	case "stop_task":
		return object{}, a.tasks.stop(o.Task)
	case "generate_session_title":
		title, err := a.api.title(context.Background(), o.Description)
		return object{"title": title}, err
	case "get_usage":
		a.mu.Lock()
		defer a.mu.Unlock()
		return object{"session": object{"total_cost_usd": a.spent.cost(), "model_usage": a.modelUsage(a.spent)}}, nil
	}
	return object{}, nil
}

// systemPrompt is a short stand-in for that of the real CLI; --system-prompt replaces both.
func (a *agent) systemPrompt() string {
	if a.system != "" {
		return a.system
	}
	dir, _ := os.Getwd()
	return "You are Claude Code, Anthropic's official CLI for Claude.\n\nPrimary working directory: " + dir +
		"\nAdditional working directories: " + strings.Join(a.toolbox.folders, ", ")
}

// turn answers a prompt with the help of the model.
func (a *agent) turn(ctx context.Context, m message) error {
	if a.conv.prompts[m.UUID] {
		return nil // the CLI drops a prompt that it already has
	}
	a.conv.prompts[m.UUID] = true
	a.conv.group, a.woken, a.conv.notice = uuid.NewString(), m.notice, m.notice
	if err := a.say(a.initLine()); err != nil {
		return err
	}
	if err := a.conv.user(m.UUID, m.Message.Content.blocks()); err != nil {
		return err
	}
	a.conv.notice = false
	if a.replay && !m.notice {
		if err := a.say(m.replayed()); err != nil {
			return err
		}
	}
	var spent usage
	for calls := 1; ; calls++ {
		r, err := a.api.call(ctx, object{
			"messages": a.conv.messages, "tools": a.toolbox.definitions(),
			"system": []object{{"type": "text", "text": a.systemPrompt()}},
		}, a.say)
		spent.add(r.usage)
		if err != nil {
			return a.broken(ctx, r, err, spent, calls)
		}
		if err := a.conv.assistant(r); err != nil {
			return err
		}
		if r.stop != "tool_use" {
			err := a.success(r, spent, calls)
			a.suggest()
			return err
		}
		if err := a.tools(ctx, r); err != nil {
			return err
		}
		if ctx.Err() != nil {
			if err := a.note(interruptedTool); err != nil {
				return err
			}
			return a.aborted("aborted_tools", spent, calls)
		}
		if err := a.steered(); err != nil {
			return err
		}
	}
}

// steered passes the messages written while the tools ran to the model, as the CLI does.
func (a *agent) steered() error {
	for _, m := range a.prompts.now() {
		if err := a.conv.attached(m.UUID, m.Message.Content.text()); err != nil {
			return err
		}
		if !a.replay {
			continue
		}
		if err := a.say(m.replayed()); err != nil {
			return err
		}
	}
	return nil
}

// initLine has the members that the bridge reads, with the types of the real CLI.
func (a *agent) initLine() object {
	names := []string{}
	for _, d := range a.toolbox.definitions() {
		names = append(names, fmt.Sprint(d["name"]))
	}
	dir, _ := os.Getwd()
	return object{
		"type": "system", "subtype": "init", "cwd": dir, "model": a.api.model, "permissionMode": a.current(),
		"tools":       names,
		"mcp_servers": []object{}, "slash_commands": []string{"clear", "compact"}, "claude_code_version": "scripted",
	}
}

// tools runs the tool calls of a reply one by one.
func (a *agent) tools(ctx context.Context, r reply) error {
	var results []object
	for i := range r.blocks {
		b := &r.blocks[i]
		if b.kind != "tool_use" {
			continue
		}
		// Every call needs a result, even after an interrupt: the API rejects a conversation with an open tool_use.
		o := outcome{rejected, true, nil}
		if ctx.Err() == nil {
			o = a.permitted(ctx, b)
		}
		if ctx.Err() != nil {
			o = outcome{rejected, true, nil}
		}
		var content any = o.text
		if o.content != nil {
			content = o.content
		}
		result := object{"type": "tool_result", "tool_use_id": b.id, "content": content}
		if o.failed {
			result["is_error"] = true
		}
		results = append(results, result)
		if err := a.say(object{"type": "user",
			"message": object{"role": "user", "content": []object{result}}}); err != nil {
			return err
		}
	}
	return a.conv.user(uuid.NewString(), results)
}

// permitted uses a tool if permitted.
func (a *agent) permitted(ctx context.Context, b *block) outcome {
	input := gjson.Parse(b.input())
	if a.unasked(b.name, input, a.current()) {
		return a.use(ctx, b.name, input)
	}
	d, err := a.mayUse(ctx, b, input)
	if errors.As(err, new(unanswered)) {
		return failed(err)
	} else if err != nil {
		return outcome{rejected, true, nil}
	}
	if d.Get("behavior").String() != "allow" {
		return outcome{d.Get("message").String(), true, nil}
	}
	// The answer may change the input, as it does for questions.
	if updated := d.Get("updatedInput"); updated.IsObject() {
		input = updated
	}
	// Approving a plan ends plan mode.
	if b.name == claude.PlanTool {
		if err := a.set("default"); err != nil {
			return failed(err)
		}
	}
	return a.use(ctx, b.name, input)
}

// note adds a note to the conversation and to the output.
func (a *agent) note(text string) error {
	content := []object{{"type": "text", "text": text}}
	if err := a.say(object{"type": "user", "message": object{"role": "user", "content": content}}); err != nil {
		return err
	}
	return a.conv.user(uuid.NewString(), content)
}

// broken ends a turn in which the model's answer is incomplete: it was interrupted, or the API failed.
func (a *agent) broken(ctx context.Context, r reply, err error, spent usage, calls int) error {
	if ctx.Err() == nil {
		return a.failure(err, spent, calls)
	}
	if n := len(r.blocks); n > 0 && !r.blocks[n-1].ended {
		if r.blocks[n-1].kind == "tool_use" {
			r.blocks = r.blocks[:n-1] // its input is incomplete
		} else {
			begun := []json.RawMessage{encode(r.blocks[n-1].whole())}
			if err := a.say(object{"type": "assistant", "message": r.message(begun)}); err != nil {
				return err
			}
		}
	}
	if err := a.conv.assistant(r); err != nil {
		return err
	}
	if err := a.note(interruptedText); err != nil {
		return err
	}
	return a.aborted("aborted_streaming", spent, calls)
}

// success is the end of a turn with an answer.
func (a *agent) success(r reply, spent usage, calls int) error {
	text := ""
	for i := range r.blocks {
		if b := &r.blocks[i]; b.kind == "text" {
			text = b.text.String()
		}
	}
	return a.result(spent, calls, object{
		"subtype": "success", "is_error": false, "result": text, "stop_reason": r.stop,
	})
}

// failure is the end of a turn in which the API failed. It has the subtype of success.
func (a *agent) failure(err error, spent usage, calls int) error {
	status := 0
	var api *apiError
	if errors.As(err, &api) {
		status = api.status
	}
	answer := object{
		"id": uuid.NewString(), "model": "<synthetic>", "role": "assistant",
		"content": []object{{"type": "text", "text": err.Error()}},
	}
	if err := a.say(object{"type": "assistant", "error": "unknown", "message": answer}); err != nil {
		return err
	}
	if err := a.conv.write(object{
		"type": "assistant", "uuid": uuid.NewString(), "isApiErrorMessage": true, "apiErrorStatus": status,
		"message": answer,
	}); err != nil {
		return err
	}
	return a.result(spent, calls, object{
		"subtype": "success", "is_error": true, "result": err.Error(), "api_error_status": status,
		"terminal_reason": "api_error",
	})
}

// aborted is the end of an interrupted turn.
func (a *agent) aborted(reason string, spent usage, calls int) error {
	return a.result(spent, calls, object{
		"subtype": "error_during_execution", "is_error": true, "terminal_reason": reason,
		"errors": []string{"[ede_diagnostic] interrupted"},
	})
}

// result ends a turn.
func (a *agent) result(spent usage, calls int, fields object) error {
	a.mu.Lock()
	a.spent.add(spent)
	total := a.spent
	a.mu.Unlock()
	if a.woken {
		fields["origin"] = object{"kind": "task-notification"}
	}
	fields["type"], fields["num_turns"], fields["usage"] = "result", calls, spent.object()
	fields["total_cost_usd"], fields["modelUsage"] = total.cost(), a.modelUsage(total)
	return a.say(fields)
}

// modelUsage is the process's usage so far.
func (a *agent) modelUsage(u usage) object {
	if u == (usage{}) {
		return object{}
	}
	window := 200_000
	if strings.HasSuffix(a.api.model, "[1m]") {
		window = 1_000_000
	}
	return object{a.api.model: object{
		"inputTokens": u.input, "outputTokens": u.output,
		"cacheReadInputTokens": u.cacheRead, "cacheCreationInputTokens": u.cacheNew,
		"costUSD": u.cost(), "contextWindow": window,
	}}
}
