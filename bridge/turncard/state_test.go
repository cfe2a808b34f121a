package turncard

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

func TestTheViewFollowsTheEvents(t *testing.T) {
	v, now := New(7, i18n.Chinese, time.Now()), time.Now()
	var seen []State
	for _, ev := range []claude.Event{
		claude.Started{}, claude.Text{Text: "Let me "}, claude.Text{Text: "see."},
		claude.Text{Text: "Let me look.", Whole: true},
		claude.ToolUse{ID: "1", Name: "Bash"}, claude.ToolDenied{Name: "Bash"}, claude.ToolDenied{Name: "Bash"},
		claude.ToolResult{ID: "1"},
		claude.Text{Block: 1, Text: "half an"}, claude.Rewind{Block: 1},
		claude.Text{Block: 1, Text: "A whole answer.", Whole: true},
	} {
		seen = append(seen, v)
		v = v.Apply(ev, now)
	}
	c := v.Card(now)
	if c.Body != "Let me look.\n\nA whole answer." || !c.Live || c.Footer != "已拒绝：Bash" || len(c.Buttons) != 1 ||
		c.Buttons[0].Action != (chat.Action{Do: "stop", Turn: 7}) {
		t.Errorf("card %+v", c)
	}
	if got := seen[5].Card(now).Status; got != "正在运行命令…" {
		t.Errorf("status while the tool runs: %q", got)
	}
	if seen[4].Answer() != "Let me look." || seen[2].Answer() != "Let me " {
		t.Error("later events changed an earlier view")
	}
	if done := v.Finish(Outcome{State: convo.Done}).Card(now); done.Live || done.Status != "" || len(done.Buttons) != 1 ||
		done.Buttons[0].Action != (chat.Action{Do: DoCommand, ID: "/new", Turn: 7}) || done.Summary != "Let me look." {
		t.Errorf("at the end: %+v", done)
	}
	if stopped := v.Finish(Outcome{State: convo.Cancelled, Notice: i18n.Stopped}).Card(now); stopped.Title != "已停止" ||
		stopped.State != chat.CardQueued || stopped.Status != "" {
		t.Errorf("stopped: %+v", stopped)
	}
	if failed := New(1, i18n.English, time.Now()).Finish(Outcome{State: convo.Failed,
		Notice: i18n.FailAuth}).Card(now); failed.Body != i18n.FailAuth.EN || failed.Status != "" {
		t.Errorf("failed without text: %+v", failed)
	}
	if mute := New(1, i18n.Chinese, time.Now()).Finish(Outcome{State: convo.Done}).Card(now); mute.Body == "" {
		t.Error("an empty card")
	}
	if r := v.Restarted(now).Card(now); r.Body != "" || r.Footer != "" {
		t.Errorf("begun again: %+v", r)
	}
}

func TestALongFirstLineIsCutInTheChatList(t *testing.T) {
	v := New(1, i18n.Chinese, time.Now()).Apply(claude.Text{Text: strings.Repeat("字", 100) + "\nmore"},
		time.Now()).Finish(Outcome{State: convo.Done})
	if got := []rune(v.Card(time.Now()).Summary); len(got) != i18n.FirstLineLength+1 ||
		got[i18n.FirstLineLength] != '…' {
		t.Errorf("summary %q", string(got))
	}
}

func TestLaterStepsDoNotChangeAnEarlierView(t *testing.T) {
	now := time.Now()
	first := New(1, i18n.Chinese, time.Now()).Apply(claude.ToolUse{ID: "1", Name: "Bash",
		Input: []byte(`{"command":"make"}`)}, now)
	second := first.Apply(claude.ToolResult{ID: "1", Text: "done"}, now.Add(time.Second))
	third := second.Apply(claude.ToolUse{ID: "2", Name: "Read"}, now.Add(time.Second))
	if len(first.steps) != 1 || !first.steps[0].ended.IsZero() || first.steps[0].result != "" ||
		len(second.steps) != 1 || len(third.steps) != 2 {
		t.Errorf("first %+v, second %+v", first.steps, second.steps)
	}
	if again := third.Apply(claude.ToolUse{ID: "2", Name: "Read"}, now); len(again.steps) != 2 {
		t.Error("a tool that is announced twice was counted twice")
	}
	if other := third.Apply(claude.ToolResult{ID: "unknown"}, now); other.steps.oldestRunning() == nil ||
		other.steps.oldestRunning().id != "2" {
		t.Error("the result of another tool ended this one")
	}
}

// A card that runs for long costs few calls: the time in its status line is coarse.
func TestTheTimeIsDrawnRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		v := New(1, i18n.Chinese, time.Now()).Apply(claude.ToolUse{ID: "1", Name: "Bash"}, time.Now())
		d := draw(t, rec, v, "")
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if n := len(rec.drawn()); n != 12 {
			t.Errorf("%d edits in a minute", n)
		}
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		if n := len(rec.drawn()); n > 12+16+56 {
			t.Errorf("%d edits in an hour", n)
		}
		if got := rec.drawn()[len(rec.drawn())-1].Status; got != "正在运行命令… 60 分 00 秒" {
			t.Errorf("after an hour: %q", got)
		}
		before := len(rec.drawn())
		d.Update(v.Finish(Outcome{State: convo.Done})) // from here on nothing changes on its own
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(rec.drawn()); n != before+1 {
			t.Errorf("%d edits while nothing happened", n-before)
		}
		d.end()
	})
}

func TestTheViewWaitsForPeople(t *testing.T) {
	v, now := New(7, i18n.English, time.Now()), time.Now() // a long wait changes the card as well
	status := func(want string, events ...claude.Event) {
		t.Helper()
		for _, ev := range events {
			v = v.Apply(ev, now)
		}
		if got := v.Card(now).Status; got != want {
			t.Errorf("status %q, want %q", got, want)
		}
	}
	status("Waiting for you…", claude.ToolUse{ID: "1", Name: "Bash"}, claude.ToolAsk{ID: "a", Name: "Bash"},
		claude.ToolAsk{ID: "b", Name: "Read"})
	status("Waiting for you…", claude.ToolAllowed{ID: "1", Name: "Bash"})
	status("Running a command…", claude.ToolDenied{Name: "Read"})
	status("Waiting for you…", claude.ToolAsk{ID: "c", Name: claude.QuestionTool})
	status("Running a command…", claude.ToolAskEnd{ID: "c"})
	v = v.Apply(claude.ToolAsk{ID: "d", Name: claude.PlanTool}, now).Apply(claude.ToolDenied{Name: claude.PlanTool}, now)
	if got := v.Card(now).Footer; !strings.Contains(got, "Read") || strings.Contains(got, claude.PlanTool) {
		t.Errorf("refused tools %q", got)
	}
}

// Text after a decision is on a message below the decision. Several decisions without text in between need only one.
func TestTextAfterADecisionIsBelowIt(t *testing.T) {
	now := time.Now()
	ask := func(v State) State { return v.WithQuestionAsked().Apply(claude.ToolAsk{}, now) }
	v := New(7, i18n.English, now).Apply(claude.Text{Text: "I will run it."}, now)
	v = ask(v)
	if c := v.Card(now); c.Body != "I will run it." || c.Earlier != nil {
		t.Errorf("while people are asked: %+v", c)
	}
	v = ask(v.Apply(claude.ToolAllowed{}, now)).Apply(claude.ToolDenied{Name: "Bash"}, now)
	before := v
	v = v.Apply(claude.Text{Block: 1, Text: "It has"}, now).Apply(claude.Text{Block: 1, Text: " run."}, now)
	first := chat.Part{Body: "I will run it.", Status: i18n.CardGoesOnBelow.EN}
	if c := v.Card(now); c.Body != "It has run." || !slices.Equal(c.Earlier, []chat.Part{first}) {
		t.Errorf("after two decisions: %+v", c)
	}
	if v.Answer() != "I will run it.\n\nIt has run." || before.Card(now).Earlier != nil {
		t.Errorf("answer %q, before %+v", v.Answer(), before.Card(now))
	}
	v = v.Apply(claude.Rewind{Block: 1}, now)
	if c := v.Card(now); c.Body != "" || len(c.Earlier) != 1 {
		t.Errorf("taken back: %+v", c)
	}
	v = v.Apply(claude.Text{Block: 1, Text: "It did."}, now)
	if c := v.Finish(Outcome{State: convo.Done}).Card(now); c.Body != "It did." || len(c.Earlier) != 1 {
		t.Errorf("at the end: %+v", c)
	}
	if c := before.Finish(Outcome{State: convo.Done}).Card(now); c.Body != i18n.NoAnswer.EN || len(c.Earlier) != 1 {
		t.Errorf("ended without text: %+v", c)
	}
	if c := ask(v).Finish(Outcome{State: convo.Interrupted, Notice: i18n.Interrupted}).Card(now); c.Body != "It did." {
		t.Errorf("interrupted while people are asked: %+v", c)
	}
	if c := v.Restarted(now).Apply(claude.Text{Text: "Once more."}, now).Card(now); c.Body != "Once more." ||
		!slices.Equal(c.Earlier, []chat.Part{{Status: first.Status}}) {
		t.Errorf("begun again: %+v", c)
	}
	if c := New(7, i18n.English, now).WithAnswer(v.Parts()...).Card(now); c.Body != "It did." || len(c.Earlier) != 1 {
		t.Errorf("after a crash: %+v", c)
	}
}
