package feishu

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
	"github.com/rs/zerolog"

	"magpie/feishu/openapi"
	"magpie/internal/feishusim"
)

func TestTroubleIsLoggedOncePerChange(t *testing.T) {
	log := &syncBuffer{}
	c := New(Config{AppID: "cli_x", AppSecret: "x"}, zerolog.New(log).Level(zerolog.InfoLevel))
	l := &connection{client: c}
	steps := []struct {
		name string
		err  error
		want string // level of the new log line; empty: no line
		hint string // in the status
	}{
		{"wrong secret", connectError(larkws.NewClientError(1000040345, "app_id or app_secret is invalid")), "error",
			"app_secret"},
		{"the same", connectError(larkws.NewClientError(1000040345, "app_id or app_secret is invalid")), "",
			"app_secret"},
		{"wrong platform", connectError(larkws.NewClientError(1000040351, "domain")), "error", "base_url"},
		{"too many connections", connectError(larkws.NewClientError(larkws.AuthFailed, "exceed")), "error",
			"stop other programs"},
		{"no bot", &openapi.Error{Op: "bot info has no open_id", Code: 230006}, "error", "turn the app's bot on"},
		{"no network", &openapi.Error{Op: "open", Err: errors.New("no route to host")}, "warn", ""},
		{"the same", &openapi.Error{Op: "open", Err: errors.New("no route to host"), LogID: "another"}, "", ""},
		{"busy", connectError(larkws.NewServerError(1, "busy")), "warn", ""},
		{"wrong secret again", connectError(larkws.NewClientError(1000040345, "no")), "error", "app_secret"},
	}
	for _, s := range steps {
		before := len(log.String())
		l.report(s.err, time.Minute)
		line := log.String()[before:]
		if s.want == "" && line != "" || s.want != "" && !strings.Contains(line, `"level":"`+s.want+`"`) {
			t.Errorf("%s: log %q, want level %q", s.name, line, s.want)
		}
		if hint := c.Status().Hint; (s.hint == "") != (hint == nil) || hint != nil && !strings.Contains(hint.Error(), s.hint) {
			t.Errorf("%s: hint %q, want %q", s.name, hint, s.hint)
		}
		if s.want == "error" && !strings.Contains(line, s.hint) {
			t.Errorf("%s: the log does not say what to do: %s", s.name, line)
		}
	}
	c.state.setConnected()
	if s := c.Status(); s.Hint != nil || !s.Connected || s.Reconnects != 0 {
		t.Errorf("status when connected: %+v", s)
	}
}

func TestStatusCounts(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	rec := newRecorder()
	p.run(rec)
	if s := p.Status(); s.Calls.OK == 0 || s.Calls.Refused+s.Calls.Limited+s.Calls.Unknown != 0 || s.Events != 0 ||
		!s.LastEvent.IsZero() {
		t.Errorf("at first: %+v", s)
	}
	began := time.Now()
	p.Say(ask.Key.ID, p.Users()[0], "hello")
	next(t, rec.messages)
	if s := p.Status(); s.Events != 1 || s.LastEvent.Before(began) || s.Backfilled != 0 {
		t.Errorf("after an event: %+v", s)
	}
	before := p.Status().Calls
	for _, f := range []feishusim.Fault{{Code: 230020}, {Status: 502}, {Reset: true, Apply: true}, {Code: 230001}} {
		f.Path, f.Times = replyAPI, 1
		p.Inject(f)
	}
	_, err := p.Reply(p.ctx(), ask, "x", "seed") // refused as a post, three faults, then sent as text
	p.must(err)
	got := p.Status().Calls
	if diff := (Calls{
		OK: got.OK - before.OK, Refused: got.Refused - before.Refused, Limited: got.Limited - before.Limited,
		Unknown: got.Unknown - before.Unknown,
	}); diff != (Calls{OK: 1, Refused: 1, Limited: 1, Unknown: 2}) {
		t.Errorf("counted %+v", diff)
	}
	p.DropConnections(true)
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected && s.Reconnects == 1 }))
	p.DropConnections(false)
	p.must(awaitStatus(p, func(s Status) bool { return s.Connected && s.Reconnects == 2 }))
}

func TestTheCardCacheIsBounded(t *testing.T) {
	s := newCardCache()
	busy := &card{}
	s.Add("old", &card{})
	s.Add("busy", busy)
	for i := range 3 * maxCachedCards {
		s.Add(fmt.Sprint(i), &card{})
		if k, _ := s.Get("busy"); k != busy {
			t.Fatal("a card in use was evicted")
		}
	}
	if s.Len() != maxCachedCards || s.Contains("old") {
		t.Errorf("%d cards", s.Len())
	}
}
