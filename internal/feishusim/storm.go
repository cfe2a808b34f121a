package feishusim

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Weather is a typical bad day of the platform: frequency limits of the app and of a chat; a failing server; a
// gateway's page instead of an answer; an answer lost before or after the work was done; a slow answer; revoked tokens.
func Weather() []Fault {
	return []Fault{
		{Code: codeTooFrequent, Msg: "request trigger frequency limit"},
		{Code: codeChatFrequency, Msg: "trigger frequency limit"},
		{Status: http.StatusInternalServerError, Body: `{"code":2200,"msg":"internal error"}`},
		{Status: http.StatusServiceUnavailable},
		{Status: http.StatusBadGateway, Body: "<html>bad gateway</html>"},
		{Reset: true},
		{Reset: true, Apply: true},
		{Delay: 5 * time.Second, Apply: true},
		{Revoke: true},
	}
}

// storm makes requests fail at random.
type storm struct {
	rate  float64
	kinds []Fault

	mu    sync.Mutex
	dice  *rand.Rand
	dealt int
}

// Storm makes random API requests fail, among those that match one of the kinds. rate is the fraction that fails,
// between 0 and 1, and all kinds are equally likely. Without kinds it is [Weather]. A kind's Times is ignored, its
// Delay is a maximum. The random numbers are seeded; which request gets which fault depends on the order of the
// requests. stop ends the storm and returns how many faults it has caused. An injected fault takes precedence.
func (fs *faults) Storm(seed uint64, rate float64, kinds ...Fault) (stop func() (dealt int)) {
	if len(kinds) == 0 {
		kinds = Weather()
	}
	for i := range kinds {
		if kinds[i].Path == "" {
			kinds[i].Path = "/open-apis/"
		}
	}
	// PCG with a fixed seed makes the sequence of faults repeatable.
	s := &storm{rate: rate, kinds: kinds, dice: rand.New(rand.NewPCG(seed, 0))}
	fs.mu.Lock()
	fs.storm = s
	fs.mu.Unlock()
	return func() int {
		fs.mu.Lock()
		if fs.storm == s {
			fs.storm = nil
		}
		fs.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.dealt
	}
}

// Dealt returns how many faults the current storm has caused so far. A test that expects faults can
// wait for a number of them.
func (fs *faults) Dealt() int {
	fs.mu.Lock()
	s := fs.storm
	fs.mu.Unlock()
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dealt
}

// faultFor returns the fault for r, or nil.
func (s *storm) faultFor(r *http.Request) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dice.Float64() >= s.rate {
		return nil
	}
	// A copy: its Delay is changed below.
	f := s.kinds[s.dice.IntN(len(s.kinds))]
	if !f.matches(r) {
		return nil
	}
	if f.Delay > 0 {
		f.Delay = time.Duration(s.dice.Int64N(int64(f.Delay)))
	}
	s.dealt++
	return &f
}
