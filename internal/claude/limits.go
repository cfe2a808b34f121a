package claude

import (
	"errors"
	"runtime"
	"strconv"
)

// Count is how many of something there may be. The zero value is [Auto].
type Count int

// Auto has the machine decide.
const Auto Count = 0

// auto is how people write it.
const auto = "auto"

func (n Count) String() string {
	if n == Auto {
		return auto
	}
	return strconv.Itoa(int(n))
}

// MarshalText implements encoding.TextMarshaler.
func (n Count) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *Count) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*n = Auto
		return nil
	}
	i, err := strconv.Atoi(string(text))
	if err != nil || i < 1 {
		return errors.New(`want a whole number from 1 on, or "auto"`)
	}
	*n = Count(i)
	return nil
}

// What the limits are made of where the configuration names none.
const (
	fewestTurns   = 8         // a turn mostly waits for the model
	turnsPerCore  = 4         // but its tools do not
	processMemory = 200 << 20 // a CLI between turns takes 150 to 235 MB
	leastReserve  = 256 << 20 // that stays free, or a tenth of the machine if that is more
	usualKept     = 8         // processes, where the memory is not known
)

// Limits are how many turns and processes there may be.
type Limits struct {
	Turns     int // that run at the same time
	Processes int // that exist, running or waiting for their chat's next message
	Cores     int // for which the number of turns was chosen; 0 = it is configured

	// Memory was free when the number of processes was chosen, in bytes; 0 = the number is configured, or the memory is
	// not known.
	Memory int64

	machine *machine // nil = its memory does not matter
}

// Limits are those that the configuration names, or that the machine allows.
func (c Config) Limits() Limits {
	l := Limits{Turns: int(c.MaxTurns), Processes: int(c.MaxProcesses)}
	if c.MaxTurns == Auto {
		l.Cores = runtime.GOMAXPROCS(0)
		l.Turns = max(fewestTurns, turnsPerCore*l.Cores)
	}
	if c.MaxProcesses == Auto {
		m := &machine{c.Machine}
		if free, total, err := m.memory(); err == nil {
			l.machine, l.Memory = m, free
			l.Processes = max(1, int((free-reserve(total))/processMemory))
		} else {
			l.Processes = max(usualKept, l.Turns)
		}
	}
	if l.Turns > l.Processes {
		l.Turns, l.Cores = l.Processes, 0
	}
	return l
}

// reserve is how much of so much memory stays free.
func reserve(total int64) int64 { return max(leastReserve, total/10) }

// tight reports whether so many more processes would take what is to stay free. The tools of agents and other programs
// take memory, too, so it is asked each time.
func (l Limits) tight(more int64) bool {
	if l.machine == nil {
		return false
	}
	free, total, err := l.machine.memory()
	return err == nil && free-more*processMemory < reserve(total)
}
