package claude_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// The process of a chat is asked for a title, with both versions of the CLI. Nothing else contains it: neither the next
// turn's prompt nor the transcript. It is charged once.
func TestATitleByTheProcessOfTheChat(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, func(c *claude.Config) { c.Command = command })
		a, b := fresh(), fresh()
		say := func(owner string, spec claude.Spec, text string) claude.Result {
			t.Helper()
			got := r.turn(t.Context(), owner, spec, text)
			if got.err != nil || got.result.Failure != "" {
				t.Fatalf("%v, %+v", got.err, got.result)
			}
			return got.result
		}
		first := say("a", a, "数到 3")
		say("b", b, "数到 3")
		title, err := r.pool.Title(t.Context(), a.Session, "counting magpies")
		if err != nil || title.Text == "" || title.CostUSD <= 0 || title.Usage.Input == 0 || title.Usage.Output == 0 ||
			title.Model != first.Model {
			t.Fatalf("%+v, %v", title, err)
		}
		asked := r.model.Requests()[2]
		if !strings.Contains(asked.LastUser(), "counting magpies") || strings.Contains(asked.AllText(), "数到") ||
			len(asked.Tools) != 0 {
			t.Errorf("the model was asked %q with tools %v", asked.AllText(), asked.Tools)
		}
		with, without := say("a", a, "数到 4"), say("b", b, "数到 4")
		if with.Usage != without.Usage || with.CostUSD > without.CostUSD+title.CostUSD/10 {
			t.Errorf("the next turn used %+v for %f, without a title %+v for %f", with.Usage, with.CostUSD,
				without.Usage, without.CostUSD)
		}
		list := r.model.Requests()
		for _, part := range []string{"system", "messages", "tools"} {
			x, y := gjson.GetBytes(list[3].Body, part).Raw, gjson.GetBytes(list[4].Body, part).Raw
			if x = strings.ReplaceAll(x, a.Session, b.Session); x != y || x == "" {
				t.Errorf("%s differ:\n%s\n%s", part, x, y)
			}
		}
		if s := r.pool.Stats(); s.Started != 2 {
			t.Errorf("%+v", s)
		}
		<-r.pool.Drop("a")
		path, err := r.cfg.Transcripts("").Path(r.cfg.Project, a.Session)
		must(t, err)
		data, err := os.ReadFile(path)
		must(t, err)
		if strings.Contains(string(data), "counting magpies") || strings.Contains(string(data), title.Text) {
			t.Error("the transcript contains the title")
		}
	})
}

// Without an idle process there is no title, and no process is started for one.
func TestATitleTakesNoStart(t *testing.T) {
	r := scriptedRig(t, func(*claude.Config) {})
	a := fresh()
	ask := func(session string) error {
		_, err := r.pool.Title(t.Context(), session, "hello")
		return err
	}
	if err := ask(a.Session); err != claude.ErrNoProcess {
		t.Errorf("before the first turn: %v", err)
	}
	r.turn(t.Context(), "a", a, "hello")
	if err := ask(fresh().Session); err != claude.ErrNoProcess {
		t.Errorf("another session: %v", err)
	}
	if err := ask(a.Session); err != nil || r.pool.Stats().Started != 1 {
		t.Errorf("%v, %+v", err, r.pool.Stats())
	}
}

// A title that is asked for while a turn runs is charged with the turn, once.
func TestATitleDuringATurn(t *testing.T) {
	r := scriptedRig(t, func(*claude.Config) {})
	a := fresh()
	r.turn(t.Context(), "a", a, "hello")
	asked := make(chan struct{})
	next := r.turn(t.Context(), "a", a, "hello", func(ev claude.Event) {
		if _, ok := ev.(claude.Started); !ok {
			return
		}
		go func() {
			defer close(asked)
			during, err := r.pool.Title(t.Context(), a.Session, "hello")
			if err != nil || during.Text == "" || during.CostUSD != 0 || during.Usage != (claude.Usage{}) {
				t.Errorf("%+v, %v", during, err)
			}
		}()
		if err := poll(t.Context(), "the request",
			func() bool { return blocked("claude.requestControl(") > 0 }); err != nil {
			t.Error(err)
		}
	})
	<-asked
	after, err := r.pool.Title(t.Context(), a.Session, "hello")
	if err != nil || after.CostUSD == 0 || after.Usage.Input == 0 {
		t.Errorf("%+v, %v", after, err)
	}
	last := r.turn(t.Context(), "a", a, "hello")
	const each = 0.001 // any value
	if all := next.result.CostUSD + after.CostUSD + last.result.CostUSD; all < 3.9*each || all > 4.1*each {
		t.Errorf("two turns and two titles cost %f", all) // the next report contains the first title's cost
	}
}
