package feishu

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/feishusim"
	"magpie/internal/leaktest"
)

func TestMain(m *testing.M) {
	// The SDK starts this goroutine for each client and never ends it (cache/cache.go, newCron).
	leaktest.Main(m, goleak.IgnoreTopFunction("github.com/larksuite/oapi-sdk-go/v3/cache.(*cron).start"))
}

// platform is a simulated platform with a client of its app.
type platform struct {
	*feishusim.Server
	*Client
	t   *testing.T
	log *syncBuffer
}

// newPlatform starts a platform. By default a slow acknowledgement breaks no rule, and unacknowledged events are not
// redelivered.
func newPlatform(t *testing.T, cfg feishusim.Config) *platform {
	t.Helper()
	t.Parallel() // most time is spent waiting for rate limits
	cfg.AckTimeout = cmp.Or(cfg.AckTimeout, time.Minute)
	if cfg.Redeliver == nil {
		cfg.Redeliver = []time.Duration{}
	}
	sim, err := feishusim.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		checkCalls(t, sim.Calls())
		sim.Close()
	})
	p := &platform{Server: sim, t: t, log: &syncBuffer{}}
	p.Client = p.another()
	return p
}

// another returns a client as another process would have it.
func (p *platform) another() *Client {
	return p.configured(Config{})
}

// configured is another with different settings.
func (p *platform) configured(cfg Config) *Client {
	cfg.AppID, cfg.AppSecret, cfg.BaseURL = p.AppID(), p.AppSecret(), p.URL()
	// on a busy machine a name must not miss its timeout
	cfg.NameWait = cmp.Or(cfg.NameWait, 30*time.Second)
	c := New(cfg, zerolog.New(p.log).Level(zerolog.InfoLevel))
	c.waits.message, c.waits.press, c.topics.timeout = time.Minute, time.Minute, 30*time.Second // nor an answer
	p.t.Cleanup(c.api.HTTP.CloseIdleConnections)
	return c
}

// patience is how long a test waits for anything: far longer than a busy machine needs.
const patience = 5 * time.Minute

// ctx returns a context with the timeout of one wait.
func (p *platform) ctx() context.Context {
	ctx, cancel := context.WithTimeoutCause(p.t.Context(), patience, errors.New("the test waited for too long"))
	p.t.Cleanup(cancel)
	return ctx
}

func (p *platform) await(what string, cond func(*feishusim.View) bool) {
	p.t.Helper()
	if err := p.Await(p.ctx(), cond); err != nil {
		p.t.Fatalf("%s: %v\n%s", what, err, p.log)
	}
}

// run receives events until the test ends.
func (p *platform) run(h door.Handler) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Client.Run(ctx, h) }()
	p.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			p.t.Errorf("Run: %v", err)
		}
	})
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
}

// clean fails if the client broke a rule of the platform.
func (p *platform) clean() {
	p.t.Helper()
	for _, v := range p.Violations() {
		p.t.Errorf("violation: %s: %s", v.Rule, v.Detail)
	}
}

// recorder is a Handler that passes on what it gets.
type recorder struct {
	messages chan chat.Incoming
	edits    chan chat.Incoming
	recalls  chan chat.Ref
	presses  chan chat.Press
	changes  chan chat.Change
	reads    chan chat.Key
	names    chan map[string]string
	fail     func(m chat.Incoming) error
	toast    func(p chat.Press) (string, error)
	active   func() ([]chat.Activity, error)
	private  func(user string) (chat.Key, error)
}

func newRecorder() *recorder {
	return &recorder{
		messages: make(chan chat.Incoming, 100), edits: make(chan chat.Incoming, 100),
		recalls: make(chan chat.Ref, 100), presses: make(chan chat.Press, 100), changes: make(chan chat.Change, 100),
		reads: make(chan chat.Key, 100),
		names: make(chan map[string]string, 100),
	}
}

func (r *recorder) HandleMessage(_ context.Context, m chat.Incoming) error {
	r.messages <- m
	if r.fail != nil {
		return r.fail(m)
	}
	return nil
}

func (r *recorder) HandleEdit(_ context.Context, m chat.Incoming) error { r.edits <- m; return nil }

func (r *recorder) HandleRecall(_ context.Context, room chat.Key, id string) error {
	r.recalls <- chat.Ref{Key: room, ID: id}
	return nil
}

func (r *recorder) HandlePress(_ context.Context, p chat.Press) (string, error) {
	r.presses <- p
	if r.toast != nil {
		return r.toast(p)
	}
	return "", nil
}

func (r *recorder) ActiveChats(context.Context, string) ([]chat.Activity, error) {
	if r.active != nil {
		return r.active()
	}
	return nil, nil
}

func (r *recorder) HandleMembership(_ context.Context, c chat.Change) error {
	r.changes <- c
	return nil
}

func (r *recorder) HandleRead(_ context.Context, key chat.Key, _ chat.Actor) { r.reads <- key }

func (r *recorder) PrivateChat(_ context.Context, user string) (chat.Key, error) {
	if r.private != nil {
		return r.private(user)
	}
	return chat.Key{}, nil
}

func (r *recorder) HandleNames(_ context.Context, names map[string]string) error {
	select {
	case r.names <- names:
	default: // the test does not read names
	}
	return nil
}

func next[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing arrived")
		panic("unreachable")
	}
}

// syncBuffer is a log that can be read and awaited while it is written.
type syncBuffer struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	wrote chan struct{} // closed at the next write
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.wrote != nil {
		close(b.wrote)
		b.wrote = nil
	}
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// await waits until the log contains this text.
func (b *syncBuffer) await(ctx context.Context, text string) error {
	for {
		b.mu.Lock()
		found := strings.Contains(b.buf.String(), text)
		if b.wrote == nil {
			b.wrote = make(chan struct{})
		}
		wrote := b.wrote
		b.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-wrote:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
