package feishusim

import (
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Fault makes matching requests fail. Without Status, Code, Body and Reset the request is only delayed.
type Fault struct {
	Method string        // "" matches every method
	Path   string        // prefix; with a * a pattern over the whole path as in path.Match; "" matches every path
	Times  int           // how many requests it affects; 0: all
	Delay  time.Duration // wait: before the work, or with Apply after it; ends when the client hangs up
	Status int           // HTTP status of the answer; 0: that of Code, or 500
	Code   int           // code in the envelope
	Msg    string
	Body   string // an answer that is not JSON, e.g. a gateway's HTML page
	Apply  bool   // do the work, then fail the answer
	Reset  bool   // cut the TCP connection instead of answering
	Revoke bool   // revoke all tokens first

	RetryAfter time.Duration // of the frequency limit, in whole seconds; default 1s
}

// matches reports whether the fault applies to a request. A path without a star is a prefix, so that a fault can affect
// a whole API.
func (f *Fault) matches(r *http.Request) bool {
	if f.Method != "" && f.Method != r.Method {
		return false
	}
	if strings.Contains(f.Path, "*") {
		ok, err := path.Match(f.Path, r.URL.Path)
		return ok && err == nil
	}
	return strings.HasPrefix(r.URL.Path, f.Path)
}

// breaks reports whether the fault replaces the answer, not only delays it.
func (f *Fault) breaks() bool {
	return f.Reset || f.Body != "" || f.Status != 0 || f.Code != 0
}

// reply is the broken answer. Without a status it has the one that the platform sends with the code; the frequency
// limit also says when to retry.
func (f *Fault) reply() reply {
	rep := reply{status: f.Status, code: f.Code, msg: f.Msg, reset: f.Reset, header: http.Header{}}
	if f.Body != "" {
		rep.header.Set("Content-Type", "text/html; charset=utf-8")
		rep.raw = []byte(f.Body)
	}
	if rep.status == 0 {
		rep.status = http.StatusInternalServerError
		if f.Code != 0 {
			rep.status = statusOf(f.Code)
		}
	}
	if f.Code == codeTooFrequent {
		rep.header.Set(headerRateReset, strconv.Itoa(max(1, int(f.RetryAfter/time.Second))))
	}
	return rep
}

// faults holds the injected faults, newest first.
type faults struct {
	mu    sync.Mutex
	list  []*injected
	storm *storm // nil: none
}

type injected struct {
	Fault
	left int // remaining requests; negative: all
}

// Inject makes requests that match f fail until f.Times are used up or remove is called. The newest matching fault
// wins.
func (fs *faults) Inject(f Fault) (remove func()) {
	in := &injected{Fault: f, left: f.Times}
	if f.Times == 0 {
		in.left = -1
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.list = slices.Insert(fs.list, 0, in)
	return func() {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		fs.list = slices.DeleteFunc(fs.list, func(x *injected) bool { return x == in })
	}
}

// Unplug disconnects the platform, as a broken network does: all long connections end, and every call is cut off, until
// plug is called. The bot can fetch the messages sent meanwhile afterwards.
func (s *Server) Unplug() (plug func()) {
	plug = s.Inject(Fault{Reset: true})
	s.DropConnections(true)
	return plug
}

// faultFor returns the fault for r, or nil, and counts it as used.
func (fs *faults) faultFor(r *http.Request) *Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, in := range fs.list {
		if in.left == 0 || !in.matches(r) {
			continue
		}
		if in.left > 0 {
			in.left--
		}
		return &in.Fault
	}
	if fs.storm != nil {
		return fs.storm.faultFor(r)
	}
	return nil
}
