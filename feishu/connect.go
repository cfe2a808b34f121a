package feishu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
)

// Run receives events until ctx is done, and hands them to h. It connects again whenever the connection is lost, and
// then asks for what was said meanwhile; what keeps it from connecting is in the log and in [Client.Status]. It returns
// nil when ctx is done and all calls of h have returned.
func (c *Client) Run(ctx context.Context, h Handler) error {
	ctx = c.log.WithContext(ctx)
	g := &backfill{eventHandler: eventHandler{c, h}}
	l := newLine(c, g, g.dispatcher(ctx, g))
	defer c.api.HTTP.CloseIdleConnections()
	c.names.listen(h.Named)
	defer c.names.wait()
	keep(ctx, l.connect, l.report)
	c.state.down(nil)
	return nil
}

// line is the long connection, one after the other.
type line struct {
	client   *Client
	template *larkws.Client // never started
	ws       *larkws.Client // to be used again, when it never connected; nil: make one
	backfill *backfill
	told     error // the trouble that the log knows of; nil after a connection
}

func newLine(c *Client, g *backfill, events *dispatcher.EventDispatcher) *line {
	return &line{client: c, backfill: g, template: larkws.NewClient(c.cfg.AppID, c.cfg.AppSecret,
		larkws.WithDomain(c.cfg.baseURL()), larkws.WithEventHandler(events),
		larkws.WithAutoReconnect(false), // its waits are up to 2.5 minutes (ws/client_lifecycle.go)
		larkws.WithHttpClient(c.api.HTTP), larkws.WithWebSocketDialer(watchingDialer(c.eventLimiter)),
		larkws.WithLogger(openapi.SDKLogger(c.log)))}
}

// copyOf is a client that can be started: one that was connected cannot be started again. Each that larkws.NewClient
// makes leaves a goroutine and a map behind for ever (cache/cache.go, newCron); copies share those of their template.
func copyOf[T any](template *T) *T {
	fresh := *template
	return &fresh
}

// connect makes one connection and returns when it is lost. up tells how long it stood.
func (l *line) connect(ctx context.Context) (up time.Duration, err error) {
	c := l.client
	if c.state.bot() == "" {
		if err := c.whoAmI(ctx); err != nil {
			return 0, err
		}
	}
	if l.ws == nil {
		l.ws = copyOf(l.template)
	}
	l.backfill.note(ctx) // before events of this connection make the gap look closed
	repair, stop := context.WithCancel(ctx)
	var (
		ready   time.Time
		repairs sync.WaitGroup
	)
	l.ws.SetOnReady(func() {
		ready = time.Now()
		c.state.up()
		c.api.CloseCircuit()
		c.log.Info().Msg("feishu: connected")
		repairs.Go(func() { l.backfill.close(repair) })
	})
	err = l.ws.Start(ctx)
	stop()
	repairs.Wait()
	if ready.IsZero() {
		return 0, connectError(err)
	}
	l.ws, l.told = nil, nil
	return time.Since(ready), connectError(err)
}

// report tells the status and the log why there is no connection. The log is told once of each trouble: an app whose
// secret is wrong may stay so for days.
func (l *line) report(err error, pause time.Duration) {
	l.client.state.down(err)
	level := zerolog.WarnLevel
	switch {
	case alike(err, l.told):
		level = zerolog.DebugLevel
	case terminal(err):
		level = zerolog.ErrorLevel
	}
	l.told = err
	l.client.log.WithLevel(level).Err(err).Dur("retry_in", pause).Msg("feishu: not connected")
}

// alike reports whether two errors are of the same trouble.
func alike(a, b error) bool {
	var x, y *openapi.Error
	switch {
	case a == nil || b == nil:
		return false
	case errors.As(a, &x) && errors.As(b, &y):
		return x.Op == y.Op && x.Code == y.Code && x.Status == y.Status && fmt.Sprint(x.Err) == fmt.Sprint(y.Err)
	}
	return a.Error() == b.Error()
}

// connectError gives the SDK's errors our form.
func connectError(err error) error {
	var (
		refusal *larkws.ClientError
		failure *larkws.ServerError
	)
	const op = "open the long connection"
	switch {
	case err == nil:
		return errors.New("feishu: the long connection was closed")
	case errors.As(err, &refusal) && refusal.Code == larkws.AuthFailed: // of these, the SDK's only client error (ws/client_transport.go, parseHandshakeError)
		return &openapi.Error{Op: op, Code: larkws.ExceedConnLimit, Msg: refusal.Msg, Err: err}
	case errors.As(err, &refusal):
		return &openapi.Error{Op: op, Code: refusal.Code, Msg: refusal.Msg, Err: err}
	case errors.As(err, &failure):
		return &openapi.Error{Op: op, Code: failure.Code, Msg: failure.Msg, Err: err}
	}
	return &openapi.Error{Op: op, Err: openapi.Cause(err)}
}

// terminal reports whether only the operator can do something about it: a refusal of the endpoint that the SDK does
// not retry (ws/client_transport.go), wrong credentials, or a bot that is turned off.
func terminal(err error) bool {
	var refusal *larkws.ClientError
	return errors.As(err, &refusal) || openapi.ClassOf(err) == openapi.NoAccess
}

// The waits between attempts. The first is short, since most connections end by a restart on the other side.
const (
	firstWait    = 300 * time.Millisecond
	longestWait  = 30 * time.Second
	terminalWait = time.Minute // doubles up to
	slowestWait  = 5 * time.Minute
	steady       = time.Minute // a connection that stood so long starts the waits anew
)

// keep calls connect again and again until ctx is done, with growing waits.
func keep(ctx context.Context, connect func(context.Context) (time.Duration, error), report func(error, time.Duration)) {
	failures, refusals := 0, 0
	for {
		up, err := connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if up >= steady {
			failures = 0
		}
		var pause time.Duration
		if terminal(err) {
			pause = jitter(min(terminalWait<<min(refusals, 8), slowestWait))
			refusals++
		} else {
			pause, refusals = jitter(waitAfter(failures)), 0
			failures++
		}
		report(err, pause)
		if openapi.Sleep(ctx, pause) != nil {
			return
		}
	}
}

func waitAfter(failures int) time.Duration {
	if failures == 0 {
		return firstWait
	}
	return min(time.Second<<min(failures-1, 8), longestWait)
}

// jitter spreads a wait by a fifth, so that not all programs come back at once.
func jitter(d time.Duration) time.Duration {
	return d - d/10 + rand.N(d/5+1)
}

// whoAmI asks for the bot's own id: a mention of it is a message to the bot.
func (c *Client) whoAmI(ctx context.Context) error {
	answer, err := c.api.Call(ctx, openapi.Request{
		Op: "ask who the bot is", Method: http.MethodGet, Path: "/open-apis/bot/v3/info",
	})
	if err != nil {
		return err
	}
	id := answer.Get("bot.open_id").String()
	if id == "" {
		return fmt.Errorf("feishu: ask who the bot is: %w",
			&openapi.Error{Op: "bot info has no open_id", Code: 230006, Msg: "the app has no bot"})
	}
	c.state.change(func(now *Status) { now.BotOpenID = id })
	return nil
}
