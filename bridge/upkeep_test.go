package bridge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// The length of a chat is estimated if its agent does not report the size of the session.
func TestTheLengthOfAChatIsEstimated(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.remake(func(c *Config) { c.Context.Window, c.Context.KeepRecent = 4000, 1 })
	l.start()
	l.say("om_1", strings.Repeat("字", 3300))
	l.until("a summary", func() bool {
		return l.count(`SELECT COUNT(*) FROM chats WHERE summary <> '' AND session_id = ''`) == 1
	})
	l.say("om_2", "go on")
	l.ended(convo.Done, 2)
	nobody := chat.FeishuChat("oc_nobody")
	if err := l.upkeep().MakeSummary(t.Context(), nobody, nil); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a chat that does not exist: %v", err)
	}
}

// Idle chats are forgotten, however many there were.
func TestIdleChatsLeaveMemory(t *testing.T) {
	t.Parallel()
	const chats = 12
	l := newRig(t)
	l.start()
	for i := range chats {
		m := incoming(fmt.Sprint("om_", i), "hello there")
		m.Key = chat.FeishuChat(fmt.Sprint("oc_", i))
		l.receive(m)
	}
	l.until("all titles", func() bool { return l.count(`SELECT COUNT(*) FROM chats WHERE topic <> ''`) == chats })
	l.sent()
	u := l.upkeep()
	l.until("nothing that is kept in mind", func() bool {
		turns, _ := l.working()
		return turns+l.outbox().Count()+u.Count() == 0
	})
}
