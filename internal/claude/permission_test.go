package claude

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/stream"
	"magpie/internal/configtype"
)

// stdinRecorder records what is written to a process.
type stdinRecorder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *stdinRecorder) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *stdinRecorder) Close() error { return nil }

func (s *stdinRecorder) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

const askLine = `{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool",` +
	`"tool_name":"Bash","input":{"command":"x"},"tool_use_id":"t1"}}`

// However long people take to decide, that time counts neither as silence of the agent nor towards the limit of the
// turn. Afterwards both clocks run again.
func TestClocksStopWhilePeopleAreAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		limits Config
		want   error
		before time.Duration // until the agent asks
		within time.Duration // from the answer to the end
	}{
		"silence": {Config{Silence: configtype.Duration{Duration: time.Minute},
			TurnLimit: configtype.Duration{Duration: time.Hour}}, ErrSilent, 30 * time.Second, time.Minute},
		"turn": {Config{Silence: configtype.Duration{Duration: 5 * time.Hour},
			TurnLimit: configtype.Duration{Duration: time.Hour}}, ErrTurnEnd, 10 * time.Minute, 50 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			gone := exec.Command("true") // a process without descendants
			if err := gone.Run(); err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				in := &stdinRecorder{}
				p := &Process{child: proctree.New(gone, "", ""), timeouts: newTimeouts(tc.limits), in: stream.NewInput(in)}
				p.out = newOutputRouter(p.in)
				defer func() { p.in.Close(); <-p.in.Done() }()
				r := &run{
					p: p, lines: make(chan []byte), done: make(chan struct{}), open: map[string]bool{},
					asks: newOpenAsks(), stop: stopper{p: p},
				}
				p.out.attach(r)
				defer p.out.detach(r)
				var events []stream.Event
				var end error
				r.yield = func(ev stream.Event, err error) bool {
					if err != nil {
						end = err
						return false
					}
					events = append(events, ev)
					return true
				}
				done := make(chan struct{})
				go func() {
					defer close(done)
					r.loop(context.Background(), nil)
				}()
				time.Sleep(tc.before)
				p.out.deliver([]byte(askLine))
				time.Sleep(100 * time.Hour)
				synctest.Wait()
				if strings.Contains(in.String(), "interrupt") {
					t.Fatal("the turn was stopped while it asked")
				}
				if !p.Answer("r1", stream.Decision{Allow: true, Input: json.RawMessage(`{"command":"x"}`)}) ||
					p.Answer("r1", stream.Decision{}) {
					t.Fatal("not answered exactly once")
				}
				time.Sleep(tc.within - time.Second)
				synctest.Wait()
				if strings.Contains(in.String(), "interrupt") || !strings.Contains(in.String(), `"behavior":"allow"`) {
					t.Fatalf("too early: %s", in)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if !strings.Contains(in.String(), "interrupt") {
					t.Fatal("the clock did not start again")
				}
				p.child.Close()
				<-done
				if !errors.Is(end, tc.want) || len(events) != 2 {
					t.Errorf("ended by %v, events %+v", end, events)
				}
			})
		})
	}
}
