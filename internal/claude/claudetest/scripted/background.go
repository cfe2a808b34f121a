//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// background are the commands that continue after their turn.
type background struct {
	mu    sync.Mutex
	tasks []object
	stops map[string]context.CancelFunc // by ID
}

// add makes a task that can be stopped.
func (bg *background) add(id string) context.Context {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if bg.stops == nil {
		bg.stops = map[string]context.CancelFunc{}
	}
	ctx, stop := context.WithCancel(context.Background())
	bg.stops[id] = stop
	return ctx
}

// stop stops a task.
func (bg *background) stop(id string) error {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	if bg.stops[id] == nil {
		//lint:ignore ST1005 it is what the CLI says
		return fmt.Errorf("No task found with ID: %s", id)
	}
	bg.stops[id]()
	return nil
}

// change adds or removes a task, and reports the current ones.
func (bg *background) change(out *output, change func([]object) []object) error {
	bg.mu.Lock()
	defer bg.mu.Unlock()
	bg.tasks = change(bg.tasks)
	return out.say(object{
		"type": "system", "subtype": "background_tasks_changed", "tasks": append([]object{}, bg.tasks...),
	})
}

// startTask runs a command in the background. Its end is a separate prompt, as in the CLI.
func (a *agent) startTask(input gjson.Result) outcome {
	if os.Getenv("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS") == "1" {
		return outcome{"unexpected parameter `run_in_background`", true, nil}
	}
	id, what := "b"+uuid.NewString()[:8], input.Get("description").String()
	task := object{"task_id": id, "task_type": "local_bash", "description": what}
	if err := a.tasks.change(a.output, func(l []object) []object { return append(l, task) }); err != nil {
		return failed(err)
	}
	ctx := a.tasks.add(id)
	go func() {
		bash(ctx, input.Get("command").String()) // it ends with this program's descendants
		status := "completed"
		if ctx.Err() != nil {
			status = "stopped"
		}
		sent := a.say(object{
			"type": "system", "subtype": "task_notification", "task_id": id, "status": status, "summary": what,
		})
		gone := a.tasks.change(a.output, func(l []object) []object {
			return slices.DeleteFunc(l, func(t object) bool { return t["task_id"] == id })
		})
		if sent == nil && gone == nil && ctx.Err() == nil { // the model is not told of a task that was stopped
			a.prompts.put(notification(id, what))
		}
	}()
	return outcome{text: "Command running in background with ID: " + id + ". You will be notified when it completes."}
}

// notification tells the model that a task has ended.
func notification(id, what string) message {
	m := message{Type: "user", UUID: uuid.NewString(), notice: true}
	m.Message.Content = content(encode(fmt.Sprintf("<task-notification>\n<task-id>%s</task-id>\n"+
		"<status>completed</status>\n<summary>%s</summary>\n</task-notification>", id, what)))
	return m
}
