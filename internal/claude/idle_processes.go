package claude

import (
	"slices"
	"time"
)

// idleProcesses are processes that wait for their chat's next message, in the order in which their last turns ended.
type idleProcesses []*idle

// idle is one such process.
type idle struct {
	owner string
	p     *Process
	timer *time.Timer // ends the process after the keep-alive time
}

// indexOf is the position of owner's process; -1 = it has none.
func (b idleProcesses) indexOf(owner string) int {
	return slices.IndexFunc(b, func(i *idle) bool { return i.owner == owner })
}

// activePeriod is how long after a message the next one of the same chat is likely.
const activePeriod = 10 * time.Second

// leastUsed is the process that is ended if another needs its slot: the one that has waited longest among chats that
// are silent. If none is silent, it is the one whose chat was active least recently. -1 = there is none.
func (b idleProcesses) leastUsed(now time.Time) int {
	first := -1
	for i, it := range b {
		if now.Sub(it.p.poolState.lastActive) >= activePeriod {
			return i
		}
		if first < 0 || it.p.poolState.lastActive.Before(b[first].p.poolState.lastActive) {
			first = i
		}
	}
	return first
}

// remove removes the i-th process, for which the caller is responsible from then on.
func (b *idleProcesses) remove(i int) *Process {
	it := (*b)[i]
	it.timer.Stop()
	*b = slices.Delete(*b, i, i+1)
	return it.p
}
