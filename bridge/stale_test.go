package bridge

import (
	"strings"
	"testing"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/chat"
)

// A stale group starts over like any chat, but nobody has agreed that something of it is noted.
func TestNothingOfAStaleGroupIsNoted(t *testing.T) {
	t.Parallel()
	for kind, noted := range map[chat.Kind]bool{chat.Private: true, chat.Group: false} {
		t.Run(string(kind), func(t *testing.T) {
			l := newBridgeRig(t, &deliverytest.Recorder{})
			l.bridge.cfg.Context.Titles = false
			l.start()
			for _, id := range []string{"om_1", "om_2"} {
				m := heard(id, "hello there")
				m.Kind = kind
				l.must(l.bridge.Message(t.Context(), m))
				l.until("an answer", func() bool { return l.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0 })
				l.sql(`UPDATE chats SET turned_at = turned_at - 49 * 3600000`)
			}
			l.until("the end of what is done on the side", func() bool {
				waiting, active := l.bridge.queues.scheduler.jobs.Count()
				return waiting+active == 0
			})
			if got := strings.Contains(l.logs.String(), `"task":"points"`); got != noted {
				t.Errorf("noted: %v", got)
			}
			if n := l.count(`SELECT anew_seq FROM chats`); n != 2 {
				t.Errorf("the context begins after message %d", n)
			}
		})
	}
}

// What the agent makes of a chat on the side is in the language that was set for it, whatever is spoken there.
func TestWhatIsMadeOfAChatIsInItsLanguage(t *testing.T) {
	t.Parallel()
	l := newBridgeRig(t, &deliverytest.Recorder{})
	l.start()
	l.say("om_1", "/lang en")
	l.say("om_2", "我们每周二发布")
	l.until("a title", func() bool { return l.chat().Topic != "" })
	// the scripted agent says again what it was asked for
	if got := l.chat().Topic; !strings.Contains(got, "Give the above") {
		t.Errorf("title %q", got)
	}
	l.sql(`UPDATE chats SET turned_at = turned_at - 49 * 3600000`)
	l.say("om_3", "我们每周三发布")
	var list []db.Memory
	l.until("the key points", func() bool {
		var err error
		list, err = l.bridge.db.Memories().List(t.Context(), room)
		l.must(err)
		return len(list) > 0
	})
	if !strings.Contains(list[0].Text, "Note the points") {
		t.Errorf("key points %q", list[0].Text)
	}
}
