package bridge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// CheckState is the result of a check.
type CheckState int

// The results of a check.
const (
	OK   CheckState = iota
	Warn            // it works, but somebody should look at it
	Fail            // it does not work
)

// Check is one thing that the program can check while it runs. Chats only see which check failed; the log and "magpie
// doctor" tell the operator why.
type Check struct {
	What string // "cli", "login", "platform", "database" or "disk"
	Look func(ctx context.Context) CheckState
}

// checkTime is the timeout of all checks together.
const checkTime = time.Minute

// checkUp is the command /doctor.
func (cs *commandSet) checkUp(ctx context.Context, o invocation) (commandResult, error) {
	if !o.late {
		return commandResult{reply: i18n.DoctorBegun.In(o.lang), later: true}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	worst := OK
	var s strings.Builder
	for _, c := range cs.cfg.Checks {
		// Sequential: the machine may already be overloaded.
		v := c.Look(ctx)
		worst = max(worst, v)
		fmt.Fprintf(&s, "\n- %s %s", [...]string{"✅", "⚠️", "❌"}[v], checkName(c.What).In(o.lang))
	}
	s.WriteString("\n- " + loadOf(cs.pool, o.lang))
	head := [...]i18n.Phrase{i18n.DoctorOK, i18n.DoctorWarn, i18n.DoctorFail}[worst]
	return commandResult{reply: head.In(o.lang) + s.String()}, nil
}

// loadOf describes the agent's current load and its limits.
func loadOf(pool *claude.Pool, lang i18n.Lang) string {
	st, l := pool.Stats(), pool.Limits()
	turns, processes, idle := LimitsIn(l, lang)
	all := st.Running + st.Yielded + st.Idle + st.Spare
	return i18n.DoctorLoad.Sprintf(lang, st.Running, l.Turns, turns, st.Waiting, all, l.Processes, processes, idle)
}

// LimitsIn explains in a language the limits of the agent, and says how long idle processes are kept.
func LimitsIn(l claude.Limits, lang i18n.Lang) (turns, processes, idle string) {
	why := func(r claude.Reason) string {
		switch r {
		case claude.ByCores:
			return i18n.LimitByCores.Sprintf(lang, l.Cores)
		case claude.ByProcesses:
			return i18n.LimitByProcesses.In(lang)
		case claude.ByMemory:
			memory := i18n.LimitByMemory
			if l.ControlGroup {
				memory = i18n.LimitByGroup
			}
			return memory.Sprintf(lang, float64(l.Memory)/(1<<30))
		case claude.ByUnknownMemory:
			return i18n.LimitUnknown.In(lang)
		case claude.Configured:
		}
		return i18n.LimitConfigured.In(lang)
	}
	idle = why(l.Why.Idle)
	if l.Why.Idle == claude.ByMemory {
		idle = i18n.KeptByMemory.In(lang)
	}
	if l.Idle == 0 {
		idle = i18n.KeptNot.Sprintf(lang, idle)
	} else {
		idle = i18n.Kept.Sprintf(lang, i18n.ExactDuration(l.Idle, lang), idle)
	}
	return why(l.Why.Turns), why(l.Why.Processes), idle
}

// checkName is the name of a check for users.
func checkName(what string) i18n.Phrase {
	switch what {
	case "cli":
		return i18n.CheckCLI
	case "login":
		return i18n.CheckLogin
	case "platform":
		return i18n.CheckPlatform
	case "database":
		return i18n.CheckDatabase
	case "disk":
		return i18n.CheckDisk
	}
	return i18n.CheckOther
}
