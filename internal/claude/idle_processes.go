package claude

import (
	"slices"
	"time"
)

// idleProcesses is where processes wait for their chat's next message; the one that has waited longest comes first.
type idleProcesses []*idle

// idle is a process that waits for its chat's next message.
type idle struct {
	owner string
	p     *Process
	timer *time.Timer // until it has waited long enough
}

// of finds owner's process; -1 = it has none that waits.
func (b idleProcesses) of(owner string) int {
	return slices.IndexFunc(b, func(i *idle) bool { return i.owner == owner })
}

// talk is how long people who have written are likely to write again soon.
const talk = 10 * time.Second

// oldest finds the process that makes room for another: the one that has waited longest of those whose chat is silent.
// When there is talk in all of them, it is the one whose chat spoke first. -1 = none waits.
func (b idleProcesses) oldest(now time.Time) int {
	first := -1
	for i, it := range b {
		if now.Sub(it.p.held.spoke) >= talk {
			return i
		}
		if first < 0 || it.p.held.spoke.Before(b[first].p.held.spoke) {
			first = i
		}
	}
	return first
}

// remove takes the i-th process away. It is the caller's from now on.
func (b *idleProcesses) remove(i int) *Process {
	it := (*b)[i]
	it.timer.Stop()
	*b = slices.Delete(*b, i, i+1)
	return it.p
}
