package workqueue

import (
	"context"
	"errors"
	"slices"
	"sync"

	"magpie/internal/chat"
)

// ErrStopped is the cancellation cause when a user stops a turn.
var ErrStopped = errors.New("stopped by a user")

// Lanes has one lane for every chat with work of one kind. Each lane does one piece at a time.
type Lanes struct {
	mu     sync.Mutex
	byChat map[chat.Key]*lane
	closed bool // no new work may start
}

// lane is the work of one chat.
type lane struct {
	again bool                    // work arrived since the lane last looked
	turn  int64                   // the running turn; 0 = none
	stop  context.CancelCauseFunc // cancels it
	waits bool                    // for a free process, or for people: stopping it loses nothing
	ban   []int64                 // turns to be stopped as soon as they begin
}

// Count returns the number of chats with work.
func (ls *Lanes) Count() int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.byChat)
}

// Enter reports whether the caller must start working for the chat. If another worker is active, it will look for work
// again before it leaves, so nothing is lost.
func (ls *Lanes) Enter(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l != nil {
		l.again = true
		return false
	}
	if ls.closed {
		return false
	}
	if ls.byChat == nil {
		ls.byChat = map[chat.Key]*lane{}
	}
	ls.byChat[key] = &lane{}
	return true
}

// Leave ends the lane unless work arrived since it last looked.
func (ls *Lanes) Leave(key chat.Key) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l.again && !ls.closed {
		l.again = false
		return false
	}
	delete(ls.byChat, key)
	return true
}

// Close prevents new work. Turns that wait for a process or for people are cancelled, since neither would finish in the
// remaining time.
func (ls *Lanes) Close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.closed = true
	for _, l := range ls.byChat {
		if l.waits {
			l.stop(context.Canceled)
		}
	}
}

// SetWaiting records whether the chat's running turn waits for a free process or for people.
func (ls *Lanes) SetWaiting(key chat.Key, waits bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l.waits = waits; waits && ls.closed {
		l.stop(context.Canceled)
	}
}

// Closed reports whether Close was called.
func (ls *Lanes) Closed() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.closed
}

// SetClaimed records the turn that is about to begin in the chat: it counts as running, and if it is stopped now, it is
// stopped as soon as it begins.
func (ls *Lanes) SetClaimed(key chat.Key, turn int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.byChat[key].turn = turn
}

// BeginTurn records the running turn, and how to stop it.
func (ls *Lanes) BeginTurn(key chat.Key, turn int64, stop context.CancelCauseFunc) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l.turn, l.stop = turn, stop; slices.Contains(l.ban, turn) {
		stop(ErrStopped)
	}
}

// EndTurn records that no turn is running.
func (ls *Lanes) EndTurn(key chat.Key) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	l.turn, l.stop, l.waits = 0, nil, false
}

// StopTurn stops a turn, if it is running in the chat.
func (ls *Lanes) StopTurn(key chat.Key, turn int64) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l == nil || l.stop == nil || turn != l.turn {
		return false
	}
	l.stop(ErrStopped)
	return true
}

// HaltTurns stops turns that are running, or waiting in the chat's lane.
func (ls *Lanes) HaltTurns(key chat.Key, turns ...int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l == nil { // they have ended
		return
	}
	if l.ban = append(l.ban, turns...); l.stop != nil && slices.Contains(turns, l.turn) {
		l.stop(ErrStopped)
	}
}

// ChatOf returns the chat of a running turn, or false.
func (ls *Lanes) ChatOf(turn int64) (chat.Key, bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for key, l := range ls.byChat {
		if l.turn == turn {
			return key, true
		}
	}
	return chat.Key{}, false
}

// RunningTurn is the chat's running turn; 0 = none.
func (ls *Lanes) RunningTurn(key chat.Key) int64 {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l != nil {
		return l.turn
	}
	return 0
}
