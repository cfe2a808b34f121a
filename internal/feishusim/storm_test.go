package feishusim

import (
	"testing"
	"time"
)

func TestStorm(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	path := pathMessages + "?receive_id_type=chat_id"
	stop := s.Storm(7, 0.3, Fault{Code: codeChatFrequency}, Fault{Delay: time.Millisecond, Apply: true},
		Fault{Reset: true, Apply: true}, Fault{Path: "/other"})
	const n = 200
	failed, limited := 0, 0
	for range n {
		switch a, err := c.try("POST", path, body(p, "text", obj{"text": "x"})); {
		case err != nil:
			failed++
		case a.Code == codeChatFrequency:
			limited++
		}
	}
	dealt := stop()
	faulty := 0
	for _, call := range callsOf(s, pathMessages) {
		if call.Faulty {
			faulty++
		}
	}
	if dealt != faulty || dealt < n*3/10*3/4/2 || dealt > n*3/10*2 {
		t.Errorf("%d faults dealt, %d calls touched", dealt, faulty)
	}
	if failed == 0 || limited == 0 || failed+limited >= dealt {
		t.Errorf("%d failed, %d limited of %d faults: not all kinds", failed, limited, dealt)
	}
	if got := len(s.Messages(p)); got != n-limited {
		t.Errorf("%d messages, want %d", got, n-limited)
	}
	c.want(0, "POST", path, body(p, "text", obj{"text": "x"}))
	if stop() != dealt {
		t.Error("the storm goes on")
	}
	refuteViolations(t, s)
}

func TestRevokedInTheStorm(t *testing.T) {
	s := start(t, Config{Limits: unlimited})
	c := newRest(t, s)
	p := s.PrivateChat(s.AddUser("Tom"))
	path := pathMessages + "?receive_id_type=chat_id"
	c.want(0, "POST", path, body(p, "text", obj{"text": "x"}))
	stop := s.Storm(1, 1, Fault{Revoke: true})
	c.want(codeTokenInvalid, "POST", path, body(p, "text", obj{"text": "x"}))
	if n := stop(); n == 0 { // the SDK tries twice
		t.Errorf("%d faults", n)
	}
	refuteViolations(t, s)
}
