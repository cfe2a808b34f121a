package claude

import (
	"runtime"
	"time"

	"magpie/internal/claude/workspace"
)

// usualIdle is the default if the free memory is unknown.
const usualIdle = 5 * time.Minute

// Constants of the automatic limits.
const (
	fewestTurns   = 8         // turns mostly wait for the model
	turnsPerCore  = 4         // but their tools need the CPU
	processMemory = 200 << 20 // a CLI between turns takes 150 to 235 MB
	leastReserve  = 256 << 20 // memory that stays free, or a tenth of the machine's if that is more
	usualKept     = 8         // processes, if the memory is not known
)

// Reason is why a limit has its value.
type Reason int

// The reasons.
const (
	Configured      Reason = iota
	ByCores                // as many turns as the cores can handle
	ByProcesses            // each turn needs a process
	ByMemory               // the memory allows that many processes, or to keep them
	ByUnknownMemory        // the free memory is unknown: a default
)

// Reasons are why the limits have their values.
type Reasons struct{ Turns, Processes, Idle Reason }

// Limits are the maximum numbers of turns and processes.
type Limits struct {
	Turns     int // that run at the same time
	Processes int // running or idle

	// MaxTurns and MaxProcesses are the limits if nothing else needed memory: the present ones grow up to them while
	// memory becomes free.
	MaxTurns, MaxProcesses int

	// Idle is how long a process waits for its chat's next message; less if its memory is needed.
	Idle time.Duration

	Why Reasons

	Cores int // used to compute the number of turns; 0 = unused
	// Memory was the free memory in bytes when the number of processes was computed; 0 = unused
	Memory       int64
	ControlGroup bool // the memory is that of a container or a service, not the whole machine's

	most      turnLimit
	machine   *machine // nil = memory is not checked when a process starts
	monitored *machine // nil = memory is not checked while processes are idle
}

// turnLimit is why that many turns may run at most, and the number of cores if it was computed from them.
type turnLimit struct {
	cores int
	why   Reason
}

// LimitsOf returns the configured limits, or those that the machine allows now.
func LimitsOf(c Config) Limits {
	l := Limits{MaxTurns: int(c.MaxTurns), MaxProcesses: int(c.MaxProcesses), Idle: c.KeepAlive.Wait()}
	if c.MaxTurns == workspace.Auto {
		l.most = turnLimit{runtime.GOMAXPROCS(0), ByCores}
		l.MaxTurns = max(fewestTurns, turnsPerCore*l.most.cores)
	}
	m, now := &machine{c.Machine}, l.MaxProcesses
	if c.MaxProcesses == workspace.Auto {
		// Memory determines the number of processes: one takes about 300 MB at its start (CLI 2.1.197).
		if free := m.memory(); free.known {
			l.machine, l.Memory, l.ControlGroup, l.Why.Processes = m, free.free, free.grouped, ByMemory
			now = max(1, free.processes())
			l.MaxProcesses = max(now, memory{free: free.total, total: free.total}.processes())
		} else {
			l.MaxProcesses, l.Why.Processes = max(usualKept, l.MaxTurns), ByUnknownMemory
			now = l.MaxProcesses
		}
	}
	l.monitored = l.machine
	if c.KeepAlive == workspace.AutoKeepAlive {
		if m.memory().known {
			l.monitored, l.Why.Idle = m, ByMemory
		} else {
			l.Idle, l.Why.Idle = usualIdle, ByUnknownMemory
		}
	}
	if l.MaxTurns > l.MaxProcesses {
		l.MaxTurns, l.most = l.MaxProcesses, turnLimit{why: ByProcesses}
	}
	return l.withProcesses(now)
}

// withProcesses returns the limits with that many processes. More turns would only wait for one.
func (l Limits) withProcesses(n int) Limits {
	l.Processes, l.Turns, l.Cores, l.Why.Turns = n, l.MaxTurns, l.most.cores, l.most.why
	if l.Turns > n {
		l.Turns, l.Cores, l.Why.Turns = n, 0, ByProcesses
	}
	return l
}
