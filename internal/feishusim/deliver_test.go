package feishusim

import (
	"context"
	"slices"
	"testing"
	"time"

	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
)

// fast are clocks for tests of redelivery.
func fast() Config {
	return Config{
		AckTimeout: 30 * time.Millisecond, Redeliver: []time.Duration{
			time.Millisecond, time.Millisecond, time.Millisecond, time.Millisecond,
		},
	}
}

func TestEventIsPushedAgainAfterCode500(t *testing.T) {
	cfg := fast()
	cfg.AckTimeout = patience
	s := start(t, cfg)
	d, in := receiver(func(nth int) error {
		if nth < 3 {
			return errHandler
		}
		return nil
	})
	listen(t, s, d)
	tom := s.AddUser("Tom")
	id := s.Say(s.PrivateChat(tom), tom, "hi")
	got := in.next(t, 3)
	await(t, s, "ack", func(v *View) bool { ds := v.Deliveries(); return len(ds) == 3 && ds[2].AckCode == 200 })
	for i, ev := range got {
		if *ev.Event.Message.MessageId != id || ev.EventV2Base.Header.EventID != got[0].EventV2Base.Header.EventID {
			t.Errorf("delivery %d is another event", i+1)
		}
	}
	ds := s.Deliveries()
	if ds[0].AckCode != 500 || ds[0].Failure != "code" || ds[1].Attempt != 2 || ds[0].ID == ds[1].ID ||
		ds[0].EventID != ds[1].EventID || ds[2].MessageID != id {
		t.Errorf("deliveries %+v", ds)
	}
	refuteViolations(t, s)
}

func TestEventIsPushedAgainWhenTheAckIsLate(t *testing.T) {
	s := start(t, fast())
	release := make(chan struct{})
	d, in := receiver(func(nth int) error {
		if nth == 1 {
			<-release
		}
		return nil
	})
	listen(t, s, d)
	tom := s.AddUser("Tom")
	s.Say(s.PrivateChat(tom), tom, "hi")
	in.next(t, 2)
	close(release)
	await(t, s, "both acks", func(v *View) bool {
		ds := v.Deliveries()
		return len(ds) >= 2 && ds[0].AckCode == 200 && ds[1].AckCode == 200
	})
	first := s.Deliveries()[0]
	if !first.Late || first.Failure != "timeout" || first.AckedAt.Sub(first.SentAt) < 30*time.Millisecond {
		t.Errorf("first delivery %+v", first)
	}
	if violated(s, RuleAck) == 0 {
		t.Error("the late ack is no violation")
	}
}

func TestEventWithoutHandlerIsGivenUpAfterFiveDeliveries(t *testing.T) {
	s := start(t, fast())
	listen(t, s, newDispatcher())
	tom := s.AddUser("Tom")
	s.EnterChat(tom)
	await(t, s, "five deliveries", func(v *View) bool {
		ds := v.Deliveries()
		return len(ds) == 5 && ds[4].AckCode == 500
	})
}

func TestEventWaitsForAConnection(t *testing.T) {
	cfg := fast()
	cfg.Redeliver = []time.Duration{time.Hour}
	s := start(t, cfg)
	tom := s.AddUser("Tom")
	s.Say(s.PrivateChat(tom), tom, "anybody there?")
	if ds := s.Deliveries(); len(ds) != 1 || ds[0].Failure != "no_connection" {
		t.Fatalf("deliveries %+v", ds)
	}

	cfg.Redeliver = slices.Repeat([]time.Duration{50 * time.Millisecond}, 2000) // more than it takes to connect
	s = start(t, cfg)
	s.Say(s.PrivateChat(s.AddUser("Tom")), s.Users()[0], "later")
	d, in := receiver(nil)
	listen(t, s, d)
	in.next(t, 1)
}

func TestRedeliverInjectsDuplicates(t *testing.T) {
	s := start(t, Config{})
	d, in := receiver(nil)
	listen(t, s, d)
	tom := s.AddUser("Tom")
	id := s.Say(s.PrivateChat(tom), tom, "once")
	s.Redeliver(id, false)
	s.Redeliver(id, true)
	ids := map[string]int{}
	for _, ev := range in.next(t, 3) {
		ids[ev.EventV2Base.Header.EventID]++
		if *ev.Event.Message.MessageId != id {
			t.Errorf("message %s", *ev.Event.Message.MessageId)
		}
	}
	if len(ids) != 2 {
		t.Errorf("event ids %v, want one twice and one once", ids)
	}
}

func TestEveryKindOfEventHasTheShapeOfTheSDK(t *testing.T) {
	s := start(t, Config{})
	in := newInbox[string]()
	put := func(kind, chat string) error { in.put(kind + " " + chat); return nil }
	d, _ := receiver(nil)
	d.OnP2MessageRecalledV1(func(_ context.Context, e *larkim.P2MessageRecalledV1) error {
		return put("recalled", *e.Event.ChatId+*e.Event.RecallType)
	})
	d.OnP2ChatMemberBotAddedV1(func(_ context.Context, e *larkim.P2ChatMemberBotAddedV1) error {
		return put("added", *e.Event.ChatId+*e.Event.Name)
	})
	d.OnP2ChatMemberBotDeletedV1(func(_ context.Context, e *larkim.P2ChatMemberBotDeletedV1) error {
		return put("deleted", *e.Event.ChatId+*e.Event.OperatorId.OpenId)
	})
	d.OnP2ChatAccessEventBotP2pChatEnteredV1(func(_ context.Context,
		e *larkim.P2ChatAccessEventBotP2pChatEnteredV1) error {
		return put("entered", *e.Event.ChatId+*e.Event.OperatorId.OpenId)
	})
	d.OnP2MessageReadV1(func(_ context.Context, e *larkim.P2MessageReadV1) error {
		return put("read", e.Event.MessageIdList[0])
	})
	d.OnP2ChatDisbandedV1(func(_ context.Context, e *larkim.P2ChatDisbandedV1) error {
		return put("disbanded", *e.Event.ChatId)
	})
	listen(t, s, d)
	tom := s.AddUser("Tom")
	g, p := s.Group("G", tom), s.PrivateChat(tom)
	id := s.Say(g, tom, "x")
	var want []string
	step := func(w string) {
		t.Helper()
		want = append(want, w)
		if got := in.next(t, len(want)); got[len(want)-1] != w {
			t.Errorf("event %q, want %q", got[len(want)-1], w)
		}
	}
	s.Recall(id)
	step("recalled " + g + "message_owner")
	s.AddBot(g, tom)
	step("added " + g + "G")
	s.RemoveBot(g, tom)
	step("deleted " + g + tom.OpenID)
	s.EnterChat(tom)
	step("entered " + p + tom.OpenID)
	s.Read(id, tom)
	step("read " + id)
	s.Disband(g, tom)
	step("disbanded " + g)
	refuteViolations(t, s)
}

func TestGroupMessagesNeedAMentionWithoutTheScope(t *testing.T) {
	s := start(t, Config{MentionsOnly: true})
	tom := s.AddUser("Tom")
	g := s.Group("G", tom)
	s.Say(g, tom, "not for the bot")
	s.Say(g, tom, "all", MentionAll())
	s.Say(g, tom, "bot", Mention())
	if ds := s.Deliveries(); len(ds) != 1 {
		t.Errorf("%d deliveries, want 1", len(ds))
	}
	if got := s.Messages(g)[1]; got.Content != `{"text":"@_all all"}` || got.Text() != "@all all" {
		t.Errorf("message %+v", got)
	}
}

func TestEventGoesToOneConnection(t *testing.T) {
	s := start(t, Config{})
	d1, in1 := receiver(nil)
	d2, in2 := receiver(nil)
	listen(t, s, d1)
	listen(t, s, d2)
	tom := s.AddUser("Tom")
	for range 40 {
		s.Say(s.PrivateChat(tom), tom, "hi")
	}
	await(t, s, "acks", func(v *View) bool {
		n := 0
		for _, d := range v.Deliveries() {
			if d.AckCode == 200 {
				n++
			}
		}
		return n == 40
	})
	if a, b := len(in1.next(t, 1)), len(in2.next(t, 1)); a+b != 40 {
		t.Errorf("%d + %d events, want 40", a, b)
	}
}

// However long the platform waits for an ack, an event on a lost or frozen connection is redelivered soon.
func TestALostEventIsRedeliveredSoon(t *testing.T) {
	for name, lose := range map[string]func(*Server){
		"dropped": func(s *Server) { s.DropConnections(true) },
		"frozen":  func(s *Server) { s.Freeze(true); s.Freeze(false) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Config{
				AckTimeout: time.Hour, Redeliver: slices.Repeat([]time.Duration{50 * time.Millisecond}, 200),
				Reconnect: Reconnect{Interval: -1, Nonce: -1},
			})
			release := make(chan struct{})
			defer close(release)
			d, in := receiver(func(nth int) error {
				if nth == 1 {
					<-release
				}
				return nil
			})
			listen(t, s, d)
			tom := s.AddUser("Tom")
			s.Say(s.PrivateChat(tom), tom, "hi")
			in.next(t, 1)
			lose(s)
			in.next(t, 2)
			if first := s.Deliveries()[0]; first.Failure != "timeout" {
				t.Errorf("first delivery %+v", first)
			}
		})
	}
}
