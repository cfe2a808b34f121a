// Package httpdrain waits for the handlers of a server that was closed, which [http.Server.Close] does not.
//
// It does not shut the server down.
package httpdrain

import (
	"net/http"
	"sync"
)

// Handlers counts running handlers. Its zero value is ready to use.
type Handlers struct {
	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// Wrap returns a handler whose calls are counted. Requests after [Handlers.Wait] was called are aborted.
func (hs *Handlers) Wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hs.mu.Lock()
		if hs.closed {
			hs.mu.Unlock()
			panic(http.ErrAbortHandler)
		}
		hs.work.Add(1)
		hs.mu.Unlock()
		defer hs.work.Done()
		h.ServeHTTP(w, r)
	})
}

// Wait aborts new requests and waits for the running ones.
func (hs *Handlers) Wait() {
	hs.mu.Lock()
	hs.closed = true
	hs.mu.Unlock()
	hs.work.Wait()
}
