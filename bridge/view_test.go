package bridge

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

func TestTheViewFollowsTheEvents(t *testing.T) {
	v, now := newView(7, i18n.Chinese, time.Now()), time.Now()
	var seen []view
	for _, ev := range []claude.Event{
		claude.Started{}, claude.Text{Text: "Let me "}, claude.Text{Text: "see."}, claude.Text{Text: "Let me look.", Whole: true},
		claude.ToolUse{ID: "1", Name: "Bash"}, claude.ToolDenied{Name: "Bash"}, claude.ToolDenied{Name: "Bash"}, claude.ToolResult{ID: "1"},
		claude.Text{Block: 1, Text: "half an"}, claude.Rewind{Block: 1}, claude.Text{Block: 1, Text: "A whole answer.", Whole: true},
	} {
		seen = append(seen, v)
		v = v.apply(ev, now)
	}
	c := v.card(now)
	if c.Body != "Let me look.\n\nA whole answer." || !c.Live || c.Footer != "未获授权的工具：Bash" || len(c.Buttons) != 1 || c.Buttons[0].Action != (chat.Action{Do: "stop", Turn: 7}) {
		t.Errorf("card %+v", c)
	}
	if got := seen[5].card(now).Status; got != "正在运行 Bash…" {
		t.Errorf("status while the tool runs: %q", got)
	}
	if seen[4].answer() != "Let me look." || seen[2].answer() != "Let me " {
		t.Error("later events changed an earlier view")
	}
	if done := v.end(outcome{state: db.Done}).card(now); done.Live || done.Status != "" || len(done.Buttons) != 1 || done.Buttons[0] != orderButton("新会话", "/new") || done.Summary != "Let me look." {
		t.Errorf("at the end: %+v", done)
	}
	if stopped := v.end(outcome{state: db.Cancelled, notice: i18n.Stopped}).card(now); stopped.Status != "已停止" {
		t.Errorf("stopped: %+v", stopped)
	}
	if failed := newView(1, i18n.English, time.Now()).end(outcome{state: db.Failed, notice: i18n.FailAuth}).card(now); failed.Body != i18n.FailAuth.EN || failed.Status != "" {
		t.Errorf("failed without a word: %+v", failed)
	}
	if mute := newView(1, i18n.Chinese, time.Now()).end(outcome{state: db.Done}).card(now); mute.Body == "" {
		t.Error("an empty card")
	}
	if r := v.restarted(now).card(now); r.Body != "" || r.Footer != "" {
		t.Errorf("begun again: %+v", r)
	}
}

func TestALongFirstLineIsCutInTheChatList(t *testing.T) {
	v := newView(1, i18n.Chinese, time.Now()).apply(claude.Text{Text: strings.Repeat("字", 100) + "\nmore"}, time.Now()).end(outcome{state: db.Done})
	if got := []rune(v.card(time.Now()).Summary); len(got) != i18n.FirstLineLength+1 || got[i18n.FirstLineLength] != '…' {
		t.Errorf("summary %q", string(got))
	}
}

func TestLaterStepsDoNotChangeAnEarlierView(t *testing.T) {
	now := time.Now()
	first := newView(1, i18n.Chinese, time.Now()).apply(claude.ToolUse{ID: "1", Name: "Bash", Input: []byte(`{"command":"make"}`)}, now)
	second := first.apply(claude.ToolResult{ID: "1", Text: "done"}, now.Add(time.Second))
	third := second.apply(claude.ToolUse{ID: "2", Name: "Read"}, now.Add(time.Second))
	if len(first.steps) != 1 || !first.steps[0].ended.IsZero() || first.steps[0].result != "" || len(second.steps) != 1 || len(third.steps) != 2 {
		t.Errorf("first %+v, second %+v", first.steps, second.steps)
	}
	if again := third.apply(claude.ToolUse{ID: "2", Name: "Read"}, now); len(again.steps) != 2 {
		t.Error("a tool that is told of twice was used twice")
	}
	if other := third.apply(claude.ToolResult{ID: "unknown"}, now); other.steps.running() == nil || other.steps.running().id != "2" {
		t.Error("the result of another tool has ended this one")
	}
}

// A card that runs for long costs few calls: the time in its state line is coarse.
func TestTheTimeIsDrawnNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		v := newView(1, i18n.Chinese, time.Now()).apply(claude.ToolUse{ID: "1", Name: "Bash"}, time.Now())
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
		if got := rec.drawn()[len(rec.drawn())-1].Status; got != "正在运行 Bash… 60 分 00 秒" {
			t.Errorf("after an hour: %q", got)
		}
		before := len(rec.drawn())
		d.show(v.end(outcome{state: db.Done})) // from here on nothing changes by itself
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(rec.drawn()); n != before+1 {
			t.Errorf("%d edits while nothing happened", n-before)
		}
		d.end()
	})
}
