package bridge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// /search finds the conversations of its own chat by their words and their titles, and offers to go back to them.
func TestSearchFindsConversations(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.untitled()
	l.start()
	for i, text := range []string{"when do the herons fly south?", "/new", "什么时候发布新版本", "/new", "hello pelican"} {
		l.say(fmt.Sprintf("om_%d", i), text)
		l.turnsOver()
	}
	l.sql(`INSERT INTO titles (chat_key, epoch, title) VALUES ('` + room.String() + `', 0, 'Birds of the lake')`)
	sessions, err := l.store.Chats().PastSessions(t.Context(), room, 10)
	if err != nil || len(sessions) != 3 {
		t.Fatalf("%+v, %v", sessions, err)
	}
	ofEpoch := map[int64]db.PastSession{}
	for _, s := range sessions {
		ofEpoch[s.Epoch] = s
	}
	search := func(key chat.Key, words string) commandResult {
		t.Helper()
		c := l.chat()
		got, err := l.commandSet().search(t.Context(), invocation{
			Incoming: chat.Incoming{Key: key, Time: time.Now()}, args: words, lang: i18n.English, chat: c,
		})
		must(t, err)
		return got
	}
	for words, want := range map[string]struct {
		epoch int64
		lines []string
	}{
		"heron fly": {0, []string{"**Birds of the lake**", "herons fly south"}},
		"LAKE":      {0, []string{"**Birds of the lake**"}},
		"发布":        {1, []string{"**什么时候发布新版本**"}},
	} {
		got := search(room, words)
		if got.card == nil || len(got.card.Buttons) != 1 || got.card.Buttons[0].Action.ID != "/resume "+ofEpoch[want.epoch].ID {
			t.Errorf("%s: %+v", words, got)
			continue
		}
		for _, line := range want.lines {
			if !strings.Contains(got.card.Body, line) {
				t.Errorf("%s: no %q in %q", words, line, got.card.Body)
			}
		}
	}
	if got := search(room, "pelican"); got.card == nil || len(got.card.Buttons) != 0 || !strings.Contains(got.card.Body, "current") {
		t.Errorf("the current one: %+v", got)
	}
	for key, words := range map[chat.Key]string{room: `" OR fly`, chat.FeishuChat("oc_other"): "herons"} {
		if got := search(key, words); words == "herons" && !strings.Contains(got.reply, "Nothing found") {
			t.Errorf("in %v: %+v", key, got)
		}
	}
}
