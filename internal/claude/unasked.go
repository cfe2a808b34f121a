package claude

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
)

// UnaskedWork is what a process does between turns: commands and subagents that keep running in the background after
// their turn, and the turns that the agent starts by itself when one of them has ended.
type UnaskedWork struct {
	in      *stream.Input
	allowed bool // otherwise output between turns is discarded, and requests are refused

	mu       sync.Mutex
	tasks    tasks
	asks     map[string]bool // permission requests of tasks, by ID
	mode     string          // permission mode of the process
	attached bool            // a turn is reading the output
	woken    bool            // between turns: the agent has started a turn by itself
	backlog  backlog         // its output in that turn
	watcher  Watcher
	why      UnaskedEnd // why the process is being ended; empty = it is not
	cut      bool       // it had unasked work when that was decided
	gone     bool       // it has ended
}

// tasks are the background tasks of a process, by the CLI's IDs.
type tasks struct {
	running    map[string]string // for whom they were started; see [UnaskedWork.StartFor]
	unreported map[string]string // the same of ended tasks that the agent does not know about yet
	since      time.Time         // start of the oldest one
	now        string            // for whom tasks are started now
	stopped    map[string]bool   // they were told to stop, and may still be listed
}

func newTasks() tasks {
	return tasks{running: map[string]string{}, unreported: map[string]string{}, stopped: map[string]bool{}}
}

// Watcher is notified about a process between turns. Its functions must not block.
type Watcher struct {
	Woken func()           // the agent continues unasked: [Pool.AcquireWoken] and [Process.Follow] read its output
	Ended func(UnaskedEnd) // the process has ended with its unasked work

	// a subagent in the background needs a permission, and waits for [UnaskedWork.Answer], even while a turn runs. nil
	// = it is refused
	Asked     func(stream.ToolAsk)
	Withdrawn func(id string) // a request needs no answer any more
}

// UnaskedEnd is why a process with unasked work ended.
type UnaskedEnd string

// The reasons.
const (
	EndDied     UnaskedEnd = "died"
	EndLimit    UnaskedEnd = "background_limit" // [workspace.Config.BackgroundLimit] was reached
	EndMemory   UnaskedEnd = "memory"           // others need its slot or its memory
	EndReplaced UnaskedEnd = "replaced"         // the chat continues in another process
	EndStopped  UnaskedEnd = "stopped"          // see [Pool.Drop]
	EndClosed   UnaskedEnd = "closed"           // with the program
)

// UnaskedState is the unasked work of an idle process.
type UnaskedState string

// The states.
const (
	NoProcess UnaskedState = ""
	InTurn    UnaskedState = "in a turn"
	Resting   UnaskedState = "resting"
	Working   UnaskedState = "working" // background tasks are running
	Woken     UnaskedState = "woken"   // the agent has started a turn by itself
)

// Unasked returns what the process does between turns.
func (p *Process) Unasked() *UnaskedWork { return &p.out.unasked }

// Watch sets the watcher of the process between turns, from now on.
func (u *UnaskedWork) Watch(w Watcher) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.watcher = w
}

// StartFor sets for whom the process starts background tasks from now on, by a name that no other process uses; see
// [Pool.StopFor].
func (u *UnaskedWork) StartFor(someone string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.tasks.now = someone
}

// stopFor stops the background tasks that were started for someone. The agent begins no turn because of that.
func (u *UnaskedWork) stopFor(someone string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for id, started := range u.tasks.running {
		if started == someone {
			u.in.SendControl(stream.StopTask(id))
			u.tasks.stopped[id] = true
			delete(u.tasks.running, id)
		}
	}
}

// OthersThan lists for whom besides someone the process does something, so that it goes on after [Pool.StopFor]. It is
// empty if the process may be about to tell what it has done for someone.
func (u *UnaskedWork) OthersThan(someone string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	ended := slices.Collect(maps.Values(u.tasks.unreported))
	if u.woken || slices.Contains(ended, someone) {
		return nil
	}
	list := slices.AppendSeq(ended, maps.Values(u.tasks.running))
	list = slices.DeleteFunc(list, func(other string) bool { return other == someone })
	slices.Sort(list)
	return slices.Compact(list)
}

// WokenFor lists for whom the tasks were started that the agent tells about in a turn that it has started by itself, as
// far as that is known.
func (u *UnaskedWork) WokenFor() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.woken {
		return nil
	}
	return slices.Compact(slices.Sorted(maps.Values(u.tasks.unreported)))
}

// IsBusy reports whether the process has unasked work, or must be told about the end of a task.
func (u *UnaskedWork) IsBusy() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.busy()
}

// isWoken reports whether the agent has started a turn by itself that nobody reads yet.
func (u *UnaskedWork) isWoken() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.woken
}

// Answer answers a request that was reported to a [Watcher]. It returns false and does nothing if the request was
// already answered or withdrawn.
func (u *UnaskedWork) Answer(id string, v stream.Decision) bool {
	u.mu.Lock()
	open := u.asks[id]
	delete(u.asks, id)
	u.mu.Unlock()
	if open {
		u.in.SendDecision(stream.ToolAsk{ID: id}, v)
	}
	return open
}

// IsOpen reports whether a request that was reported to a [Watcher] waits for an answer.
func (u *UnaskedWork) IsOpen(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.asks[id] && !u.gone
}

// handlePermissionLine handles a line with which a subagent in the background asks for a permission, or withdraws its
// request.
func (u *UnaskedWork) handlePermissionLine(line []byte) bool {
	if !u.allowed || !bytes.Contains(line, []byte(`"control_`)) {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if id, ok := stream.ReadCancel(line); ok && u.asks[id] {
		delete(u.asks, id)
		u.watcher.Withdrawn(id)
		return true
	}
	q, ok := stream.ReadToolAsk(line)
	someone, ofTask := u.tasks.running[gjson.GetBytes(line, "request.agent_id").String()]
	if !ok || !ofTask || u.watcher.Asked == nil {
		return false
	}
	q.Mode, q.For, u.asks[q.ID] = u.mode, someone, true
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
func (u *UnaskedWork) busy() bool {
	return u.woken || len(u.tasks.running) > 0 || len(u.tasks.unreported) > 0
}

// track handles a line about background tasks: which ones are running, that one has ended, or that the agent is told so
// within its turn. Otherwise the agent is told at the beginning of a separate turn. It is not told about a stopped
// task.
func (u *UnaskedWork) track(line []byte) {
	if !u.allowed || !bytes.Contains(line, []byte("task")) {
		return
	}
	v := gjson.ParseBytes(line)
	u.mu.Lock()
	defer u.mu.Unlock()
	switch kind := v.Get("type").String(); {
	case kind == "user" && strings.HasPrefix(v.Get("message.content").String(), "<task-notification>"):
		maps.DeleteFunc(u.tasks.unreported, func(id, _ string) bool {
			return strings.Contains(v.Get("message.content").String(), "<task-id>"+id+"</task-id>")
		})
	case kind != "system":
	case v.Get("subtype").String() == stream.TasksChanged:
		u.setRunning(v.Get("tasks").Array())
	case v.Get("subtype").String() == "task_notification" && v.Get("status").String() != "stopped":
		id := v.Get("task_id").String()
		if someone, ok := u.tasks.running[id]; ok {
			u.tasks.unreported[id] = someone
		}
	}
}

// setRunning records which background tasks are running. The caller holds mu.
func (u *UnaskedWork) setRunning(list []gjson.Result) {
	if !u.busy() {
		u.tasks.since = time.Now()
	}
	before := u.tasks.running
	u.tasks.running = map[string]string{}
	for _, t := range list {
		id := t.Get("task_id").String()
		if id == "" || u.tasks.stopped[id] || t.Get("ambient").Bool() { // an ambient one lives as long as the CLI
			continue
		}
		someone, known := before[id]
		if !known {
			someone = u.tasks.now
		}
		u.tasks.running[id] = someone
	}
}

// handleBetweenTurns handles a line between turns, and reports whether it belongs to a turn that the agent started by
// itself. The first such line notifies the watcher. The lines are kept. A process that no turn has used yet does no
// work for anybody: a resumed session begins with a note about what its last process left in the background.
func (u *UnaskedWork) handleBetweenTurns(line []byte) bool {
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

// backlog has the lines of a turn that nobody reads yet.
type backlog struct {
	lines [][]byte
	size  int // in bytes
}

// maxBacklog limits the backlog in bytes, including the deltas of its messages. Of a longer turn only complete
// messages are kept.
const maxBacklog = 1 << 20

func (b *backlog) append(line []byte) {
	piece := func(line []byte) bool { return gjson.GetBytes(line, "type").String() == "stream_event" }
	before := b.size
	b.size += len(line)
	if b.size <= maxBacklog || !piece(line) {
		b.lines = append(b.lines, slices.Clone(line))
	}
	if before <= maxBacklog && b.size > maxBacklog {
		b.lines = slices.DeleteFunc(b.lines, piece)
	}
}

// attach marks that a turn reads the output from now on. It returns the earlier output of a turn that the agent started
// by itself.
func (u *UnaskedWork) attach() (lines [][]byte, woken bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.attached = true
	lines, u.backlog = u.backlog.lines, backlog{}
	if woken, u.woken = u.woken, false; woken {
		clear(u.tasks.unreported)
	}
	return lines, woken
}

func (u *UnaskedWork) detach() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.attached = false
}

// setEndReason records why the process is being ended. Only the first reason counts.
func (u *UnaskedWork) setEndReason(why UnaskedEnd) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.why == "" {
		u.why, u.cut = why, u.busy() // when it ends the CLI stops its tasks itself
	}
}

// reportEnd tells the watcher that the process has ended, if it had unasked work.
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

// timeLeft is how long the process may continue unasked; 0 = it has no unasked work.
func (u *UnaskedWork) timeLeft(limit time.Duration) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.busy() {
		return 0
	}
	return max(limit-time.Since(u.tasks.since), time.Millisecond)
}
