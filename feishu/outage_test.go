package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// openCircuit calls a platform that is down until calls fail without a request.
func (p *platform) openCircuit(c *Client) {
	p.t.Helper()
	for !c.CircuitOpen() {
		if _, err := c.api.Call(p.ctx(),
			openapi.Request{Op: "x", Method: http.MethodGet, Path: "/open-apis/x"}); err == nil {
			p.t.Fatal("the platform answers")
		}
	}
}

func TestFewCallsDuringAnOutage(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	const (
		cards    = 6
		failures = 5 // that open the circuit
		rest     = 500 * time.Millisecond
	)
	p.Client = p.configured(Config{CircuitTimeout: rest})
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
					t.Error("drawn while the platform is down")
				}
			}
		})
	}
	p.must(awaitStatus(p, func(s Status) bool { return s.CircuitOpen }))
	time.AfterFunc(4*rest, end)
	painters.Wait()
	took := time.Since(began)
	// Before the circuit opens: the failures that open it, and the calls that were under way. Then one trial call per
	// pause.
	most := failures + cards + int(took/rest)
	if n := len(p.Calls()) - before; n > most {
		t.Errorf("%d calls in %v, want %d at most", n, took, most)
	}
	if s := p.Status(); !p.CircuitOpen() || !s.CircuitOpen || s.Calls.Unknown == 0 {
		t.Errorf("status %+v", s)
	}
	patient := p.configured(Config{CircuitTimeout: time.Hour}) // else a call may become the trial
	p.openCircuit(patient)
	opened := time.Now()
	if err := patient.Close(p.ctx(), ids[0], chat.Card{Body: "done"}); !errors.Is(err, openapi.ErrCircuitOpen) {
		t.Errorf("Close: %v", err)
	}
	for _, c := range p.Calls() {
		if c.At.After(opened) {
			t.Errorf("called %s", c.Path)
		}
	}
	p.openCircuit(p.Client)
	remove()
	for _, id := range ids {
		p.must(deliver(p.ctx(), func() error { return p.Client.Close(p.ctx(), id, chat.Card{Body: "done"}) }))
	}
	if p.CircuitOpen() {
		t.Error("still open although the platform answers")
	}
	p.checkText(ask, strings.Repeat("done ", cards))
	p.clean()
}

func TestAConnectionClosesTheCircuit(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	remove := p.Inject(feishusim.Fault{Path: "/open-apis/", Status: 502, Body: "<html>"})
	p.openCircuit(p.Client)
	remove()
	p.state.update(func(now *Status) { now.BotOpenID = p.BotOpenID() })
	p.run(newRecorder())
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected && !s.CircuitOpen }))
}
