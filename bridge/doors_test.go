package bridge

import (
	"context"
	"errors"
	"testing"

	"magpie/bridge/access"
	"magpie/bridge/delivery/deliverytest"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// recordingDoor is a door that records what it shows.
type recordingDoor struct {
	*deliverytest.Recorder
	channel string
}

func newRecordingDoor(channel string) recordingDoor {
	return recordingDoor{&deliverytest.Recorder{}, channel}
}

func (d recordingDoor) Channel() string { return d.channel }
func (d recordingDoor) Traits() door.Traits {
	return door.Traits{Name: i18n.Phrase{ZH: "终端", EN: "terminal"}}
}
func (d recordingDoor) Run(context.Context, door.Handler) error { return nil }
func (d recordingDoor) Health() door.Health                     { return door.Health{Connected: true} }
func (d recordingDoor) Post(ctx context.Context, to chat.Ref, c chat.Card, idem string) (string, error) {
	id, err := d.Recorder.Post(ctx, to, c, idem)
	if chat.ChannelOf("x") != d.channel {
		id = d.channel + ":" + id
	}
	return id, err
}

// A question that comes through another door than its chat's own is answered where it was asked, and the chat's own
// door shows both: what was said, and the answer, without buttons.
func TestAnAnswerGoesWhereItsQuestionCameFrom(t *testing.T) {
	t.Parallel()
	own, other := newRecordingDoor(room.Channel), newRecordingDoor("cli")
	l := newBridgeRig(t, door.Doors{own, other})
	l.remake(func(c *Config) {
		c.Context.Titles, c.DoorName = false, door.Doors{own, other}.Name
		c.Access = access.Config{Owner: "cli:1000", Allow: []string{"*"}}
	})
	l.start()
	elsewhere := func(id, text string) chat.Incoming {
		m := incoming(id, text)
		m.Kind, m.ToBot, m.Actor = "", false, chat.Actor{ID: "cli:1000", Name: "小明"}
		return m
	}
	if err := l.bridge.HandleMessage(t.Context(), elsewhere("cli:t.1", "你好")); !errors.Is(err, chat.ErrNoChat) {
		t.Errorf("a chat that is not there: %v", err)
	}
	press := chat.Press{ID: "cli:t.9", Key: room, Card: "cli:t.8", Actor: chat.Actor{ID: "cli:1000"},
		Action: chat.Action{Do: chat.DoCommand, ID: "/new"}}
	if _, err := l.bridge.HandlePress(t.Context(), press); !errors.Is(err, chat.ErrNoChat) || l.count(`SELECT COUNT(*) FROM chats`) != 0 {
		t.Errorf("a press in a chat that is not there: %v", err)
	}
	l.say("om_1", "我叫小明")
	l.settled(1)
	_, before, _ := own.SoFar()
	if _, shown, _ := other.SoFar(); len(before) == 0 || len(shown) != 0 {
		t.Fatalf("what was asked at the chat's own door: %d cards there, %d at the other", len(before), len(shown))
	}

	l.receive(elsewhere("cli:t.2", "我叫什么？"))
	l.settled(2)
	said, closed, _ := own.SoFar()
	if len(said) != 1 || said[0] != "小明（终端）：我叫什么？" {
		t.Errorf("the chat's own door shows %q of the question", said)
	}
	_, shown, posts := other.SoFar()
	if posts != 1 || len(shown) != 1 || shown[0].State != chat.CardDone || len(closed) != len(before) {
		t.Fatalf("the other door shows %d cards, finally %+v; the own one draws %d more", posts, shown, len(closed)-len(before))
	}
	copies := own.Posted[len(own.Posted)-1]
	if copies.Body != shown[0].Body || copies.Body == "" || len(copies.Buttons) != 0 || copies.Form != nil {
		t.Errorf("the copy of the answer is %+v, the answer %+v", copies, shown[0])
	}
	if got := other.Reaction("cli:t.2"); got != chat.Finished || own.Reaction("cli:t.2") != "?" {
		t.Errorf("reaction %q at the other door, %q at the own one", got, own.Reaction("cli:t.2"))
	}
	l.receive(elsewhere("cli:t.3", "/help"))
	l.until("the reply", func() bool {
		said, _, n := other.SoFar()
		return len(said) > 0 || n > posts
	})
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE content LIKE '%（终端）%' AND class = 'talk'`); n != 0 {
		t.Error("what only the chat's own door shows is part of the conversation")
	}
}
