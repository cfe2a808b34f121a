package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// Run receives events and passes them to h until ctx is done. It reconnects after every lost connection, and then
// fetches the messages sent meanwhile. The log and [Client.Status] tell why it cannot connect. It returns nil when ctx
// is done and all calls of h have returned.
func (c *Client) Run(ctx context.Context, h door.Handler) error {
	ctx = c.log.WithContext(ctx)
	g := &backfill{eventHandler: eventHandler{c, h}}
	limiter := &eventLimiter{}
	l := newConnection(c, g, g.dispatcher(ctx, g, limiter), limiter)
	defer c.api.HTTP.CloseIdleConnections()
	c.names.setListener(h.HandleNames)
	defer c.names.wait()
	connectLoop(ctx, l.connect, l.report)
	c.state.setDisconnected(nil)
	return nil
}

// connection makes the long connections, one at a time.
type connection struct {
	client     *Client
	template   *larkws.Client // never started
	watchdog   *watchdog
	ws         *larkws.Client // reused if it never connected; nil: make one
	backfill   *backfill
	lastLogged error // the error that was logged last; nil after a successful connect
}

func newConnection(c *Client, g *backfill, events *dispatcher.EventDispatcher, limiter *eventLimiter) *connection {
	w := &watchdog{state: c.state, log: c.log}
	return &connection{client: c, backfill: g, watchdog: w, template: larkws.NewClient(c.cfg.AppID, c.cfg.AppSecret,
		larkws.WithDomain(c.cfg.baseURL()), larkws.WithEventHandler(events),
		larkws.WithAutoReconnect(false), // its waits are up to 2.5 minutes (ws/client_lifecycle.go)
		larkws.WithHttpClient(c.api.HTTP), larkws.WithWebSocketDialer(keepAliveDialer(limiter, w)),
		larkws.WithLogger(openapi.SDKLogger(c.log)))}
}

// shallowCopy makes a client that can be started: one that was connected cannot be started again. Each client that
// larkws.NewClient makes leaves a goroutine and a map behind forever (cache/cache.go, newCron); copies share those of
// their template.
func shallowCopy[T any](template *T) *T {
	fresh := *template
	return &fresh
}

// connect opens one connection and returns when it is lost. up is how long it lasted.
func (l *connection) connect(ctx context.Context) (up time.Duration, err error) {
	c := l.client
	if c.state.botID() == "" {
		id, name, err := fetchBot(ctx, c.api)
		if err != nil {
			return 0, err
		}
		c.state.update(func(now *Status) { now.BotOpenID, now.BotName = id, name })
	}
	if l.ws == nil {
		l.ws = shallowCopy(l.template)
	}
	l.backfill.recordPending(ctx) // before events of this connection change the last known times
	repair, stop := context.WithCancel(ctx)
	var (
		ready   time.Time
		repairs sync.WaitGroup
	)
	l.ws.SetOnReady(func() {
		ready = time.Now()
		c.state.setConnected()
		// The platform has answered, so calls need not wait for the breaker's timeout.
		c.api.CloseCircuit()
		c.log.Info().Str("bot", c.Status().BotName).Msg("feishu: connected; write to the bot there")
		repairs.Go(func() { l.backfill.run(repair) })
	})
	err = l.ws.Start(ctx)
	stop()
	repairs.Wait()
	l.watchdog.recordEnd(!ready.IsZero())
	if ready.IsZero() {
		return 0, connectError(err)
	}
	l.ws, l.lastLogged = nil, nil
	return time.Since(ready), connectError(err)
}

// report records in the status and the log why there is no connection. Each error is logged once: an app whose secret
// is wrong may stay so for days.
func (l *connection) report(err error, pause time.Duration) {
	l.client.state.setDisconnected(err)
	level := zerolog.WarnLevel
	switch {
	case sameError(err, l.lastLogged):
		level = zerolog.DebugLevel
	case isTerminal(err):
		level = zerolog.ErrorLevel
	}
	l.lastLogged = err
	l.client.log.WithLevel(level).Err(err).Dur("retry_in", pause.Round(time.Millisecond)).Msg("feishu: not connected")
}

// sameError reports whether two errors have the same cause. Log ids differ from call to call and do not count.
func sameError(a, b error) bool {
	var x, y *openapi.Error
	switch {
	case a == nil || b == nil:
		return false
	case errors.As(a, &x) && errors.As(b, &y):
		return x.Op == y.Op && x.Code == y.Code && x.Status == y.Status && fmt.Sprint(x.Err) == fmt.Sprint(y.Err)
	}
	return a.Error() == b.Error()
}

// connectError converts the SDK's errors to [openapi.Error].
func connectError(err error) error {
	var (
		refusal *larkws.ClientError
		failure *larkws.ServerError
	)
	const op = "open the long connection"
	switch {
	case err == nil:
		return i18n.Mistakef("长连接已断开", "the long connection was closed")
	case errors.As(err, &refusal) && refusal.Code == larkws.AuthFailed:
		// the SDK makes only this refusal a client error (ws/client_transport.go, parseHandshakeError)
		return &openapi.Error{Op: op, Code: larkws.ExceedConnLimit, Msg: refusal.Msg, Err: err}
	case errors.As(err, &refusal):
		return &openapi.Error{Op: op, Code: refusal.Code, Msg: refusal.Msg, Err: err}
	case errors.As(err, &failure):
		return &openapi.Error{Op: op, Code: failure.Code, Msg: failure.Msg, Err: err}
	}
	return &openapi.Error{Op: op, Err: openapi.WithoutURL(err)}
}

// isTerminal reports whether only the operator can fix the error: a refusal of the endpoint that the SDK does not retry
// (ws/client_transport.go), wrong credentials, or a bot that is turned off.
func isTerminal(err error) bool {
	var refusal *larkws.ClientError
	return errors.As(err, &refusal) || openapi.ClassOf(err) == openapi.NoAccess
}

// Backoff between attempts. The first wait is short, since most connections end because the other side restarts.
const (
	firstBackoff    = 300 * time.Millisecond
	maxBackoff      = 30 * time.Second
	terminalBackoff = time.Minute // doubles up to
	maxTerminal     = 5 * time.Minute
	stableAfter     = time.Minute // a connection that lasted this long resets the backoff
)

// connectLoop calls connect until ctx is done, with a growing backoff.
func connectLoop(ctx context.Context, connect func(context.Context) (time.Duration, error),
	report func(error, time.Duration)) {
	failed, refused := newBackoff(firstBackoff, maxBackoff), newBackoff(terminalBackoff, maxTerminal)
	for {
		up, err := connect(ctx)
		if ctx.Err() != nil {
			return
		}
		// A shorter connection does not count as a success: a platform that accepts and drops at once would
		// be called without a pause.
		if up >= stableAfter {
			failed.Reset()
		}
		var pause time.Duration
		if isTerminal(err) {
			pause = refused.NextBackOff()
		} else {
			pause = failed.NextBackOff()
			refused.Reset()
		}
		report(err, pause)
		if openapi.Sleep(ctx, pause) != nil {
			return
		}
	}
}

// newBackoff doubles its waits from first to longest. They vary by 10 %, so that not all programs reconnect at the same
// time.
func newBackoff(first, longest time.Duration) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: first, MaxInterval: longest, Multiplier: 2, RandomizationFactor: 0.1,
	}
}

// fetchBot fetches the bot's own open_id, since a message that mentions it is for the bot, and its name.
func fetchBot(ctx context.Context, api *openapi.Client) (id, name string, err error) {
	const askBot = "ask who the bot is"
	answer, err := api.Call(ctx, openapi.Request{
		Op: askBot, Method: http.MethodGet, Path: "/open-apis/bot/v3/info",
	})
	if err != nil {
		return "", "", err
	}
	id = answer.Get("bot.open_id").String()
	if id == "" {
		return "", "", &openapi.Error{Op: askBot, Code: 230006, Msg: "the app has no bot"}
	}
	return id, answer.Get("bot.app_name").String(), nil
}
