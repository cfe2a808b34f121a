package workqueue

import (
	"context"
	"errors"
	"slices"
	"sync"

	"magpie/internal/chat"
)

// ErrStopped is the cause with which a user stops a turn.
var ErrStopped = errors.New("stopped by a user")

// Lanes holds one lane for every chat that has work of one kind. One piece at a time is done in each.
type Lanes struct {
	mu     sync.Mutex
	byChat map[chat.Key]*lane
	closed bool // no new work is begun
}

// lane is the work of one chat.
type lane struct {
	again bool                    // work arrived since the lane last looked
	turn  int64                   // the one that runs; 0 = none
	stop  context.CancelCauseFunc // ends it
	waits bool                    // for a free process, or for people: nothing of it is lost when it stops
	ban   []int64                 // turns that are stopped as soon as they begin
}

// Count tells how many chats have work.
func (ls *Lanes) Count() int {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return len(ls.byChat)
}

// Enter reports whether the caller must start working for the chat. If somebody does already, they will
// look for work once more before they leave, so nothing is lost.
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

// Close lets no new work begin. Turns that wait for a process or for people are cancelled, since
// neither would finish in the remaining time.
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

// SetWaiting notes whether the turn that runs in the chat waits for a free process or for people.
func (ls *Lanes) SetWaiting(key chat.Key, waits bool) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l.waits = waits; waits && ls.closed {
		l.stop(context.Canceled)
	}
}

// Closed reports whether no new work begins any more.
func (ls *Lanes) Closed() bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return ls.closed
}

// Claimed notes the turn that is about to begin in the chat: it counts as the one that runs, and is stopped as soon as
// it begins if somebody stops it before.
func (ls *Lanes) Claimed(key chat.Key, turn int64) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.byChat[key].turn = turn
}

// BeginTurn notes the turn that runs, and how to stop it.
func (ls *Lanes) BeginTurn(key chat.Key, turn int64, stop context.CancelCauseFunc) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	if l.turn, l.stop = turn, stop; slices.Contains(l.ban, turn) {
		stop(ErrStopped)
	}
}

// EndTurn notes that no turn runs.
func (ls *Lanes) EndTurn(key chat.Key) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	l := ls.byChat[key]
	l.turn, l.stop, l.waits = 0, nil, false
}

// StopTurn ends a turn, if it is the one that runs in the chat.
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

// HaltTurns stops turns that run, or that wait in the chat's lane to begin.
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

// RunningTurn is the turn that runs in the chat; 0 = none.
func (ls *Lanes) RunningTurn(key chat.Key) int64 {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byChat[key]; l != nil {
		return l.turn
	}
	return 0
}
