package feishu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func TestGate(t *testing.T) {
	silent := &Error{Op: "x", Status: 502}
	tests := []struct {
		name string
		err  error
		shut bool
	}{
		{"a server that fails", silent, true},
		{"a gateway's page", &Error{Op: "x", Status: 404, Msg: "the answer is not JSON"}, true},
		{"no answer in time", &Error{Op: "x", Err: context.DeadlineExceeded}, true},
		{"refused", &Error{Op: "x", Code: 230001, Status: 400}, false},
		{"too many calls", &Error{Op: "x", Code: 99991400, Status: 429}, false},
		{"given up by the caller", context.Canceled, false},
		{"no time left for the caller", context.DeadlineExceeded, false},
		{"done", nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g := newBreaker(nopLogger, 0)
			for range mostFailures {
				if g.away() || g.isOpen() {
					t.Error("shut too early")
				}
				if _, err := g.do("x", func() (gjson.Result, error) { return gjson.Result{}, tt.err }); !errors.Is(err, tt.err) {
					t.Errorf("error %v", err)
				}
			}
			if g.away() != tt.shut || g.isOpen() != tt.shut {
				t.Errorf("away %v, shut %v", g.away(), g.isOpen())
			}
		})
	}
}

// restFor sets how long the breaker stays shut.
func (g *breaker) restFor(d time.Duration) {
	g.rest = d
	g.breaker = g.fresh()
}

// fail makes the breaker's next calls fail.
func (g *breaker) fail(n int) {
	for range n {
		_, _ = g.do("x", func() (gjson.Result, error) { return gjson.Result{}, &Error{Op: "x", Status: 502} })
	}
}

func TestOneCallTriesWhetherThePlatformIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &syncBuffer{}
		g := newBreaker(zerolog.New(log), 0)
		g.fail(mostFailures - 1)
		_, _ = g.do("x", func() (gjson.Result, error) { return gjson.Result{}, nil })
		g.fail(mostFailures - 1)
		if g.away() {
			t.Error("failures that do not follow each other count together")
		}
		g.fail(1)
		began := time.Now()
		_, err := g.do("draw", func() (gjson.Result, error) { t.Error("called"); return gjson.Result{}, nil })
		if !errors.Is(err, errAway) || verdictOf(err) != away || !strings.HasPrefix(err.Error(), "feishu: draw: ") {
			t.Errorf("error %v", err)
		}
		for _, back := range []bool{false, false, true} {
			if err := g.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			var tries int
			var calls sync.WaitGroup
			for range 20 {
				calls.Go(func() {
					_, _ = g.do("x", func() (gjson.Result, error) {
						tries++
						time.Sleep(time.Second)
						if back {
							return gjson.Result{}, nil
						}
						return gjson.Result{}, &Error{Op: "x", Status: 502}
					})
				})
			}
			calls.Wait()
			if tries != 1 {
				t.Errorf("%d tries at once", tries)
			}
		}
		if took := time.Since(began); took < 3*gateRest || took > 3*gateRest+5*time.Second {
			t.Errorf("three tries took %v", took)
		}
		if g.away() || g.isOpen() {
			t.Error("away though it answers")
		}
		if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "answers again") {
			t.Errorf("log of one outage: %s", log)
		}
	})
}

func TestNobodyHammersAPlatformThatIsAway(t *testing.T) {
	p, ask := asked(t, feishusim.Config{})
	p.api.breaker.restFor(500 * time.Millisecond)
	const cards = 6
	var ids [cards]string
	for i := range cards {
		var err error
		ids[i], err = p.Client.Post(p.ctx(), ask, chat.Card{Live: true, Status: "on it"}, fmt.Sprint(i))
		p.must(err)
	}
	remove := p.Inject(feishusim.Fault{Path: "/open-apis/", Status: 502, Body: "<html>"})
	before, began := len(p.Calls()), time.Now()
	outage, end := context.WithCancel(p.ctx())
	defer end()
	var painters sync.WaitGroup
	for i := range cards {
		painters.Go(func() {
			for n := 0; p.Ready(outage, ids[i]) == nil; n++ {
				if p.Edit(outage, ids[i], chat.Card{Live: true, Body: fmt.Sprint("picture ", n)}) == nil {
					t.Error("drawn on a platform that is away")
				}
			}
		})
	}
	p.must(awaitStatus(p, func(s Status) bool { return s.Away }))
	time.AfterFunc(4*p.api.breaker.rest, end)
	painters.Wait()
	took := time.Since(began)
	// Until it is known: the failures that it takes, and what was on its way. Then one try after each rest.
	most := mostFailures + cards + int(took/p.api.breaker.rest)
	if n := len(p.Calls()) - before; n > most {
		t.Errorf("%d calls in %v, want %d at most", n, took, most)
	}
	if s := p.Status(); !p.Away() || !s.Away || s.Calls.Unknown == 0 {
		t.Errorf("status %+v", s)
	}
	p.api.breaker.restFor(time.Hour) // else one call may just try again
	p.api.breaker.fail(mostFailures)
	shut := time.Now()
	if err := p.Client.Close(p.ctx(), ids[0], chat.Card{Body: "done"}); !errors.Is(err, errAway) {
		t.Errorf("Close: %v", err)
	}
	for _, c := range p.Calls() {
		if c.At.After(shut) {
			t.Errorf("called %s", c.Path)
		}
	}
	remove()
	p.api.breaker.restFor(500 * time.Millisecond)
	p.api.breaker.fail(mostFailures)
	for _, id := range ids {
		p.must(deliver(p.ctx(), func() error { return p.Client.Close(p.ctx(), id, chat.Card{Body: "done"}) }))
	}
	if p.Away() {
		t.Error("away though it answers")
	}
	p.says(ask, strings.Repeat("done ", cards))
	p.clean()
}

func TestAConnectionOpensTheGate(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.api.breaker.fail(mostFailures)
	p.state.change(func(now *Status) { now.BotOpenID = p.BotOpenID() })
	p.run(newRecorder())
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected && !s.Away }))
}
