package openapi

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

func TestBreaker(t *testing.T) {
	silent := &Error{Op: "x", Status: 502}
	tests := []struct {
		name string
		err  error
		open bool
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
			g := newBreaker(zerolog.Nop(), 0)
			for range maxFailures {
				if g.isTripped() || g.isOpen() {
					t.Error("open too early")
				}
				if _, err := g.do("x", func() (gjson.Result, error) { return gjson.Result{}, tt.err }); !errors.Is(err,
					tt.err) {
					t.Errorf("error %v", err)
				}
			}
			if g.isTripped() != tt.open || g.isOpen() != tt.open {
				t.Errorf("away %v, open %v", g.isTripped(), g.isOpen())
			}
		})
	}
}

// fail makes the breaker's next calls fail.
func (g *breaker) fail(n int) {
	for range n {
		_, _ = g.do("x", func() (gjson.Result, error) { return gjson.Result{}, &Error{Op: "x", Status: 502} })
	}
}

func TestOneCallTriesWhetherThePlatformIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &bytes.Buffer{}
		g := newBreaker(zerolog.New(log), 0)
		g.fail(maxFailures - 1)
		_, _ = g.do("x", func() (gjson.Result, error) { return gjson.Result{}, nil })
		g.fail(maxFailures - 1)
		if g.isTripped() {
			t.Error("failures that are not consecutive add up")
		}
		g.fail(1)
		began := time.Now()
		_, err := g.do("draw", func() (gjson.Result, error) { t.Error("called"); return gjson.Result{}, nil })
		if !errors.Is(err, ErrCircuitOpen) || ClassOf(err) != CircuitOpen ||
			!strings.HasPrefix(err.Error(), "feishu: draw: ") {
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
				t.Errorf("%d trials at a time", tries)
			}
		}
		if took := time.Since(began); took < 3*breakerTimeout || took > 3*breakerTimeout+5*time.Second {
			t.Errorf("three trials took %v", took)
		}
		if g.isTripped() || g.isOpen() {
			t.Error("open although the platform answers")
		}
		if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "responding again") {
			t.Errorf("log of one outage: %s", log)
		}
	})
}
