package feishu

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

var nopLogger = zerolog.Nop()

type pressFunc func(context.Context, chat.Press) (string, error)

func (pressFunc) HandleEdit(context.Context, chat.Incoming) error              { return nil }
func (pressFunc) HandleRecall(context.Context, chat.Key, string) error         { return nil }
func (pressFunc) HandleMessage(context.Context, chat.Incoming) error           { return nil }
func (pressFunc) ActiveChats(context.Context, string) ([]chat.Activity, error) { return nil, nil }
func (pressFunc) HandleMembership(context.Context, chat.Change) error          { return nil }
func (pressFunc) HandleRead(context.Context, chat.Key, chat.Actor)             {}
func (pressFunc) PrivateChat(context.Context, string) (chat.Key, error) {
	return chat.Key{}, nil
}
func (pressFunc) HandleNames(context.Context, map[string]string) error { return nil }
func (f pressFunc) HandlePress(ctx context.Context, p chat.Press) (string, error) {
	return f(ctx, p)
}

func aPress() *callback.CardActionTriggerEvent {
	return &callback.CardActionTriggerEvent{Event: &callback.CardActionTriggerRequest{
		Operator: &callback.Operator{OpenID: "ou_1"}, Context: &callback.Context{
			OpenChatID: "oc_1", OpenMessageID: "om_1",
		},
		Action: &callback.CallBackAction{Value: map[string]any{"do": "stop", "turn": 3.0}},
	}}
}

// never keeps the SDK from reconnecting: it is the interval that the platform asks for.
var never = feishusim.Reconnect{Interval: 1000 * time.Hour, Nonce: 1000 * time.Hour}

func TestLostConnectionComesBack(t *testing.T) {
	for name, reset := range map[string]bool{"closed": false, "reset": true} {
		t.Run(name, func(t *testing.T) {
			p := newPlatform(t, feishusim.Config{Reconnect: never})
			ann, rec := p.AddUser("Ann"), newRecorder()
			room := p.PrivateChat(ann)
			p.run(rec)
			p.must(awaitStatus(p, func(s Status) bool { return s.Connected }))
			began := time.Now()
			p.DropConnections(reset)
			p.must(awaitStatus(p, func(s Status) bool { return s.Connected && s.Reconnects == 1 }))
			t.Logf("back after %v", time.Since(began))
			p.Say(room, ann, "still there?")
			if m := next(t, rec.messages); m.Text != "still there?" {
				t.Errorf("got %+v", m)
			}
			if s := p.Status(); s.LastError == nil {
				t.Error("the status has no error")
			}
		})
	}
}

func TestBusyEndpointIsAskedAgain(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.RefuseEndpoint(1, "system busy")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Client.Run(ctx, newRecorder()) }()
	defer func() { cancel(); <-done }()
	p.await("refused", func(v *feishusim.View) bool { return endpointCalls(v) >= 2 })
	p.RefuseEndpoint(0, "")
	p.await("connect", func(v *feishusim.View) bool { return v.Connections() == 1 })
}

func endpointCalls(v *feishusim.View) int {
	n := 0
	for _, c := range v.Calls() {
		if c.Path == "/callback/ws/endpoint" {
			n++
		}
	}
	return n
}

func TestWrongSecretIsReportedOnce(t *testing.T) {
	p := newPlatform(t, feishusim.Config{})
	p.SetSecret("another")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Client.Run(ctx, newRecorder()) }()
	p.must(p.log.await(p.ctx(), "not connected"))
	if p.Status().LastError == nil {
		t.Error("the status has no error")
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run: %v", err)
	}
	log := p.log.String()
	if !strings.Contains(log, `"level":"error"`) || !strings.Contains(log, "app_secret") ||
		strings.Contains(log, p.cfg()) {
		t.Errorf("log: %s", log)
	}
}

func (p *platform) cfg() string { return p.Client.cfg.AppSecret }

func TestWrongSecretAtTheEndpoint(t *testing.T) {
	err := connectError(larkws.NewClientError(1000040345, "app_id or app_secret is invalid"))
	if !isTerminal(err) || !strings.Contains(err.Error(), "[feishu] app_secret") {
		t.Errorf("%v, terminal %v", err, isTerminal(err))
	}
	if err := connectError(larkws.NewServerError(1, "busy")); isTerminal(err) {
		t.Errorf("%v is terminal", err)
	}
}

// attempts runs keep on a fake clock for the given time and returns when it tried to connect.
func attempts(t *testing.T, run time.Duration, connect func(n int) (time.Duration, error)) []time.Duration {
	var at []time.Duration
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), run)
		defer cancel()
		began := time.Now()
		connectLoop(ctx, func(ctx context.Context) (time.Duration, error) {
			at = append(at, time.Since(began))
			up, err := connect(len(at))
			if openapi.Sleep(ctx, up) != nil {
				return up, ctx.Err()
			}
			return up, err
		}, func(error, time.Duration) {})
	})
	return at
}

func TestWaitsGrowWhileItFails(t *testing.T) {
	at := attempts(t, 5*time.Minute, func(int) (time.Duration, error) { return 0, errors.New("no route") })
	want := []time.Duration{
		0, 300 * time.Millisecond, 600 * time.Millisecond, 1200 * time.Millisecond, 2400 * time.Millisecond,
		4800 * time.Millisecond, 9600 * time.Millisecond, 19200 * time.Millisecond, 30 * time.Second, 30 * time.Second,
	}
	if len(at) < len(want) {
		t.Fatalf("%d attempts", len(at))
	}
	for i := 1; i < len(want); i++ {
		wait := at[i] - at[i-1]
		if wait < want[i]*8/10 || wait > want[i]*12/10 {
			t.Errorf("wait %d was %v, want about %v", i, wait, want[i])
		}
	}
}

func TestBackoffStartsOverAfterASteadyConnection(t *testing.T) {
	at := attempts(t, 10*time.Minute, func(n int) (time.Duration, error) {
		if n == 6 {
			return 2 * time.Minute, errors.New("lost")
		}
		return 0, errors.New("no route")
	})
	if wait := at[6] - at[5] - 2*time.Minute; wait > time.Second {
		t.Errorf("waited %v", wait)
	}
}

func TestRefusedCredentialsAreTriedSlowly(t *testing.T) {
	at := attempts(t, 10*time.Minute, func(int) (time.Duration, error) {
		return 0, connectError(larkws.NewClientError(1000040345, "no"))
	})
	if len(at) < 3 || len(at) > 6 {
		t.Errorf("%d attempts in 10 minutes: %v", len(at), at)
	}
}

func TestRevokedTokenIsReplaced(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	_, err := p.Reply(p.ctx(), ask, "one", "a")
	p.must(err)
	p.ExpireTokens()
	_, err = p.Reply(p.ctx(), ask, "two", "b")
	p.must(err)
	if got := p.answers(ask.Key.ID); len(got) != 2 || got[1].Text() != "two" {
		t.Errorf("messages %+v", got)
	}
}
