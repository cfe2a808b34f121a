package console

import (
	"slices"
	"sync"
	"time"
)

// maxTurns is how many turns of a chat are kept for the panel.
const maxTurns = 50

// Turn is one built context, for the panel.
type Turn struct {
	ChatID       string        `json:"-"`
	Turn         int64         `json:"turn"`
	At           time.Time     `json:"at"`
	Resume       string        `json:"resume"` // session id resumed, "" none
	Live         bool          `json:"live"`   // the process lives, nothing else needed
	Lost         string        `json:"lost"`   // why a session was given up, "" = not
	Prefix       string        `json:"prefix"` // history prefix as sent, "" = none
	Question     string        `json:"question"`
	Messages     int           `json:"messages"`
	UserMessages int           `json:"user_messages"`
	Chars        int           `json:"chars"`
	Tokens       int           `json:"tokens"`
	BuildTime    time.Duration `json:"build_ns"`
}

// turns keeps the latest turns of each chat and wakes whoever watches them.
type turns struct {
	mu       sync.Mutex
	byChat   map[string]record
	watchers map[chan<- struct{}]struct{}
}

// record is what is known of one chat.
type record struct {
	list  []Turn // newest first; never changed in place
	count int    // of all turns ever recorded
}

func newTurns() turns {
	return turns{byChat: make(map[string]record), watchers: make(map[chan<- struct{}]struct{})}
}

// add keeps the newest turns of a chat; the count goes on, so that a viewer notices a change although
// the length stays the same.
func (t *turns) add(turn Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.byChat[turn.ChatID]
	list := append([]Turn{turn}, old.list[:min(len(old.list), maxTurns-1)]...)
	t.byChat[turn.ChatID] = record{list: list, count: old.count + 1}
	for w := range t.watchers {
		wake(w)
	}
}

func (t *turns) of(chatID string) record {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byChat[chatID]
	return record{list: slices.Clip(r.list), count: r.count}
}

// watch wakes w at every turn until forget is called.
func (t *turns) watch(w chan<- struct{}) (forget func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers[w] = struct{}{}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.watchers, w)
	}
}

// wake leaves a note in a channel of capacity 1; one is enough.
func wake(w chan<- struct{}) {
	select {
	case w <- struct{}{}:
	default:
	}
}
