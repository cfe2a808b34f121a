package bridge

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/internal/chat"
	"magpie/internal/claude"
)

func TestEveryTextIsThereInBothLanguages(t *testing.T) {
	v := reflect.ValueOf(texts)
	for i := range v.NumField() {
		name, p := v.Type().Field(i).Name, v.Field(i).Interface().(phrase)
		if p.ZH == "" || p.EN == "" {
			t.Errorf("%s is missing: %+v", name, p)
		}
		if strings.Count(p.ZH, "%s") != strings.Count(p.EN, "%s") {
			t.Errorf("%s takes other arguments in the other language", name)
		}
		if langOf(p.ZH) != zh || langOf(p.EN) == zh {
			t.Errorf("%s is in the wrong language: %+v", name, p)
		}
	}
}

func TestLanguageOfAMessage(t *testing.T) {
	for text, want := range map[string]lang{
		"你好": zh, "fix the 登录 bug": zh, "hello there": en, "ok": "", "123 + 4?": "", "": "", "👍👍👍": "",
	} {
		if got := langOf(text); got != want {
			t.Errorf("langOf(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestCommandsAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"/new": "/new", "/NEW": "/new", "/reset now": "/reset", "/stop\n": "/stop", "/nosuch": "/nosuch", "/nosuch thing": "/nosuch",
		"/etc/hosts 是什么": "", "/": "", "/ new": "", "//new": "", "new": "", " /new": "", "/帮助": "", "/v1": "",
	} {
		cmd, name := parseCommand(text)
		if name != want || (cmd != nil) != slices.Contains([]string{"/new", "/reset", "/stop"}, want) {
			t.Errorf("parseCommand(%q) = %v, %q, want %q", text, cmd != nil, name, want)
		}
	}
}

func TestAccess(t *testing.T) {
	room := chat.FeishuChat("oc_1")
	who := chat.Actor{ID: "ou_1"}
	for _, tc := range []struct {
		a    Access
		want bool
	}{
		{Access{}, false},
		{Access{Owner: "ou_1"}, true},
		{Access{Owner: "ou_2"}, false},
		{Access{Owner: "ou_2", Admins: []string{"ou_1"}}, true},
		{Access{Allow: []string{"ou_1"}}, true},
		{Access{Allow: []string{"oc_1"}}, true},
		{Access{Allow: []string{"oc_2", "ou_2"}}, false},
		{Access{Allow: []string{"*"}}, true},
	} {
		if got := tc.a.allows(room, who); got != tc.want {
			t.Errorf("%+v allows: %v", tc.a, got)
		}
	}
	if (Access{}).allows(room, chat.Actor{}) {
		t.Error("a user without an id is the owner that nobody named")
	}
	if err := (Access{Admins: []string{"*"}}).Validate(); err == nil {
		t.Error("everybody may become an admin")
	}
}

func TestTheViewFollowsTheEvents(t *testing.T) {
	v := newView(7, zh)
	var seen []view
	for _, ev := range []claude.Event{
		claude.Started{}, claude.Text{Text: "Let me "}, claude.Text{Text: "see."}, claude.Text{Text: "Let me look.", Whole: true},
		claude.ToolUse{ID: "1", Name: "Bash"}, claude.ToolDenied{Name: "Bash"}, claude.ToolDenied{Name: "Bash"}, claude.ToolResult{ID: "1"},
		claude.Text{Block: 1, Text: "half an"}, claude.Rewind{Block: 1}, claude.Text{Block: 1, Text: "A whole answer.", Whole: true},
	} {
		seen = append(seen, v)
		v = v.apply(ev)
	}
	c := v.card()
	if c.Body != "Let me look.\n\nA whole answer." || !c.Live || c.Footer != "未获授权的工具：Bash" || len(c.Buttons) != 1 || c.Buttons[0].Action != (chat.Action{Do: "stop", Turn: 7}) {
		t.Errorf("card %+v", c)
	}
	if got := seen[5].card().Status; got != "正在运行 Bash…" {
		t.Errorf("status while the tool runs: %q", got)
	}
	if seen[4].answer() != "Let me look." || seen[2].answer() != "Let me " {
		t.Error("later events changed an earlier view")
	}
	if done := v.end(phrase{}).card(); done.Live || done.Status != "" || len(done.Buttons) != 0 || done.Summary != "Let me look." {
		t.Errorf("at the end: %+v", done)
	}
	if stopped := v.end(texts.Stopped).card(); stopped.Status != "已停止" {
		t.Errorf("stopped: %+v", stopped)
	}
	if failed := newView(1, en).end(texts.FailAuth).card(); failed.Body != texts.FailAuth.EN || failed.Status != "" {
		t.Errorf("failed without a word: %+v", failed)
	}
	if mute := newView(1, zh).end(phrase{}).card(); mute.Body == "" {
		t.Error("an empty card")
	}
	if r := v.restarted().card(); r.Body != "" || r.Footer != "" {
		t.Errorf("begun again: %+v", r)
	}
}

func TestALongFirstLineIsCutInTheChatList(t *testing.T) {
	v := newView(1, zh).apply(claude.Text{Text: strings.Repeat("字", 100) + "\nmore"}).end(phrase{})
	if got := []rune(v.card().Summary); len(got) != summaryLength+1 || got[summaryLength] != '…' {
		t.Errorf("summary %q", string(got))
	}
}

// recorder is a messenger that remembers what it was told to show.
type recorder struct {
	mu     sync.Mutex
	pace   time.Duration // between two edits
	fail   error         // of Post
	edits  []chat.Card
	closed []chat.Card
	said   []string
}

func (r *recorder) Reply(_ context.Context, _ chat.Ref, text, _ string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, text)
	return "om_reply", nil
}

func (r *recorder) Post(context.Context, chat.Ref, chat.Card, string) (string, error) {
	return "card", r.fail
}

func (r *recorder) Ready(context.Context, string) error {
	time.Sleep(r.pace) // under the fake clock of a synctest bubble
	return nil
}

func (r *recorder) Edit(_ context.Context, _ string, c chat.Card) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.edits = append(r.edits, c)
	return nil
}

func (r *recorder) Close(_ context.Context, _ string, c chat.Card) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = append(r.closed, c)
	return nil
}

func newPainter(out Messenger, v view) (*painter, *[]string) {
	var posted []string
	return &painter{out: out, view: v, dirty: make(chan struct{}, 1), posted: func(id string) { posted = append(posted, id) }}, &posted
}

func TestThePainterDrawsTheLatestAndAlwaysTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{pace: time.Second}
		v := newView(1, zh)
		p, posted := newPainter(rec, v)
		done := make(chan error, 1)
		go func() { done <- p.run(t.Context()) }()
		for range 100 {
			v = v.apply(claude.Text{Text: "x"})
			p.show(v)
			time.Sleep(100 * time.Millisecond)
		}
		p.show(v.end(phrase{}))
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := len(rec.edits); n < 9 || n > 10 {
			t.Errorf("%d edits in 10 s at one a second", n)
		}
		if last := rec.edits[len(rec.edits)-1]; len(last.Body) < 80 {
			t.Errorf("the picture drawn last was %d views old", 100-len(last.Body))
		}
		if len(rec.closed) != 1 || rec.closed[0].Body != strings.Repeat("x", 100) || rec.closed[0].Live {
			t.Errorf("closed with %+v", rec.closed)
		}
		if !slices.Equal(*posted, []string{"card"}) {
			t.Errorf("posted %v", *posted)
		}
	})
}

func TestThePainterDrawsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		v := newView(1, zh).apply(claude.Text{Text: "x"})
		p, _ := newPainter(rec, v)
		done := make(chan error, 1)
		go func() { done <- p.run(t.Context()) }()
		for range 5 {
			p.show(v.apply(claude.Started{}))
			synctest.Wait()
		}
		p.show(v.end(phrase{}))
		if err := <-done; err != nil || len(rec.edits) != 0 || len(rec.closed) != 1 {
			t.Errorf("%d edits, %d closes, %v", len(rec.edits), len(rec.closed), err)
		}
	})
}

// The notice that a turn waits is shown by a timer, which may fire when the turn is already over.
func TestALateNoticeDoesNotUndoTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{pace: time.Second}
		v := newView(1, zh)
		p, _ := newPainter(rec, v)
		done := make(chan error, 1)
		go func() { done <- p.run(t.Context()) }()
		p.show(v.waiting())
		synctest.Wait() // until it waits for the platform
		p.show(v.end(texts.Stopped))
		p.show(v.waiting())
		if err := <-done; err != nil || len(rec.closed) != 1 || rec.closed[0].Body != "已停止" {
			t.Errorf("closed with %+v, %v", rec.closed, err)
		}
	})
}

func TestACardFromBeforeARestartIsDrawnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{fail: errors.New("a second card")}
		v := newView(1, zh)
		p, _ := newPainter(rec, v)
		p.card = "old"
		done := make(chan error, 1)
		go func() { done <- p.run(t.Context()) }()
		synctest.Wait()
		p.show(v.apply(claude.Text{Text: "x"}).end(phrase{}))
		if err := <-done; err != nil || len(rec.edits) != 1 || len(rec.closed) != 1 || len(rec.said) != 0 {
			t.Errorf("%d edits, %d closes, said %q, %v", len(rec.edits), len(rec.closed), rec.said, err)
		}
	})
}

func TestAnAnswerWithoutACardIsAReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{fail: errors.New("no cards today")}
		v := newView(1, zh)
		p, posted := newPainter(rec, v)
		done := make(chan error, 1)
		go func() { done <- p.run(t.Context()) }()
		p.show(v.apply(claude.Text{Text: "the answer"}).end(texts.Stopped))
		if err := <-done; err != nil || !slices.Equal(rec.said, []string{"the answer\n\n已停止"}) || len(*posted) != 0 {
			t.Errorf("said %q, posted %v, %v", rec.said, *posted, err)
		}
	})
}

// A message that arrives between a lane's last look and its end must not sleep for ever.
func TestALaneLooksAgain(t *testing.T) {
	ls := lanes{byChat: map[chat.Key]*lane{}}
	key := chat.FeishuChat("oc_1")
	if !ls.enter(key) {
		t.Fatal("nobody works, and I may not")
	}
	if ls.enter(key) {
		t.Fatal("two work for one chat")
	}
	if ls.leave(key) {
		t.Fatal("left although work had arrived")
	}
	if !ls.leave(key) || !ls.enter(key) {
		t.Fatal("cannot leave and come back")
	}
}

func TestStopMeansTheTurnThatRuns(t *testing.T) {
	ls := lanes{byChat: map[chat.Key]*lane{}}
	key := chat.FeishuChat("oc_1")
	if ls.stop(key, 0) {
		t.Error("stopped nothing")
	}
	ls.enter(key)
	if ls.stop(key, 0) {
		t.Error("stopped a lane without a turn")
	}
	ctx, stop := context.WithCancelCause(t.Context())
	ls.begin(key, 7, stop)
	if ls.stop(key, 6) || ctx.Err() != nil {
		t.Error("the button of an old card stopped the turn")
	}
	if !ls.running(key) || !ls.stop(key, 7) || !errors.Is(context.Cause(ctx), errStopped) {
		t.Error("the turn was not stopped")
	}
	ls.end(key)
	if ls.running(key) || ls.stop(key, 0) {
		t.Error("the turn goes on after its end")
	}
}
