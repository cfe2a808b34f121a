package feishu

import (
	"runtime"
	"sync"
)

// maxInlet is how many messages are taken in at the same time. It is enough to fill the store's groups of writes.
const maxInlet = 64

// inlet bounds how many messages are taken in at the same time. The SDK starts a goroutine for each frame that it reads
// (ws/client_message.go, startMessageTask), so what is too much is not read yet: it waits at the other end, which sees
// that its acknowledgement is late. A message takes [messageTimeout] at most, so reading goes on.
type inlet struct {
	mu   sync.Mutex
	n    int
	room *sync.Cond
}

func newInlet() *inlet {
	i := &inlet{}
	i.room = sync.NewCond(&i.mu)
	return i
}

func (i *inlet) enter() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n++
}

func (i *inlet) leave() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.n--
	i.room.Signal()
}

// wait returns when another message may be taken in.
func (i *inlet) wait() {
	runtime.Gosched() // lets the goroutines of frames that were read before come in
	i.mu.Lock()
	defer i.mu.Unlock()
	for i.n >= maxInlet {
		i.room.Wait()
	}
}
