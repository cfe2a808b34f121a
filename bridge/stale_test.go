package bridge

import (
	"context"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// A stale group starts over like any chat, but nobody has agreed to its key points being stored.
func TestNothingOfAStaleGroupIsRemembered(t *testing.T) {
	t.Parallel()
	for kind, wantPoints := range map[chat.Kind]bool{chat.Private: true, chat.Group: false} {
		t.Run(string(kind), func(t *testing.T) {
			l := newRig(t)
			l.untitled()
			l.start()
			for _, id := range []string{"om_1", "om_2"} {
				m := incoming(id, "hello there")
				m.Kind = kind
				l.receive(m)
				l.turnsOver()
				l.sql(`UPDATE chats SET turned_at = turned_at - 49 * 3600000`)
			}
			l.idle()
			if got := strings.Contains(l.logs.String(), `"task":"points"`); got != wantPoints {
				t.Errorf("noted: %v", got)
			}
			if n := l.count(`SELECT restart_seq FROM chats`); n != 2 {
				t.Errorf("the context begins after message %d", n)
			}
		})
	}
}

// Whoever asks again after a long silence is answered with the key points of what was said, which were noted before and
// are noted once, also if they were forgotten since.
func TestTheKeyPointsAreThereWhenAStaleChatStartsOver(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	built := make(chan BuiltContext, 10)
	l.remake(func(c *Config) { c.Context.Titles, c.Observe = false, func(b BuiltContext) { built <- b } })
	l.start()
	tasks := func() int { return strings.Count(l.logs.String(), `"task":"points"`) }
	idle := func() { l.turnsOver(); l.idle() }
	look := func() {
		l.must(l.upkeep().CaptureStale(t.Context(), time.Now(), 2*time.Hour))
		idle()
	}
	l.say("om_1", "the heron flies at dawn")
	<-built
	idle()
	look()
	l.sql(`UPDATE chats SET turned_at = turned_at - 60 * 3600000`)
	look() // it was stale long before
	if n := tasks(); n != 0 {
		t.Fatalf("noted %d times before that was due", n)
	}
	l.sql(`UPDATE chats SET turned_at = turned_at + 11 * 3600000`)
	look()
	look()
	l.say("om_2", "hello again")
	b := <-built
	if len(b.Prompt.History) != 0 || len(b.Prompt.Memories) != 1 ||
		!strings.Contains(b.Prompt.Memories[0].Text, "Note the points") {
		t.Errorf("after the silence: %q", b.Prompt.Text())
	}
	idle()
	if n := tasks(); n != 1 {
		t.Errorf("noted %d times", n)
	}
	l.say("om_3", "/memory forget 1")
	l.sql(`UPDATE chats SET turned_at = turned_at - 49 * 3600000`)
	l.sql(`UPDATE memory_versions SET at = at - 48 * 3600000`)
	look()
	if n := tasks(); n != 1 {
		t.Errorf("noted %d times, the last one after it was forgotten", n)
	}
}

// What the agent makes of a chat on the side is in the language that was set for it, whatever is spoken there.
func TestWhatIsMadeOfAChatIsInItsLanguage(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.start()
	l.say("om_1", "/lang en")
	l.say("om_2", "我们每周二发布")
	l.until("a title", func() bool { return l.chat().Topic != "" })
	// the scripted agent says again what it was asked for: for a title this is the talk alone
	if got := l.chat().Topic; got != "echo: 我们每周二发布" {
		t.Errorf("title %q", got)
	}
	l.sql(`UPDATE chats SET turned_at = turned_at - 49 * 3600000`)
	l.say("om_3", "我们每周三发布")
	var list []db.Memory
	l.until("the key points", func() bool {
		var err error
		list, err = l.store.Memories().List(t.Context(), room)
		l.must(err)
		return len(list) > 0
	})
	if !strings.Contains(list[0].Text, "Note the points") {
		t.Errorf("key points %q", list[0].Text)
	}
}

// The question that begins a new context does not wait for a summary of the old one, however full its session was.
func TestWhoStartsOverWaitsForNoSummary(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.untitled()
	l.start()
	l.say("om_1", "hello there")
	l.awaitTurns(1)
	l.upkeep().Compact = func(context.Context, chat.Key, <-chan struct{}) error {
		t.Error("a summary is made")
		return nil
	}
	l.sql(`UPDATE chats SET session_tokens = 1000000, turned_at = turned_at - 49 * 3600000`)
	l.say("om_2", "hello again")
	l.awaitTurns(2)
}
