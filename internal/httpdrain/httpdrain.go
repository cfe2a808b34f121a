// Package httpdrain lets a server that is closed wait for its handlers, which [http.Server.Close] does not.
package httpdrain

import (
	"net/http"
	"sync"
)

// Handlers counts the handlers that are at work. Its zero value is ready to use.
type Handlers struct {
	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// Wrap makes h count. Requests that come after [Handlers.Wait] has begun are broken off.
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

// Wait lets no further request in, and waits for those that are served.
func (hs *Handlers) Wait() {
	hs.mu.Lock()
	hs.closed = true
	hs.mu.Unlock()
	hs.work.Wait()
}
