package bridge

import (
	"regexp"
	"strings"
	"testing"

	"magpie/bridge/toolset"
	"magpie/db"
	"magpie/internal/chat"
)

// captures has turns searched for memories, in groups, too, or not. Nothing else is made of them.
func (l *bridgeRig) captures(some, ofGroups bool) {
	l.remake(func(c *Config) {
		m := &c.Context.Memory
		c.Context.Titles, m.Capture, m.CaptureGroup = false, some, ofGroups
	})
}

// Turns are searched for memories only if configured, and only if the question is long enough.
func TestWhichTurnsAreLookedThrough(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kind           chat.Kind
		capture, group bool
		text           string
		looked         bool
	}{
		"by default not":      {chat.Private, false, true, "we release on Tuesdays", false},
		"a private chat":      {chat.Private, true, false, "we release on Tuesdays", true},
		"a name":              {chat.Private, true, false, "我叫小明", true},
		"thanks":              {chat.Private, true, false, "谢谢", false},
		"a group":             {chat.Group, true, false, "we release on Tuesdays", false},
		"a group that may be": {chat.Group, true, true, "we release on Tuesdays", true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newRig(t)
			l.captures(tc.capture, tc.group)
			l.start()
			m := incoming("om_1", tc.text)
			m.Kind = tc.kind
			l.receive(m)
			l.awaitTurns(1)
			l.idle()
			if got := strings.Contains(l.logs.String(), `"task":"notes"`); got != tc.looked {
				t.Errorf("looked through: %v", got)
			}
			if n := l.count(`SELECT COUNT(*) FROM memories`); n != 0 { // the scripted agent finds nothing
				t.Errorf("%d memories", n)
			}
		})
	}
}

// A turn whose search for memories failed is still answered, and the failure is logged.
func TestALookThatFailsIsLogged(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.captures(true, false)
	l.sql(`ALTER TABLE memories RENAME TO gone`)
	l.start()
	l.say("om_1", "we release on Tuesdays")
	l.until("the end of the look", func() bool {
		return strings.Contains(l.logs.String(), "memories of the turn lost")
	})
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`); n != 1 {
		t.Error("the turn has no answer")
	}
	missing := regexp.MustCompile(`no such table: memories|\\"memories\\" does not exist`)
	if log := l.logs.String(); !missing.MatchString(log) ||
		strings.Count(log, "memories of the turn lost") != 1 {
		t.Errorf("logged %s", log)
	}
}

// storeNotes stores what the agent wrote down of the turn that was the place's last.
func (w *memoryRig) storeNotes(p place, reply string) {
	w.Helper()
	scope, of := toolset.UsualScope(p.kind), ""
	if scope == db.UserScope {
		of = p.who
	}
	said, err := w.store.Messages().Latest(w.ctx, p.key, 2)
	w.must(err)
	var sources []string
	for _, m := range said {
		sources = append(sources, m.ID)
	}
	w.must(w.upkeep().StoreNotes(w.ctx,
		db.Memory{Key: p.key, Scope: scope, Of: of, Sources: sources},
		reply))
}

func (w *memoryRig) memories(p place) []db.Memory {
	w.Helper()
	list, err := w.store.Memories().List(w.ctx, p.key)
	w.must(err)
	return list
}

func TestNotesBecomeMemories(t *testing.T) {
	t.Parallel()
	w := newMemoryRig(t, t.TempDir())
	home := place{room, chat.Private, "ou_1"}
	w.ask(home, "we release on Tuesdays", "noted", nil)
	w.storeNotes(home, "发布 | 发布总是在星期二，问 13812345678。 | release, 发布\n书 | 用户喜欢《三体》 | book")
	list := w.memories(home)
	if len(list) != 2 {
		t.Fatalf("%d memories", len(list))
	}
	m := list[0]
	if m.Title != "发布" || m.Text != "发布总是在星期二，问 [REDACTED_PHONE]。" || strings.Join(m.Keywords, "|") != "release|发布" ||
		m.Scope != db.UserScope || m.Of != "ou_1" || m.Proposed ||
		strings.Join(m.Sources, "|") != "om_1|answer:1" {
		t.Errorf("%+v", m)
	}
	if why := w.order(home, "/memory why 1"); !strings.Contains(why, "Magpie (after an answer)") ||
		!strings.Contains(why, "we release on Tuesdays") {
		t.Errorf("why: %q", why)
	}
}

func TestWhatIsKnownIsNotRememberedAgain(t *testing.T) {
	t.Parallel()
	w := newMemoryRig(t, t.TempDir())
	group, other := place{room, chat.Group, "ou_1"}, place{chat.FeishuChat("oc_2"), chat.Group, "ou_1"}
	for _, p := range []place{group, other} {
		w.ask(p, "hello everybody here", "hello", nil)
	}
	w.order(group, "/remember The release is on Tuesdays")
	w.ask(group, "my cat is called Momo", "noted",
		func() { w.remember(group, toolset.RememberInput{Text: "The cat is called Momo", Scope: "user"}) })
	w.storeNotes(group, "a | the  release is on Tuesdays. | x\nb | Use C | x\nc | Use C++ | x")
	w.storeNotes(group, "d | use c++ | x")
	w.storeNotes(group, "e | The cat is called Momo | x") // which only one of them knows so far
	w.storeNotes(other, "a | The release is on Tuesdays | x")
	var texts []string
	for _, m := range w.memories(group) {
		texts = append(texts, string(m.Scope)+" "+m.Text)
	}
	want := "chat The release is on Tuesdays|user The cat is called Momo|chat Use C|chat Use C++|chat The cat is called Momo"
	if got := strings.Join(texts, "|"); got != want {
		t.Errorf("remembered %q, want %q", got, want)
	}
	if n := len(w.memories(other)); n != 1 {
		t.Errorf("%d memories in the other group", n)
	}
}
