package feishusim

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxRequest limits a request body; the largest legal one is an upload of 30 MB.
const maxRequest = 40 << 20

// maxBodyRecord is how much of a request's body Call keeps.
const maxBodyRecord = 2 << 10

// request is one HTTP request on its way through the gateway. Its body is read completely beforehand, because faults,
// records and handlers all need it.
type request struct {
	*http.Request
	number int
	at     time.Time
	logID  string
	body   []byte
	rec    *records
}

// violate records a breach of a rule that does not by itself refuse the request.
func (q *request) violate(rule Rule, format string, args ...any) {
	q.rec.violate(rule, q.number, format, args...)
}

// abandoned reports whether the client has hung up, or does so within a second. The client of an abandoned call sends
// the next one for the same card without waiting for an answer, and the platform may handle the two in any order.
func (q *request) abandoned() bool { return !sleep(time.Second, q.Context().Done()) }

// decode reads the JSON body into v.
func (q *request) decode(v any) *refusal {
	if err := json.Unmarshal(q.body, v); err != nil {
		return refuse(RuleField, codeNotJSON, "invalid parameter type in json: %v", err)
	}
	return nil
}

// members are the names in the body, sorted: members of a JSON object, or fields of a form.
func (q *request) members() (names []string) {
	kind, params, _ := mime.ParseMediaType(q.Header.Get("Content-Type"))
	switch kind {
	case "application/json":
		var body map[string]json.RawMessage
		_ = json.Unmarshal(q.body, &body) // a body that is not an object has no members
		names = slices.Collect(maps.Keys(body))
	case "multipart/form-data":
		form := multipart.NewReader(bytes.NewReader(q.body), params["boundary"])
		for part, err := form.NextPart(); err == nil; part, err = form.NextPart() {
			names = append(names, part.FormName())
		}
	}
	slices.Sort(names)
	return names
}

// refusal is an error of the platform's envelope. An empty rule means that it is not the client's fault.
type refusal struct {
	rule Rule
	code int
	msg  string
}

func (f *refusal) Error() string { return fmt.Sprintf("%d %s", f.code, f.msg) }

func refuse(rule Rule, code int, format string, args ...any) *refusal {
	return &refusal{rule: rule, code: code, msg: fmt.Sprintf(format, args...)}
}

// reply is an answer before it is written.
type reply struct {
	status int
	code   int
	msg    string
	fields map[string]any // members of the envelope beside code and msg
	header http.Header
	raw    []byte // instead of the envelope
	rule   Rule   // breached, if any
	reset  bool   // cut the connection
	taken  bool   // the handler has written to the connection itself
}

// done is the usual answer: data in the envelope.
func done(data any) reply {
	return reply{status: http.StatusOK, msg: "success", fields: map[string]any{"data": data}}
}

func refused(f *refusal) reply {
	return reply{status: statusOf(f.code), code: f.code, msg: f.msg, rule: f.rule, header: http.Header{}}
}

// route is one API of the platform.
type route struct {
	pattern string // as in http.ServeMux
	open    bool   // needs no token
	secret  bool   // its body must not be recorded
	serve   func(http.ResponseWriter, *request) reply
}

// api makes a route whose handler answers with data or a refusal.
func api(pattern string, f func(*request) (any, *refusal)) route {
	return route{pattern: pattern, serve: func(_ http.ResponseWriter, q *request) reply {
		data, bad := f(q)
		if bad != nil {
			return refused(bad)
		}
		return done(data)
	}}
}

// gateway is in front of all APIs: it handles faults, tokens, the app's rate limit, the envelope and the records.
type gateway struct {
	limits Limits
	behind time.Duration // the platform's clock
	auth   *auth
	page   *console
	rec    *records
	faults *faults
	limit  *limiter

	mu     sync.Mutex
	onCard map[string][]*cardCall // running requests per card entity
}

// handler reads the request, takes a fault for it, and records it in any case: tests look at refused and broken calls,
// too.
func (g *gateway) handler(rt route) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q := &request{Request: r, number: g.rec.nextCall(), at: time.Now(), rec: g.rec}
		q.logID = q.at.Format("20060102150405") + strings.ToUpper(randomHex(9))
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
		q.body = body
		f := g.faults.faultFor(r)
		rep := reply{reset: true}
		if err == nil {
			leave := g.enterCard(q)
			rep = g.answer(w, q, rt, f)
			leave()
		}
		g.record(q, rt, rep, f != nil)
		g.write(w, q, rep)
	}
}

// cardCall is a running request on a card entity.
type cardCall struct {
	client  context.Context
	watched bool          // another call is waiting for the end of this one; guarded by gateway.mu
	left    chan struct{} // closed when the call is over
	gaveUp  bool          // whether its client had gone by then; set before left is closed
}

// giveUpDelay is how much later than the client's next call the server may notice that a client has hung up.
const giveUpDelay = time.Second

// abandoned reports whether the client of a running call has given it up, or is dead.
func (c *cardCall) abandoned() bool {
	select {
	case <-c.left:
	case <-c.client.Done():
	case <-time.After(giveUpDelay):
	}
	select {
	case <-c.left: // its context is done in any case
		return c.gaveUp
	default:
		return c.client.Err() != nil
	}
}

// enterCard records the request on its card entity: calls on one card must not overlap, because their order decides
// whether the sequence increases (doc: cardkit-v1/streaming-updates-openapi-overview). An abandoned request may still
// be running here although its client has already sent the next one.
func (g *gateway) enterCard(q *request) (leave func()) {
	card := q.PathValue("card_id")
	if card == "" {
		return func() {}
	}
	c := &cardCall{client: q.Context(), left: make(chan struct{})}
	g.mu.Lock()
	others := slices.Clone(g.onCard[card])
	for _, other := range others {
		other.watched = true
	}
	g.onCard[card] = append(g.onCard[card], c)
	g.mu.Unlock()
	others = slices.DeleteFunc(others, (*cardCall).abandoned)
	if len(others) > 0 {
		q.violate(RuleParallel, "%d calls on card %s at the same time", len(others)+1, card)
	}
	return func() { g.leaveCard(card, c) }
}

// leaveCard ends a call on a card.
func (g *gateway) leaveCard(card string, c *cardCall) {
	g.mu.Lock()
	g.onCard[card] = slices.DeleteFunc(g.onCard[card], func(other *cardCall) bool { return other == c })
	if len(g.onCard[card]) == 0 {
		delete(g.onCard, card)
	}
	watched := c.watched
	g.mu.Unlock()
	if watched {
		select {
		case <-c.client.Done():
		case <-time.After(giveUpDelay):
		}
	}
	c.gaveUp = c.client.Err() != nil
	close(c.left)
}

// answer does the work, around the fault f if there is one.
func (g *gateway) answer(w http.ResponseWriter, q *request, rt route, f *Fault) reply {
	if f == nil {
		return g.admit(w, q, rt)
	}
	if f.Revoke {
		g.auth.ExpireTokens()
	}
	var rep reply
	if f.Apply {
		rep = g.admit(w, q, rt)
	}
	// The client hung up during the delay, so nobody reads an answer.
	if f.Delay > 0 && !sleep(f.Delay, q.Context().Done()) {
		return reply{reset: true}
	}
	switch {
	case rep.taken:
		return rep
	case f.breaks():
		return f.reply()
	case f.Apply:
		return rep
	}
	return g.admit(w, q, rt)
}

// admit checks token, permissions and rate, then serves the request.
func (g *gateway) admit(w http.ResponseWriter, q *request, rt route) reply {
	if rt.open {
		return rt.serve(w, q)
	}
	if bad := g.auth.check(q.Header.Get("Authorization"), time.Now()); bad != nil {
		return refused(bad)
	}
	if bad := g.page.need(scopesFor(rt.pattern)); bad != nil {
		return refused(bad)
	}
	wait, ok := g.limit.allow(time.Now(), // doc: api-call-guide/frequency-control, each API has its own quota
		quota{rt.pattern + " 1s", g.limits.AppPerSecond, time.Second},
		quota{rt.pattern + " 1m", g.limits.AppPerMinute, time.Minute})
	if !ok {
		rep := refused(refuse(RuleRate, codeTooFrequent, "request trigger frequency limit"))
		rep.header.Set(headerRateReset, fmt.Sprint(int((wait+time.Second-1)/time.Second)))
		rep.header.Set("x-ogw-ratelimit-limit", fmt.Sprint(g.limits.AppPerSecond))
		return rep
	}
	return rt.serve(w, q)
}

func (g *gateway) record(q *request, rt route, rep reply, faulty bool) {
	c := Call{Number: q.number, At: q.at, Method: q.Method, Path: q.URL.Path, Query: q.URL.RawQuery, Route: rt.pattern,
		Status: rep.status, Code: rep.code, Latency: time.Since(q.at), Faulty: faulty}
	// The client of a cut connection sees neither status nor code.
	if rep.reset {
		c.Status, c.Code = 0, 0
	}
	if !rt.secret {
		c.Members = q.members()
	}
	if !rt.secret && strings.HasPrefix(q.Header.Get("Content-Type"), "application/json") {
		c.Body = string(q.body[:min(len(q.body), maxBodyRecord)])
	}
	if rep.rule != "" && !(rep.rule == RuleSequence && q.abandoned()) {
		q.violate(rep.rule, "%s %s: %d %s", q.Method, q.URL.Path, rep.code, rep.msg)
	}
	g.rec.addCall(c)
}

func (g *gateway) write(w http.ResponseWriter, q *request, rep reply) {
	if rep.taken {
		return
	}
	if rep.reset {
		cut(w)
		return
	}
	h := w.Header()
	for k, v := range rep.header {
		h[k] = v
	}
	h.Set("Date", time.Now().Add(-g.behind).UTC().Format(http.TimeFormat))
	h.Set("X-Tt-Logid", q.logID)
	h.Set("X-Request-Id", q.logID)
	raw := rep.raw
	if raw == nil {
		h.Set("Content-Type", "application/json; charset=utf-8")
		raw = envelope(q, rep)
	}
	w.WriteHeader(rep.status)
	_, _ = w.Write(raw) // if the client has gone, the record still has the answer
}

// envelope writes the usual form of an answer: code, msg, and data or the API's own members. Errors carry a log ID, by
// which the platform's support finds a call.
func envelope(q *request, rep reply) []byte {
	out := map[string]any{"code": rep.code, "msg": rep.msg}
	for k, v := range rep.fields {
		out[k] = v
	}
	if rep.code != 0 {
		out["error"] = map[string]any{
			"log_id": q.logID, "troubleshooter": "https://open.feishu.cn/search?log_id=" + q.logID,
		}
	}
	return mustJSON(out)
}

// cut ends the TCP connection with a reset, which the client sees as an unknown outcome: the request
// may have been applied.
func cut(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // reset instead of a clean end; the close below ends it in any case
	}
	_ = c.Close()
}
