package bridge

import (
	"context"
	"fmt"
	"strings"
	"time"

	"magpie/bridge/i18n"
)

// CheckState is what a check finds.
type CheckState int

// The verdicts.
const (
	OK   CheckState = iota
	Warn            // it works, but somebody should look
	Fail            // it does not work
)

// Check is one thing that the program can look at while it runs. What exactly is wrong, the operator is told in the log
// and by "magpie doctor": a chat learns no more than where.
type Check struct {
	What string // "cli", "login", "platform", "database" or "disk"
	Look func(ctx context.Context) CheckState
}

// checkTime is how long all checks may take together.
const checkTime = time.Minute

// checkUp is the command /doctor.
func checkUp(_ context.Context, o ordered) (order, error) {
	return order{reply: i18n.DoctorBegun.In(o.lang), later: func(ctx context.Context) string {
		ctx, cancel := context.WithTimeout(ctx, checkTime)
		defer cancel()
		worst := OK
		var s strings.Builder
		for _, c := range o.b.cfg.Checks {
			v := c.Look(ctx)
			worst = max(worst, v)
			fmt.Fprintf(&s, "\n- %s %s", [...]string{"✅", "⚠️", "❌"}[v], checkName(c.What).In(o.lang))
		}
		s.WriteString("\n- " + o.load())
		head := [...]i18n.Phrase{i18n.DoctorFine, i18n.DoctorDoubt, i18n.DoctorWrong}[worst]
		return head.In(o.lang) + s.String()
	}}, nil
}

// load says how much the agent has to do, and how much it may.
func (o ordered) load() string {
	st, l := o.b.pool.Stats(), o.b.pool.Limits()
	return fmt.Sprintf(i18n.DoctorLoad.In(o.lang), st.Running, l.Turns, st.Waiting, st.Running+st.Resting+st.Idle, l.Processes)
}

// checkName is what users call a thing that was looked at.
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
