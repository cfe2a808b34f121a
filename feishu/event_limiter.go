package feishu

import (
	"sync"
	"time"
)

const (
	maxInlet  = 64               // messages that are taken in at the same time: enough to fill the store's groups of writes
	inletTick = time.Millisecond // between two looks whether there is room
	inletLost = 50               // looks after which a frame that has not come in as an event was something else
)

// eventLimiter bounds how many messages are taken in at the same time. The SDK starts a goroutine for each frame that
// it reads (ws/client_message.go, startMessageTask), so what is too much is not read yet: it waits at the other end,
// which sees that its acknowledgement is late. A message takes [messageTimeout] at most, so reading goes on.
type eventLimiter struct {
	mu   sync.Mutex
	in   int // events that are being taken in
	read int // frames that were read, and have not come in as events yet; some never do
}

// frame notes a frame that was read, when there is room for it.
func (i *eventLimiter) frame() {
	for looks := 0; !i.admit(looks); looks++ {
		time.Sleep(inletTick)
	}
}

// admit takes a frame in when there is room. Looks are counted and not time: while the machine stands still no event
// comes in.
func (i *eventLimiter) admit(looks int) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if looks >= inletLost {
		i.read = 0
	}
	if i.in+i.read >= maxInlet {
		return false
	}
	i.read++
	return true
}

// enter notes an event that comes in; leave is called when it is taken in.
func (i *eventLimiter) enter() (leave func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.in++
	i.read = max(i.read-1, 0)
	return i.leave
}

func (i *eventLimiter) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.in--
}
