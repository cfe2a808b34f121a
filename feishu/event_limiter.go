package feishu

import (
	"sync"
	"time"
)

const (
	maxInFlight    = 64               // events handled at the same time: enough to fill the database's group commits
	limiterPoll    = time.Millisecond // between two polls for room
	lostFramePolls = 50               // polls after which a frame without an event is considered something else
)

// eventLimiter limits how many events are handled at the same time. The SDK starts a goroutine for each frame that it
// reads (ws/client_message.go, startMessageTask), so at the limit no further frame is read. The excess waits at the
// sender, which sees late acknowledgements. A message takes [messageTimeout] at most, so reading always continues.
type eventLimiter struct {
	mu         sync.Mutex
	inFlight   int // events being handled
	framesRead int // frames that are not events yet; some never become one
}

// waitForRoom counts a frame that was read, and blocks at the limit.
func (i *eventLimiter) waitForRoom() {
	for polls := 0; !i.tryAdmit(polls); polls++ {
		time.Sleep(limiterPoll)
	}
}

// tryAdmit counts a frame if there is room. It counts polls, not wall time: a suspended machine must not hit the
// lost-frame limit.
func (i *eventLimiter) tryAdmit(polls int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	// Such frames are pongs and parts of fragmented events; if they counted forever, reading would stop at the limit.
	if polls >= lostFramePolls {
		i.framesRead = 0
	}
	if i.inFlight+i.framesRead >= maxInFlight {
		return false
	}
	i.framesRead++
	return true
}

// enter counts an event that is being handled, until leave is called.
func (i *eventLimiter) enter() (leave func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.inFlight++
	i.framesRead = max(i.framesRead-1, 0)
	return i.leave
}

func (i *eventLimiter) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.inFlight--
}
