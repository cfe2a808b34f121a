package workspace

import (
	"strconv"
	"time"

	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// AutoCount is a configured number, such as that of processes, or [Auto]. The zero value is Auto.
type AutoCount int

// Auto leaves the number to the program.
const Auto AutoCount = 0

// auto is its form in the configuration.
const auto = "auto"

func (n AutoCount) String() string {
	if n == Auto {
		return auto
	}
	return strconv.Itoa(int(n))
}

// MarshalText implements encoding.TextMarshaler.
func (n AutoCount) MarshalText() ([]byte, error) { return []byte(n.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (n *AutoCount) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*n = Auto
		return nil
	}
	i, err := strconv.Atoi(string(text))
	if err != nil || i < 1 {
		return i18n.Mistakef(`应为 1 或更大的整数，或 "auto"`, `must be a whole number, 1 or more, or "auto"`)
	}
	*n = AutoCount(i)
	return nil
}

// KeepAlive is how long a process waits for its chat's next message: a configured time, or [AutoKeepAlive].
type KeepAlive struct{ time.Duration }

// AutoKeepAlive keeps processes as long as there is memory for them, two hours at most.
var AutoKeepAlive = KeepAlive{-1}

func (k KeepAlive) String() string {
	if k == AutoKeepAlive {
		return auto
	}
	return configtype.Duration{Duration: k.Duration}.String()
}

// MarshalText implements encoding.TextMarshaler.
func (k KeepAlive) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (k *KeepAlive) UnmarshalText(text []byte) error {
	if string(text) == auto {
		*k = AutoKeepAlive
		return nil
	}
	var d configtype.Duration
	if err := d.UnmarshalText(text); err != nil {
		return i18n.Mistakef(`%v，或 "auto"`, `%v, or "auto"`, err)
	}
	if d.Duration < 0 {
		return errKeepAlive
	}
	k.Duration = d.Duration
	return nil
}

// errKeepAlive describes valid values of keep_alive.
var errKeepAlive = i18n.Mistakef(`不能是负数；也可以写 "auto"`, `must be 0 or more, or "auto"`)

// longestIdle is the default of how long a process waits for its chat's next message. It only uses memory that nothing
// else needs.
const longestIdle = 2 * time.Hour

// Wait is the duration itself.
func (k KeepAlive) Wait() time.Duration {
	if k == AutoKeepAlive {
		return longestIdle
	}
	return k.Duration
}
