package talk

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"magpie/internal/chat"
	"magpie/internal/door/api"
	"magpie/internal/i18n"
)

// typist is somebody who sees what is drawn.
type typist struct {
	*typing
	shown *bytes.Buffer
}

func newTypist(t interface{ Setenv(string, string) }) typist {
	t.Setenv("NO_COLOR", "1")
	var out bytes.Buffer
	v := &typing{Talk: &Talk{Lang: i18n.English, Out: &out, Notes: &out}, cards: map[string]*drawn{}}
	v.Talk.typing = v
	return typist{v, &out}
}

// sees draws a card, and returns what is new on the terminal.
func (y typist) sees(t *testing.T, e api.Event) string {
	t.Helper()
	y.shown.Reset()
	e.ID, e.Kind, e.To = "cli:t.card", api.KindCard, "cli:t.1"
	if err := y.Talk.show(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(y.shown.String(), "\r\x1b[K", "⌫")
}

// A paragraph grows by what is new, however long its line is.
func TestALineGrows(t *testing.T) {
	y := newTypist(t)
	long := strings.Repeat("鹊桥相会，", 100)
	for _, step := range []struct {
		body, want string
		ended      bool
	}{
		{"", "Thinking", false}, {"Once", "⌫Once", false}, {"Once upon", " upon", false},
		{"Once upon " + long, " " + long, false}, {"Once upon " + long + "\n\nAnd", "\n\nAnd", false},
		{"Once upon " + long + "\n\nAnd then.", " then.\n3s\n", true},
		{"Once upon " + long + "\n\nAnd then.", "", true},
	} {
		c := api.Event{Text: step.body, Live: !step.ended, Status: "Thinking", State: chat.CardRunning}
		if step.ended {
			c.Status, c.State, c.Footer = "", chat.CardDone, "3s"
		}
		if got := y.sees(t, c); got != step.want {
			t.Errorf("%.40q is drawn as %.60q, want %.60q", step.body, got, step.want)
		}
	}
}

// A text that is written anew is printed again from the line that differs.
func TestATextIsWrittenAnew(t *testing.T) {
	y := newTypist(t)
	live := func(body string) api.Event { return api.Event{Text: body, Live: true, State: chat.CardRunning} }
	for _, step := range []struct{ body, want string }{
		{"one\ntwo\nthr", "one\ntwo\nthr"}, {"", ""}, {"one\nt", ""}, {"one\ntwo\nTHREE", "\n…\nTHREE"},
	} {
		if got := y.sees(t, live(step.body)); got != step.want {
			t.Errorf("%q is drawn as %q, want %q", step.body, got, step.want)
		}
	}
}

// Each step of the agent is a line once it has ended, and what it is doing is the status. A result is none, whatever it
// looks like.
func TestStepsAreLines(t *testing.T) {
	y := newTypist(t)
	panel := func(steps ...string) []api.Panel {
		return []api.Panel{{Title: "steps", Text: strings.Join(steps, "\n\n")}, {Title: "Thoughts", Text: "Hm."}}
	}
	ran := "✓ **Command** `ls` 1s\n```\na\n\n✓ no step\n```"
	for _, step := range []struct {
		name string
		card api.Event
		want string
	}{
		{"a step runs", api.Event{Text: "I look", Live: true, Status: "Running 5s", Panels: panel("▸ **Command** `ls`")},
			"I look\n▸ Command `ls` · Running 5s"},
		{"it has ended", api.Event{Text: "I look", Live: true, Status: "Thinking", Panels: panel(ran)},
			"⌫✓ Command `ls` 1s\nThinking"},
		{"the same once more", api.Event{Text: "I look", Live: true, Status: "Thinking",
			Panels: panel(ran, "✓ **Command** `ls` 1s", "✗ **Read** `x`")}, "⌫✓ Command `ls` 1s\n✗ Read `x`\nThinking"},
		{"the text goes on", api.Event{Text: "I look\n\nIt is a", State: chat.CardDone, Footer: "3s",
			Panels: append(panel(ran, "✓ **Command** `ls` 1s", "✗ **Read** `x`"), api.Panel{Title: "Details", Text: "9 tokens", Last: true})},
			"⌫\nIt is a\n3s\n"},
	} {
		if got := y.sees(t, step.card); got != step.want {
			t.Errorf("%s: drawn as %q, want %q", step.name, got, step.want)
		}
	}
}

// What cannot be opened as in a chat is printed: the panels of a card that is no answer, and of one that failed.
func TestPanelsArePrinted(t *testing.T) {
	for _, state := range []chat.CardState{"", chat.CardFailed} {
		y := newTypist(t)
		got := y.sees(t, api.Event{State: state, Text: "Costs", Panels: []api.Panel{{Title: "By time", Text: "- Monday", Last: true}}})
		if !strings.HasPrefix(got, "Costs\n") || !strings.HasSuffix(got, "By time\n- Monday\n") {
			t.Errorf("%q: drawn as %q", state, got)
		}
	}
}

// However a text grows, it stands on the terminal once.
func TestAGrowingTextStandsThereOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		y := newTypist(t)
		all := rapid.StringOfN(rapid.SampledFrom([]rune("ab 鹊\n`#")), 0, 60, -1).Draw(r, "text")
		cuts := rapid.SliceOfN(rapid.IntRange(0, len([]rune(all))), 0, 5).Draw(r, "cuts")
		said, printed := 0, ""
		for _, cut := range append(cuts, len([]rune(all))) {
			said = max(said, cut)
			printed += y.sees(t, api.Event{Text: string([]rune(all)[:said]), Live: true})
		}
		if printed != all {
			r.Fatalf("%q is drawn as %q", all, printed)
		}
	})
}

func TestWhatIsTypedIntoAField(t *testing.T) {
	options := []api.Option{{Value: "x"}, {Value: "y"}}
	for _, tc := range []struct {
		kind     chat.FieldKind
		required bool
		typed    string
		want     string
		ok       bool
	}{
		{chat.One, true, "2", "y", true}, {chat.One, true, "1 2", "", false}, {chat.One, true, "", "", false},
		{chat.One, false, "", "", true}, {chat.Many, true, "1，2", "x y", true}, {chat.Many, true, "", "", false},
		{chat.Many, true, "3", "", false}, {chat.Many, false, "one", "", false},
		{chat.Words, true, "some words", "some words", true}, {chat.Words, true, "", "", false}, {chat.Words, false, "", "", true},
	} {
		got, ok := valuesOf(api.Field{Kind: tc.kind, Required: tc.required, Options: options}, tc.typed)
		if ok != tc.ok || ok && strings.Join(got, " ") != tc.want {
			t.Errorf("%+v: %q, %v", tc, got, ok)
		}
	}
}
