package feishusim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	lark "github.com/larksuite/oapi-sdk-go/v3"
	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
	"go.uber.org/goleak"

	"magpie/internal/leaktest"
)

func TestMain(m *testing.M) {
	// Each websocket client of the SDK leaves its cache's timer behind.
	leaktest.Main(m, goleak.IgnoreAnyFunction("github.com/larksuite/oapi-sdk-go/v3/cache.(*cron).start"))
}

// patience bounds every wait of these tests. A test that passes needs a fraction of it.
const patience = time.Minute

// start starts a platform. By default a slow acknowledgement, as on a busy machine, breaks no rule.
func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	setDefault(&cfg.AckTimeout, patience)
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// await fails the test if cond does not become true.
func await(t *testing.T, s *Server, what string, cond func(*View) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.Await(ctx, cond); err != nil {
		t.Fatalf("await %s: %v\ndeliveries %+v\nviolations %+v", what, err, s.Deliveries(), s.Violations())
	}
}

// refuteViolations fails the test if the client broke a rule other than the allowed ones.
func refuteViolations(t *testing.T, s *Server, allowed ...Rule) {
	t.Helper()
next:
	for _, v := range s.Violations() {
		for _, r := range allowed {
			if v.Rule == r {
				continue next
			}
		}
		t.Errorf("violation of %s: %s", v.Rule, v.Detail)
	}
}

func violated(s *Server, rule Rule) int {
	n := 0
	for _, v := range s.Violations() {
		if v.Rule == rule {
			n++
		}
	}
	return n
}

// silentLogger is a logger without output.
type silentLogger struct{}

func (silentLogger) Debug(context.Context, ...any) {}
func (silentLogger) Info(context.Context, ...any)  {}
func (silentLogger) Warn(context.Context, ...any)  {}
func (silentLogger) Error(context.Context, ...any) {}

// rest is the official SDK's REST client.
type rest struct {
	*lark.Client
	t *testing.T
}

func newRest(t *testing.T, s *Server) *rest {
	tr := &http.Transport{}
	if s.cfg.Pipe != nil {
		tr.DialContext = s.cfg.Pipe.Dial
	}
	t.Cleanup(tr.CloseIdleConnections)
	c := lark.NewClient(s.AppID(), s.AppSecret(), lark.WithOpenBaseUrl(s.URL()), lark.WithLogger(silentLogger{}),
		lark.WithHttpClient(&http.Client{Transport: tr}), lark.WithReqTimeout(patience))
	return &rest{Client: c, t: t}
}

// answer is a raw answer of the API.
type answer struct {
	Code   int            `json:"code"`
	Msg    string         `json:"msg"`
	Data   map[string]any `json:"data"`
	Error  map[string]any `json:"error"`
	Header http.Header    `json:"-"`
	Status int            `json:"-"`
}

// str returns a string of the answer's data.
func (a answer) str(key string) string { return text(a.Data[key]) }

// do makes a raw call. It fails the test if there is no answer.
func (c *rest) do(method, path string, body any, opt ...larkcore.RequestOptionFunc) answer {
	c.t.Helper()
	a, err := c.try(method, path, body, opt...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return a
}

func (c *rest) try(method, path string, body any, opt ...larkcore.RequestOptionFunc) (answer, error) {
	var a answer
	resp, err := c.Do(c.t.Context(), &larkcore.ApiReq{HttpMethod: method, ApiPath: path, Body: body,
		SupportedAccessTokenTypes: []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant}}, opt...)
	if err != nil {
		return a, err
	}
	a.Header, a.Status = resp.Header, resp.StatusCode
	return a, json.Unmarshal(resp.RawBody, &a)
}

// want makes a raw call and checks the code of its answer.
func (c *rest) want(code int, method, path string, body any) answer {
	c.t.Helper()
	a := c.do(method, path, body)
	if a.Code != code {
		c.t.Fatalf("%s %s: code %d %s, want %d", method, path, a.Code, a.Msg, code)
	}
	return a
}

type obj = map[string]any

const (
	pathMessages = "/open-apis/im/v1/messages"
	pathCards    = "/open-apis/cardkit/v1/cards"
)

// send creates a message in a chat and returns its id.
func (c *rest) send(chatID, msgType string, content any) string {
	c.t.Helper()
	return c.want(0, "POST", pathMessages+"?receive_id_type=chat_id",
		obj{"receive_id": chatID, "msg_type": msgType, "content": string(mustJSON(content)),
			"uuid": newUUID()}).str("message_id")
}

// listener is the official SDK's long connection client, with a dispatcher that hands events to functions.
type listener struct {
	*larkws.Client
	dispatcher *dispatcher.EventDispatcher
	ended      chan struct{}
	err        error // of Start, once ended is closed
}

func newDispatcher() *dispatcher.EventDispatcher {
	d := dispatcher.NewEventDispatcher("", "")
	d.InitConfig(larkevent.WithLogger(silentLogger{}))
	d.OnP2MessageReactionCreatedV1(func(context.Context, *larkim.P2MessageReactionCreatedV1) error { return nil })
	d.OnP2MessageReactionDeletedV1(func(context.Context, *larkim.P2MessageReactionDeletedV1) error { return nil })
	return d
}

// listen connects and returns when the connection is up.
func listen(t *testing.T, s *Server, d *dispatcher.EventDispatcher) *listener {
	t.Helper()
	before := s.Connections()
	l := newListener(t, s, s.AppSecret(), d)
	await(t, s, "connection", func(v *View) bool { return v.Connections() > before })
	return l
}

func newListener(t *testing.T, s *Server, secret string, d *dispatcher.EventDispatcher) *listener {
	tr := &http.Transport{}
	l := &listener{dispatcher: d, ended: make(chan struct{})}
	l.Client = larkws.NewClient(s.AppID(), secret, larkws.WithEventHandler(d), larkws.WithDomain(s.URL()),
		larkws.WithLogger(silentLogger{}), larkws.WithHttpClient(&http.Client{Transport: tr, Timeout: patience}))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer close(l.ended)
		l.err = l.Start(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-l.ended
		tr.CloseIdleConnections()
	})
	return l
}

// inbox collects what a handler got.
type inbox[T any] struct {
	mu   sync.Mutex
	all  []T
	more chan struct{}
}

func newInbox[T any]() *inbox[T] { return &inbox[T]{more: make(chan struct{}, 1000)} }

func (b *inbox[T]) put(v T) {
	b.mu.Lock()
	b.all = append(b.all, v)
	b.mu.Unlock()
	b.more <- struct{}{}
}

// next waits for n things in all and returns them.
func (b *inbox[T]) next(t *testing.T, n int) []T {
	t.Helper()
	timeout := time.After(patience)
	for {
		b.mu.Lock()
		all := b.all
		b.mu.Unlock()
		if len(all) >= n {
			return all
		}
		select {
		case <-b.more:
		case <-timeout:
			t.Fatalf("got %d things, want %d", len(all), n)
		}
	}
}

// receiver makes a dispatcher that collects messages and answers each with fail's error.
func receiver(fail func(nth int) error) (*dispatcher.EventDispatcher, *inbox[*larkim.P2MessageReceiveV1]) {
	in := newInbox[*larkim.P2MessageReceiveV1]()
	var mu sync.Mutex
	n := 0
	d := newDispatcher().OnP2MessageReceiveV1(func(_ context.Context, ev *larkim.P2MessageReceiveV1) error {
		mu.Lock()
		n++
		nth := n
		mu.Unlock()
		in.put(ev)
		if fail == nil {
			return nil
		}
		return fail(nth)
	})
	return d, in
}

var errHandler = errors.New("the handler wants it again")

// card is a minimal card of schema 2.0 with these elements.
func card(streaming bool, elements ...any) obj {
	return obj{
		"schema": "2.0", "config": obj{"streaming_mode": streaming, "update_multi": true},
		"body": obj{"elements": elements},
	}
}

func markdown(id, md string) obj { return obj{"tag": "markdown", "element_id": id, "content": md} }

func button(label string, value any) obj {
	return obj{"tag": "button", "text": obj{"tag": "plain_text", "content": label},
		"behaviors": []any{obj{"type": "callback", "value": value}}}
}

// kit drives one card entity.
type kit struct {
	*rest
	id  string
	seq int
}

func (c *rest) newCard(root obj) *kit {
	c.t.Helper()
	a := c.want(0, "POST", pathCards, obj{"type": "card_json", "data": string(mustJSON(root))})
	return &kit{rest: c, id: a.str("card_id")}
}

// op makes the next operation on the card and checks its code.
func (k *kit) op(code int, method, path string, body obj) answer {
	k.t.Helper()
	k.seq++
	body["sequence"] = k.seq
	return k.want(code, method, fmt.Sprintf("%s/%s%s", pathCards, k.id, path), body)
}

func (k *kit) content(code int, element, md string) answer {
	k.t.Helper()
	return k.op(code, "PUT", "/elements/"+element+"/content", obj{"content": md})
}

// show sends the card into a chat.
func (k *kit) show(chatID string) string {
	k.t.Helper()
	return k.send(chatID, "interactive", obj{"type": "card", "data": obj{"card_id": k.id}})
}
