package bridge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"magpie/bridge/i18n"
	"magpie/bridge/workqueue"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

func TestLanguageOfAMessage(t *testing.T) {
	for text, want := range map[string]i18n.Lang{
		"你好": i18n.Chinese, "fix the 登录 bug": i18n.Chinese, "hello there": i18n.English, "ok": "", "123 + 4?": "", "": "", "👍👍👍": "",
	} {
		if got := i18n.Detect(text); got != want {
			t.Errorf("langOf(%q) = %q, want %q", text, got, want)
		}
	}
}

// A chat that speaks Chinese turns to English for a sentence, not for what a Chinese speaker types in Latin letters.
func TestLanguageToWhichAMessageTurnsAChat(t *testing.T) {
	for _, tc := range []struct {
		text         string
		zh, en, none i18n.Lang // to what it turns a chat that speaks Chinese, English, or that nobody has spoken in
	}{
		{"git status", "", i18n.English, i18n.English},
		{"docker compose up -d", "", i18n.English, i18n.English},
		{"LGTM", "", i18n.English, i18n.English},
		{"ok", "", "", ""},
		{"SELECT name FROM users WHERE id = 1 ORDER BY name", "", i18n.English, i18n.English},
		{"TypeError: x is not a function", "", i18n.English, i18n.English},
		{"fix this", "", i18n.English, i18n.English},
		{"https://example.com/what/is/the/matter", "", i18n.English, i18n.English},
		{"What is my name?", i18n.English, i18n.English, i18n.English},
		{"Please tell me what they’re doing.", i18n.English, i18n.English, i18n.English},
		{"please count to 3", i18n.English, i18n.English, i18n.English},
		{"git push to origin and tag", "", i18n.English, i18n.English},
		{"Fix the bug in the login page", i18n.English, i18n.English, i18n.English},
		{"Why does `打印()` fail in this?", i18n.English, i18n.English, i18n.English},
		{"`git status`", "", "", ""},
		{"```\nthat is what you said: 你好\n", "", "", ""},
		{"git status 是什么", i18n.Chinese, i18n.Chinese, i18n.Chinese},
	} {
		if got := i18n.DetectSwitch(tc.text, i18n.Chinese); got != tc.zh {
			t.Errorf("%q turns a Chinese chat to %q, want %q", tc.text, got, tc.zh)
		}
		if got := i18n.DetectSwitch(tc.text, i18n.English); got != tc.en {
			t.Errorf("%q turns an English chat to %q, want %q", tc.text, got, tc.en)
		}
		if got := i18n.DetectSwitch(tc.text, ""); got != tc.none {
			t.Errorf("%q turns a new chat to %q, want %q", tc.text, got, tc.none)
		}
	}
}

func TestCommandsAreRecognised(t *testing.T) {
	for text, want := range map[string]string{
		"/new": "/new", "/NEW": "/new", "/reset now": "/reset", "/stop\n": "/stop", "/nosuch": "/nosuch", "/nosuch thing": "/nosuch",
		"/etc/hosts 是什么": "", "/": "", "/ new": "", "/　new": "", "//new": "", "new": "", " /new": "", "/v1": "", "": "", "／": "",
		"／new": "/new", "／NoSuch": "/NoSuch", "/new　": "/new", "/你好": "", "/停": "/停", "/新回话": "/新回话", "/停 一下": "", "/怎么用": "", "/usr": "/usr", "／etc/hosts": "",
	} {
		cmd, name, _ := parseCommand(text)
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

// recorder is a messenger that remembers what it was told to show.
type recorder struct {
	mu        sync.Mutex
	pace      time.Duration // between two edits
	fail      error         // of Post
	edits     []chat.Card
	closed    []chat.Card
	said      []string
	reactions []string
	posts     int
	found     []chat.Sent
}

func (r *recorder) Reply(_ context.Context, _ chat.Ref, text, _ string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said = append(r.said, text)
	return "om_reply", nil
}

func (r *recorder) Post(context.Context, chat.Ref, chat.Card, string) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.posts++
	return "card", r.fail
}

func (r *recorder) Upload(context.Context, chat.Upload) (string, error) { return "file/1", nil }

func (r *recorder) Attach(context.Context, chat.Ref, string, string, string) (string, error) {
	return "om_file", nil
}

func (r *recorder) Ready(ctx context.Context, _ string) error {
	workqueue.Sleep(ctx, r.pace)
	return ctx.Err()
}

func (r *recorder) Find(context.Context, chat.Ref) ([]chat.Sent, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.found, nil
}

func (r *recorder) Signal(_ context.Context, to chat.Ref, s chat.Signal) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reactions = append(r.reactions, to.ID+" "+string(s))
	return r.fail
}

func (r *recorder) Edit(_ context.Context, _ string, c chat.Card) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.edits = append(r.edits, c)
	return nil
}

// drawn are the edits so far.
func (r *recorder) drawn() []chat.Card {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.edits)
}

func (r *recorder) Close(_ context.Context, _ string, c chat.Card) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = append(r.closed, c)
	return nil
}

// far is what it was told to show so far, while somebody may still tell it more.
func (r *recorder) far() (said []string, closed []chat.Card, posts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.said), slices.Clone(r.closed), r.posts
}

// drawing is a painter at work.
type drawing struct {
	*painter
	posted []string
	shown  []string // answers, each noted before it could be seen
	over   func()
	done   chan struct{}
}

func draw(t *testing.T, out Messenger, v view, card string) *drawing {
	d := &drawing{done: make(chan struct{})}
	d.painter = newPainter(out, target{
		card:   card,
		found:  func(context.Context) (string, error) { return "", nil },
		posted: func(_ context.Context, id string) { d.posted = append(d.posted, id) },
		shows:  func(_ context.Context, answer string) { d.shown = append(d.shown, answer) },
	}, v)
	idle, over := context.WithCancel(t.Context())
	d.over = over
	go func() { defer close(d.done); d.run(t.Context(), idle) }()
	return d
}

func (d *drawing) end() {
	d.over()
	<-d.done
}

func TestThePainterDrawsTheLatest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{pace: time.Second}
		v := newView(1, i18n.Chinese, time.Now())
		d := draw(t, rec, v, "")
		for range 100 {
			v = v.apply(claude.Text{Text: "x"}, time.Now())
			d.show(v)
			time.Sleep(100 * time.Millisecond)
		}
		d.end()
		if n := len(rec.edits); n < 9 || n > 10 {
			t.Errorf("%d edits in 10 s at one a second", n)
		}
		if last := rec.edits[len(rec.edits)-1]; len(last.Body) < 80 {
			t.Errorf("the picture drawn last was %d views old", 100-len(last.Body))
		}
		if !slices.Equal(d.posted, []string{"card"}) {
			t.Errorf("posted %v", d.posted)
		}
		for i, c := range rec.edits {
			if d.shown[i+1] != c.Body { // the first is that of the post
				t.Errorf("picture %d shows %q, noted was %q", i, c.Body, d.shown[i+1])
			}
		}
	})
}

func TestThePainterDrawsNothingTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		v := newView(1, i18n.Chinese, time.Now()).apply(claude.Text{Text: "x"}, time.Now())
		d := draw(t, rec, v, "")
		for range 5 {
			d.show(v.apply(claude.Started{}, time.Now()))
			synctest.Wait()
		}
		d.end()
		if len(rec.edits) != 0 {
			t.Errorf("%d edits", len(rec.edits))
		}
	})
}

// A painter that waits for the platform's leave to draw has nothing to wait for when the turn is over.
func TestThePainterEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{pace: time.Hour}
		v := newView(1, i18n.Chinese, time.Now())
		d := draw(t, rec, v, "")
		d.show(v.waiting(time.Now()))
		synctest.Wait()
		began := time.Now()
		d.end()
		if len(rec.edits) != 0 || time.Since(began) > time.Second {
			t.Errorf("%d edits, ended after %v", len(rec.edits), time.Since(began))
		}
	})
}

func TestACardFromBeforeARestartIsDrawnOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{fail: errors.New("a second card")}
		v := newView(1, i18n.Chinese, time.Now())
		d := draw(t, rec, v, "old")
		synctest.Wait()
		d.show(v.apply(claude.Text{Text: "x"}, time.Now()))
		synctest.Wait()
		d.end()
		if len(rec.edits) != 2 || len(d.posted) != 0 {
			t.Errorf("%d edits, posted %v", len(rec.edits), d.posted)
		}
	})
}

func TestACardThatCannotBePostedIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{fail: errors.New("the platform is away")}
		d := draw(t, rec, newView(1, i18n.Chinese, time.Now()), "")
		time.Sleep(3*repost + time.Second)
		rec.mu.Lock()
		rec.fail = nil
		rec.mu.Unlock()
		time.Sleep(repost)
		d.end()
		if rec.posts != 5 || !slices.Equal(d.posted, []string{"card"}) {
			t.Errorf("%d posts, posted %v", rec.posts, d.posted)
		}
	})
}

func TestNobodyIsToldOfAQuestionThatWasTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{fail: chat.ErrGone}
		d := draw(t, rec, newView(1, i18n.Chinese, time.Now()), "")
		<-d.done
		if rec.posts != 1 || len(d.posted) != 0 {
			t.Errorf("%d posts, posted %v", rec.posts, d.posted)
		}
	})
}
