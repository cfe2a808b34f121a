package cardjson

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/feishu/feishutest"
	"magpie/internal/chat"
)

func TestDrawCard(t *testing.T) {
	c := chat.Card{
		Status: "reading <file>\nnow", Body: "a <b> \"c\"", Footer: "3 s", Summary: "at work", Live: true,
		Buttons: []chat.Button{
			{Label: "Stop", Danger: true, Action: chat.Action{Do: "stop", Turn: 7}}, {Label: "Why?", Quiet: true},
		},
	}
	want := `{"schema":"2.0","config":{"streaming_mode":true,"update_multi":true,"summary":{"content":"at work"},` +
		`"streaming_config":{"print_frequency_ms":{"default":50},"print_step":{"default":8},"print_strategy":"fast"}},"body":{"elements":[` +
		`{"tag":"markdown","element_id":"status","content":"<font color='grey'>reading &lt;file> now</font>","text_size":"notation"},` +
		`{"tag":"markdown","element_id":"body","content":"a &lt;b> \"c\""},` +
		`{"tag":"markdown","element_id":"footer","content":"<font color='grey'>3 s</font>","text_size":"notation"},` +
		`{"tag":"column_set","element_id":"buttons","flex_mode":"flow","columns":[{"tag":"column","width":"auto","elements":[` +
		`{"tag":"button","element_id":"button_0","text":{"tag":"plain_text","content":"Stop"},"type":"danger",` +
		`"behaviors":[{"type":"callback","value":{"do":"stop","turn":7}}]}]},{"tag":"column","width":"auto","elements":[` +
		`{"tag":"button","element_id":"button_1","text":{"tag":"plain_text","content":"Why?"},"type":"text",` +
		`"behaviors":[{"type":"callback","value":{"do":""}}]}]}]}]}}`
	if diff := cmp.Diff(want, Card(c, true)); diff != "" {
		t.Error(diff)
	}
	want = `{"schema":"2.0","config":{"streaming_mode":false,"update_multi":true},"body":{"elements":[{"tag":"markdown","element_id":"body","content":"` + zwsp + `"}]}}`
	for _, stream := range []bool{true, false} {
		if diff := cmp.Diff(want, Card(chat.Card{}, stream)); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSteps(t *testing.T) {
	shown := chat.Card{Status: "s", Body: "b", Summary: "x", Live: true}
	change := func(f func(*chat.Card)) chat.Card {
		c := shown
		f(&c)
		return c
	}
	whole := []Step{{}}
	tests := []struct {
		name string
		want chat.Card
		out  []Step
	}{
		{"nothing", shown, nil},
		{"summary", change(func(c *chat.Card) { c.Summary = "y" }), nil},
		{"body", change(func(c *chat.Card) { c.Body = "bc" }), []Step{{Element: bodyID, Text: "bc"}}},
		{"status", change(func(c *chat.Card) { c.Status = "t" }), []Step{
			{Element: statusID, Text: "<font color='grey'>t</font>"},
		}},
		{"both", change(func(c *chat.Card) { c.Status, c.Body = "t", "bc" }), []Step{
			{Element: bodyID, Text: "bc"}, {Element: statusID, Text: "<font color='grey'>t</font>"},
		}},
		{"no status", change(func(c *chat.Card) { c.Status = "" }), whole},
		{"footer", change(func(c *chat.Card) { c.Footer = "f" }), whole},
		{"buttons", change(func(c *chat.Card) { c.Buttons = []chat.Button{{}} }), whole},
		{"header", change(func(c *chat.Card) { c.Title = "t" }), whole},
		{"color", change(func(c *chat.Card) { c.State = chat.CardNeedsYou }), whole},
		{"end", change(func(c *chat.Card) { c.Live = false }), whole},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.out, Steps(shown, tt.want), cmp.AllowUnexported(Step{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The header has the color of the state; an unknown state is grey.
func TestHeaders(t *testing.T) {
	for state, want := range map[chat.CardState]string{
		chat.CardQueued: "grey", chat.CardRunning: "blue", chat.CardDone: "green", chat.CardFailed: "red",
		chat.CardNeedsYou: "orange", "": "grey", "new": "grey",
	} {
		head := `"header":{"title":{"tag":"plain_text","content":"a b"},"template":"` + want + `"}`
		if got := Card(chat.Card{Title: "a\nb", State: state}, false); !strings.Contains(got, head) {
			t.Errorf("%q: %s", state, got)
		}
	}
	if got := Card(chat.Card{State: chat.CardDone}, false); strings.Contains(got, "header") {
		t.Errorf("without a title: %s", got)
	}
}

func TestStatusIsOneHarmlessLine(t *testing.T) {
	got := smallText("a\n<at id=all></at> "+strings.Repeat("<", 1000), maxStatus)
	if strings.Contains(got, "\n") || strings.Contains(got, "<at") || len(got) > maxStatus+40 {
		t.Errorf("got %q", got)
	}
}

var update = flag.Bool("update", false, "write the golden files anew")

// Each card is rendered as its golden file says.
func TestDrawnCards(t *testing.T) {
	running := chat.Card{
		Status: "正在运行 Bash… 10 秒", Summary: "正在运行 Bash…", Live: true,
		Panels:  []chat.Panel{{Title: "1 步 · Bash", Body: "▸ **Bash** `go test ./...`"}},
		Buttons: []chat.Button{{Label: "停止", Danger: true, Action: chat.Action{Do: "stop", Turn: 7}}},
	}
	approval := chat.Card{
		Title: "The agent wants to run a command", State: chat.CardNeedsYou, Body: "```bash\nmake\n```", Footer: "30 min",
		Panels: []chat.Panel{{Title: "1 step", Body: "ls"}, {Title: "Why", Body: "to see", Last: true}},
		Form: &chat.Form{
			Fields:  []chat.Field{{Name: "why", Kind: chat.Words}},
			Buttons: []chat.Button{{Label: "Deny and explain", Danger: true, Action: chat.Action{Do: "refuse"}}}, Last: true,
		},
		Buttons: []chat.Button{
			{Label: "Allow once", Primary: true, Action: chat.Action{Do: "allow"}},
			{Label: "Always", Action: chat.Action{Do: "always"}},
			{Label: "Deny", Danger: true, Action: chat.Action{Do: "refuse"}},
		},
	}
	done := chat.Card{
		Title: "Done", State: chat.CardDone, Body: "# Done\n\n" + table + "\n```go\nx := 1", Summary: "Done", Footer: "16 s · $0.09",
		Panels: []chat.Panel{
			{Title: "1 step · Edit", Body: "✓ **Edit** `a.go`\n```diff\n-a\n+b\n```\n\n" + table, Open: true},
		},
	}
	for name, c := range map[string]chat.Card{
		"approval": approval, "asking": feishutest.AskingCard(), "running": running, "done": done,
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := json.Indent(&got, []byte(Card(c, true)), "", "  "); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join("testdata", "cards", name+".json")
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
