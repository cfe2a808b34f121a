package api

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"magpie/internal/chat"
)

// A terminal that is not connected is expected back for a while, also after a restart of the service. What is asked of no
// terminal can be decided by any.
func TestWhoCanBeAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h hub
		began := time.Now()
		key := chat.Key{Channel: chat.Terminal, Kind: "chat", ID: "main"}
		a, b := watcher{key, uuid.NewString()}, watcher{key, uuid.NewString()}
		is := func(what string, w watcher, want error) {
			t.Helper()
			if err := h.reaches(w, began); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		is("who has not come back yet", a, errNobody)
		time.Sleep(grace + 1)
		is("who has not come back", a, chat.ErrUnreachable)
		_, leave := h.watch(key, a.terminal)
		_, other := h.watch(key, b.terminal)
		is("who is there", a, nil)
		leave()
		is("who has just gone", a, errNobody)
		is("another", b, nil)
		is("any", watcher{key: key}, nil)
		time.Sleep(grace + 1)
		is("who has gone", a, chat.ErrUnreachable)
		is("another", b, nil)
		other()
		is("any", watcher{key: key}, errNobody)
		if len(h.left) != 2 {
			t.Errorf("kept is %v", h.left)
		}
		time.Sleep(grace + 1)
		is("any", watcher{key: key}, chat.ErrUnreachable)
	})
}
