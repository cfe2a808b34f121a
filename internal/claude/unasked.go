package claude

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// UnaskedWork is what a process does between turns: commands and subagents that run in the background and have outlived
// the turn that has started them, and the turns that the agent begins by itself when one of them has ended.
type UnaskedWork struct {
	in      *input
	allowed bool // else what comes between turns is discarded, and what asks is refused

	mu         sync.Mutex
	tasks      map[string]bool // those that run in the background, by the CLI's id
	unreported map[string]bool // those that have ended, which the agent has not been told
	since      time.Time       // when the oldest one began
	asks       map[string]bool // requests of tasks for a permission, by their ids
	mode       string          // permission mode of the process
	attached   bool            // a turn reads the output
	woken      bool            // between turns: the agent has begun a turn by itself
	backlog    backlog         // what it has said in it
	watcher    Watcher
	why        UnaskedEnd // why the process is being ended; empty = it is not
	cut        bool       // it was doing something unasked when that was decided
	gone       bool       // it has ended
}

// Watcher is told what becomes of a process between turns. Its functions must not block.
type Watcher struct {
	Woken func()           // the agent goes on unasked: [Pool.AcquireWoken] and [Process.Follow] read what it says
	Ended func(UnaskedEnd) // the process has ended, and with it what it did or was to do unasked

	// a subagent in the background needs a permission, and waits for [UnaskedWork.Answer], also while a turn runs.
	// nil = it is refused
	Asked     func(ToolAsk)
	Withdrawn func(id string) // a request needs no answer any more
}

// UnaskedEnd is why a process ended that was still doing something unasked.
type UnaskedEnd string

// The reasons.
const (
	EndDied     UnaskedEnd = "died"
	EndLimit    UnaskedEnd = "background_limit" // [Config.BackgroundLimit] is over
	EndMemory   UnaskedEnd = "memory"           // others need its slot or its memory
	EndReplaced UnaskedEnd = "replaced"         // the chat goes on in another process
	EndStopped  UnaskedEnd = "stopped"          // see [Pool.Drop]
	EndClosed   UnaskedEnd = "closed"           // with the program
)

// UnaskedState is what an idle process does unasked.
type UnaskedState string

// What it may do.
const (
	NoProcess UnaskedState = ""
	InTurn    UnaskedState = "in a turn"
	Resting   UnaskedState = "resting"
	Working   UnaskedState = "working" // something runs in the background
	Woken     UnaskedState = "woken"   // the agent has begun a turn by itself
)

// Unasked is what the process does between turns.
func (p *Process) Unasked() *UnaskedWork { return &p.out.unasked }

// Watch says who is told what becomes of the process between turns, from now on.
func (u *UnaskedWork) Watch(w Watcher) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.watcher = w
}

// IsBusy reports whether the process does something unasked, or is to be told of something that has ended.
func (u *UnaskedWork) IsBusy() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.busy()
}

// isWoken reports whether the agent has begun a turn by itself that nobody reads yet.
func (u *UnaskedWork) isWoken() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.woken
}

// Answer answers a request that a [Watcher] was told of. It returns false, and does nothing, if the request was
// answered or withdrawn before.
func (u *UnaskedWork) Answer(id string, v Decision) bool {
	if !u.remove(id) {
		return false
	}
	u.in.sendDecision(id, v)
	return true
}

// IsOpen reports whether a request that a [Watcher] was told of waits for an answer.
func (u *UnaskedWork) IsOpen(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asks[id] && !u.gone
}

// remove forgets a request, and reports whether it was open.
func (u *UnaskedWork) remove(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	open := u.asks[id]
	delete(u.asks, id)
	return open
}

// handlePermissionLine takes up a line with which a subagent in the background asks for a permission, or withdraws its
// request.
func (u *UnaskedWork) handlePermissionLine(line []byte) bool {
	if !u.allowed || !bytes.Contains(line, []byte(`"control_`)) {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if id, ok := cancelRequest(line); ok && u.asks[id] {
		delete(u.asks, id)
		u.watcher.Withdrawn(id)
		return true
	}
	q, ok := toolAsk(line)
	if !ok || !u.tasks[gjson.GetBytes(line, "request.agent_id").String()] || u.watcher.Asked == nil {
		return false
	}
	q.Mode, u.asks[q.ID] = u.mode, true
	u.watcher.Asked(q)
	return true
}

// isGone reports whether the process has ended.
func (u *UnaskedWork) isGone() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.gone
}

// busy is [UnaskedWork.IsBusy]. The caller holds mu.
func (u *UnaskedWork) busy() bool { return u.woken || len(u.tasks) > 0 || len(u.unreported) > 0 }

// track takes up what a line says of tasks in the background: which ones run, that one has ended, or that the agent is
// told of that within its turn. Else it is told at the beginning of a turn of its own. Of a task that was stopped it is
// not told.
func (u *UnaskedWork) track(line []byte) {
	if !u.allowed || !bytes.Contains(line, []byte("task")) {
		return
	}
	v := gjson.ParseBytes(line)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch kind := v.Get("type").String(); {
	case kind == "user" && strings.HasPrefix(v.Get("message.content").String(), "<task-notification>"):
		maps.DeleteFunc(u.unreported, func(id string, _ bool) bool {
			return strings.Contains(v.Get("message.content").String(), "<task-id>"+id+"</task-id>")
		})
	case kind != "system":
	case v.Get("subtype").String() == tasksChanged:
		u.run(v.Get("tasks").Array())
	case v.Get("subtype").String() == "task_notification" && v.Get("status").String() != "stopped":
		if id := v.Get("task_id").String(); u.tasks[id] {
			u.unreported[id] = true
		}
	}
}

// run takes up which tasks run in the background. The caller holds mu.
func (u *UnaskedWork) run(tasks []gjson.Result) {
	if !u.busy() {
		u.since = time.Now()
	}
	u.tasks = map[string]bool{}
	for _, t := range tasks {
		if id := t.Get("task_id").String(); id != "" && !t.Get("ambient").Bool() { // else it goes on as long as the CLI
			u.tasks[id] = true
		}
	}
}

// between takes up a line that comes between turns, and reports whether it belongs to a turn that the agent has begun
// by itself. Who watches is woken by its beginning. Its lines are kept. A process that no turn has used yet does nothing
// for anybody: a session that is resumed begins with a note about what its last process left in the background.
func (u *UnaskedWork) between(line []byte) bool {
	v := gjson.ParseBytes(line)
	u.mu.Lock()
	defer u.mu.Unlock()
	kind := v.Get("type").String()
	if !u.woken {
		if !u.allowed || u.watcher.Woken == nil || kind != "system" || v.Get("subtype").String() != "init" {
			return false
		}
		u.woken = true
		u.watcher.Woken()
	}
	u.backlog.append(line)
	return true
}

// backlog is the lines of a turn that nobody reads yet.
type backlog struct {
	lines [][]byte
	size  int // in bytes
}

// mostBacklog is how much is kept of a turn that nobody reads yet, in bytes, with the pieces of its messages. Of a
// longer one only what comes whole is kept.
const mostBacklog = 1 << 20

func (b *backlog) append(line []byte) {
	piece := func(line []byte) bool { return gjson.GetBytes(line, "type").String() == "stream_event" }
	before := b.size
	b.size += len(line)
	if b.size <= mostBacklog || !piece(line) {
		b.lines = append(b.lines, slices.Clone(line))
	}
	if before <= mostBacklog && b.size > mostBacklog {
		b.lines = slices.DeleteFunc(b.lines, piece)
	}
}

// attach says that a turn reads the output from now on. It returns what the agent has said by itself before, if it has
// begun a turn.
func (u *UnaskedWork) attach() (lines [][]byte, woken bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.attached = true
	lines, u.backlog = u.backlog.lines, backlog{}
	if woken, u.woken = u.woken, false; woken {
		clear(u.unreported)
	}
	return lines, woken
}

func (u *UnaskedWork) detach() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.attached = false
}

// setEndReason notes why the process is being ended. Only the first reason counts.
func (u *UnaskedWork) setEndReason(why UnaskedEnd) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.why == "" {
		u.why, u.cut = why, u.busy() // at its end the CLI stops its tasks itself
	}
}

// reportEnd tells who watches that the process has ended, if it was doing something unasked.
func (u *UnaskedWork) reportEnd() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.why == "" {
		u.why, u.cut = EndDied, u.busy()
	}
	u.gone = true
	if u.cut && !u.attached && u.watcher.Ended != nil {
		u.watcher.Ended(u.why)
	}
}

// left is how long the process may go on unasked; 0 = it does nothing.
func (u *UnaskedWork) left(limit time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.busy() {
		return 0
	}
	return max(limit-time.Since(u.since), time.Millisecond)
}

// isUnasked reports whether a line is the result of a turn that the agent has begun by itself.
func isUnasked(line []byte) bool {
	return bytes.Contains(line, []byte(`"origin"`)) && gjson.GetBytes(line, "type").String() == "result" &&
		strings.HasPrefix(gjson.GetBytes(line, "origin.kind").String(), "task")
}

// tasksChanged is what a CLI says that tells which tasks run in the background. Versions before about 2.1.330 do not,
// and present the end of one to the model as if the user had written it.
const tasksChanged = "background_tasks_changed"

// worksUnasked reports whether a process may go on with something when its turn has ended. Not one that serves one turn
// only.
func (a agent) worksUnasked(spec Spec) bool {
	if a.cfg.BackgroundLimit.Duration <= 0 || a.cfg.KeepAlive.wait() == 0 || spec.Budget > 0 || spec.Task != "" {
		return false
	}
	knows, _ := knownPrograms.knows(a.cfg.Command, tasksChanged)
	return knows
}

// processEnvironment is the environment of a process. The operator's own value of a variable counts.
func (a agent) processEnvironment(spec Spec) environment {
	env := a.env.withoutMentions(a.cfg.Command)
	if _, configured := a.cfg.Env[noBackground]; configured || !a.worksUnasked(spec) {
		return env
	}
	env = maps.Clone(env)
	delete(env, noBackground)
	return env
}
