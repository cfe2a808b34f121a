package feishusim

import (
	"errors"
	"net/http"
	"testing"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
)

func TestFaults(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	path := pathMessages + "?receive_id_type=chat_id"
	try := func(f Fault) (answer, error) {
		t.Helper()
		f.Path, f.Times = pathMessages, 1
		s.Inject(f)
		return c.try("POST", path, body(p, "text", obj{"text": "x"}))
	}
	messages := func() int { return len(s.Messages(p)) }

	if a, err := try(Fault{Code: 230099, Msg: "no"}); err != nil || a.Code != 230099 || a.Status != 400 || messages() != 0 {
		t.Errorf("code: %+v %v", a, err)
	}
	if a, err := try(Fault{Code: codeTooFrequent}); err != nil || a.Status != 429 ||
		a.Header.Get(headerRateReset) == "" {
		t.Errorf("429: %+v %v", a, err)
	}
	if _, err := try(Fault{Status: 502, Body: "<html>bad gateway</html>"}); err == nil || messages() != 0 {
		t.Error("an HTML page was read as an answer")
	}
	if _, err := try(Fault{Status: 504}); !isA[*larkcore.ServerTimeoutError](err) {
		t.Errorf("504: %v", err)
	}
	if _, err := try(Fault{Reset: true}); err == nil || messages() != 0 {
		t.Error("a reset was read as an answer")
	}
	if _, err := try(Fault{Reset: true, Apply: true}); err == nil || messages() != 1 {
		t.Errorf("applied and reset: %v, %d messages", err, messages())
	}
	if a, err := try(Fault{Delay: 20 * time.Millisecond}); err != nil || a.Code != 0 || messages() != 2 {
		t.Errorf("delay: %+v %v", a, err)
	}
	all := callsOf(s, pathMessages)
	if last := all[len(all)-1]; !last.Faulty || last.Latency < 20*time.Millisecond || last.Code != 0 {
		t.Errorf("call %+v", last)
	}
	remove := s.Inject(Fault{Path: "/open-apis/im/v1/*", Method: "POST", Code: 1})
	c.want(1, "POST", path, body(p, "text", obj{"text": "x"}))
	remove()
	c.want(0, "POST", path, body(p, "text", obj{"text": "x"}))
	refuteViolations(t, s)
}

func isA[E error](err error) bool {
	var e E
	return errors.As(err, &e)
}

func TestUnknownPath(t *testing.T) {
	s := start(t, Config{})
	resp, err := http.Get(s.URL() + "/open-apis/im/v2/messages")
	if err != nil || resp.StatusCode != 404 {
		t.Fatalf("%v %v", resp, err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if violated(s, RulePath) != 1 {
		t.Errorf("violations %+v", s.Violations())
	}
}
