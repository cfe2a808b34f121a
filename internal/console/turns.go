package console

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// maxTurns is how many turns of a chat are kept for the panel.
const maxTurns = 50

// Turn is one built context, for the panel.
type Turn struct {
	ChatID       string    `json:"-"`
	Turn         int64     `json:"turn"`
	At           time.Time `json:"at"`
	Resume       string    `json:"resume"` // ID of the resumed session; empty = none
	Live         bool      `json:"live"`   // the process is alive, and nothing else was needed
	Lost         string    `json:"lost"`   // why a session was given up; empty = it was not
	Prefix       string    `json:"prefix"` // history prefix as sent; empty = none
	Question     string    `json:"question"`
	Messages     int       `json:"messages"`
	UserMessages int       `json:"user_messages"`
	Chars        int       `json:"chars"`
	Tokens       int       `json:"tokens"`
	Sent         *Sent     `json:"sent,omitempty"` // nil = unknown
}

// Sent is the agent's latest request to the model for a turn.
type Sent struct {
	Requests int           `json:"requests"` // so far
	System   int           `json:"system"`   // characters of the system prompt
	Tools    int           `json:"tools"`    // number of offered tools
	Messages []SentMessage `json:"messages"` // the newest ones, oldest first
	Left     int           `json:"left"`     // messages before these
}

// SentMessage is one message of a request.
type SentMessage struct {
	Role   string `json:"role"`
	Text   string `json:"text"`             // shortened; empty for the prompt, which the turn has
	Prompt bool   `json:"prompt,omitempty"` // it is the turn's history prefix and question
}

// maxSent is the number of turns of a chat whose requests are kept.
const maxSent = 6

// turns keeps the latest turns of each chat and notifies watchers.
type turns struct {
	mu       sync.Mutex
	byChat   map[string]record
	early    *simplelru.LRU[string, Sent] // requests that came before their turn, by prompt
	watchers map[chan<- struct{}]struct{}
}

// record has the data of one chat.
type record struct {
	list  []Turn // newest first; never changed in place
	count int    // of all turns ever recorded
}

func newTurns() turns {
	early, _ := simplelru.NewLRU[string, Sent](maxSent, nil) // fails only for sizes below 1
	return turns{byChat: make(map[string]record), early: early, watchers: make(map[chan<- struct{}]struct{})}
}

// addTurn keeps the newest turns of a chat; the count keeps growing, so that a viewer notices a change although the
// length stays the same.
func (t *turns) addTurn(turn Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.byChat[turn.ChatID]
	if s, ok := t.early.Get(turn.prompt()); ok {
		turn.Sent = &s
		t.early.Purge()
	}
	if len(old.list) >= maxSent {
		old.list = slices.Clone(old.list)
		old.list[maxSent-1].Sent = nil
	}
	list := append([]Turn{turn}, old.list[:min(len(old.list), maxTurns-1)]...)
	t.byChat[turn.ChatID] = record{list: list, count: old.count + 1}
	t.wakeLocked()
}

// prompt is what the agent was sent for the turn.
func (t Turn) prompt() string { return strings.TrimSpace(t.Prefix + t.Question) }

// recordSent records a request with the newest turn that has its prompt. A turn's tools lead to further requests: the
// last one counts.
func (t *turns) recordSent(prompt string, s Sent) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var newest *Turn
	for _, r := range t.byChat {
		i := slices.IndexFunc(r.list, func(turn Turn) bool { return turn.prompt() == strings.TrimSpace(prompt) })
		if i >= 0 && i < maxSent && (newest == nil || r.list[i].At.After(newest.At)) {
			newest = &r.list[i]
		}
	}
	if newest == nil {
		t.early.Add(strings.TrimSpace(prompt), s)
		return
	}
	old := t.byChat[newest.ChatID]
	list := slices.Clone(old.list)
	i := slices.IndexFunc(list, func(turn Turn) bool { return turn.Turn == newest.Turn && turn.At.Equal(newest.At) })
	if before := list[i].Sent; before != nil {
		s.Requests += before.Requests
	}
	list[i].Sent = &s
	t.byChat[newest.ChatID] = record{list: list, count: old.count + 1}
	t.wakeLocked()
}

func (t *turns) wakeLocked() {
	for w := range t.watchers {
		wake(w)
	}
}

// wakeAll wakes all watchers.
func (t *turns) wakeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakeLocked()
}

func (t *turns) recordOf(chatID string) record {
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

// wake puts a signal into a channel of capacity 1; one is enough.
func wake(w chan<- struct{}) {
	select {
	case w <- struct{}{}:
	default:
	}
}
