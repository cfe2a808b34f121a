package bridge

import (
	"encoding/json"
	"strings"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// Tool calls that cannot be stored while the agent works are stored with the end of its turn. For the program's own
// tools only the names are kept.
func TestWhatTheAgentDidIsNotLost(t *testing.T) {
	t.Parallel()
	store, gone := dbtest.New(t), dbtest.New(t)
	key := chat.FeishuChat("oc_1")
	m := chat.Incoming{Key: key, ID: "om_1", Text: "go", Actor: chat.Actor{ID: "ou_1"}}
	if _, err := store.Messages().Accept(t.Context(), db.Inbound{Incoming: m, Class: chat.Talk}); err != nil {
		t.Fatal(err)
	}
	c, err := store.Turns().Claim(t.Context(), key, db.Start{Session: "s", Prompt: "p", Resume: true})
	must(t, err)
	must(t, gone.Close())
	l := newActionLog(&Config{}, gone, c.Turn)
	own := agenttools.Prefix + "remember"
	for _, ev := range []claude.Event{
		claude.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)},
		claude.ToolUse{ID: "t2", Name: own, Input: json.RawMessage(`{"text":"private"}`)},
		claude.ToolResult{ID: "t1", Text: strings.Repeat("长", 3000), Failed: true},
		claude.ToolResult{ID: "t2", Text: "private"},
	} {
		l.recordToolEvent(t.Context(), ev)
		l.unstored()
	}
	e := db.TurnResult{Turn: c.Turn, State: convo.Done, Answer: "done", Actions: l.unstored()}
	must(t, store.Turns().Finish(t.Context(), e))
	var got []string
	for r, err := range store.Messages().Export(t.Context(), key) {
		must(t, err)
		if r.Role == chat.Tool {
			got = append(got, r.Text)
		}
	}
	want := []string{
		`{"use":"t1","tool":"Bash","input":"{\"command\":\"make\"}"}`, `{"use":"t2","tool":"` + own + `"}`,
		`{"use":"t1","tool":"Bash","output":"` + strings.Repeat("长", 1999) + `…","ended":true,"failed":true}`,
		`{"use":"t2","tool":"` + own + `","ended":true}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("stored\n%s", strings.Join(got, "\n"))
	}
}
