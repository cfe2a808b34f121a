package claude

import (
	"sync"
	"time"
)

// memoryWatch ends idle processes when other programs need their memory. Processes that start check by themselves.
type memoryWatch struct {
	limits Limits
	spares *spares
	idle   *idleProcesses
	period time.Duration // interval of the checks

	mu     sync.Mutex
	timer  *time.Timer // nil = nothing is idle
	closed bool
}

// memoryPeriod is how often the free memory is read while processes are idle.
const memoryPeriod = 10 * time.Second

// watch starts checking, as long as there are idle processes.
func (w *memoryWatch) watch() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limits.monitored == nil || w.closed || w.timer != nil {
		return
	}
	w.timer = time.AfterFunc(w.period, w.checkMemory)
}

// checkMemory ends one process if memory is tight: a spare one, otherwise the least used idle one.
func (w *memoryWatch) checkMemory() {
	w.mu.Lock()
	w.timer = nil // processes that become idle from here on start a new watch
	w.mu.Unlock()
	left := w.spares.count() > 0 || w.idle.stats().Idle > 0
	if left && w.limits.memoryScarce() && w.spares.evict(false) == nil {
		w.idle.evict(ownOrLeastUsed(""), false)
	}
	if left {
		w.watch()
	}
}

// stop ends the watch.
func (w *memoryWatch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.timer != nil {
		w.timer.Stop()
	}
}
