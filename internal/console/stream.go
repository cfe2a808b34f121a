package console

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	pace      = 50 * time.Millisecond // between two updates: at most 20 a second
	heartbeat = 15 * time.Second      // a line that shows both sides that the other one is alive
	slowest   = 10 * time.Second      // timeout for a page that does not read
)

// events streams the state: at once, and the newest one after changes. Changes while a page is slow are combined into
// one update.
func (p *Playground) events(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithCancel(r.Context())
	// Room for one: several changes while the page is slow become one update.
	changed := make(chan struct{}, 1)
	forget := p.turns.watch(changed)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for range p.cfg.Sim.Changes(ctx) {
			wake(changed)
		}
	})
	defer watcher.Wait()
	defer cancel()
	defer forget()

	out := newStream(w)
	// The browser reconnects a second after a lost connection.
	if out.write("retry: 1000\n\n") != nil {
		return
	}
	for sent := newSentState(); ; {
		if out.writeEvent(p.snapshot(sent)) != nil || !out.waitForUpdate(ctx, changed) {
			return
		}
	}
}

// stream is the page's end of an event stream.
type stream struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

func newStream(w http.ResponseWriter) stream {
	w.Header().Set("Content-Type", "text/event-stream")
	return stream{w: w, rc: http.NewResponseController(w)}
}

func (s stream) writeEvent(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode the state: %w", err)
	}
	return s.write("data: " + string(data) + "\n\n")
}

// write sends text now, or fails if the page does not read.
func (s stream) write(text string) error {
	if err := s.rc.SetWriteDeadline(time.Now().Add(slowest)); err != nil {
		return err
	}
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.rc.Flush()
}

// waitForUpdate waits until the pace allows an update and there is something to send. It returns false when the page is
// gone.
func (s stream) waitForUpdate(ctx context.Context, changed <-chan struct{}) bool {
	select {
	case <-time.After(pace):
	case <-ctx.Done():
		return false
	}
	// An occasional comment reveals a dead connection, which would otherwise be noticed at the next change.
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		select {
		case <-changed:
			return ctx.Err() == nil
		case <-ctx.Done():
			return false
		case <-beat.C:
			if s.write(": here\n\n") != nil {
				return false
			}
		}
	}
}
