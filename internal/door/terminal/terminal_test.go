package terminal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/door/api"
)

var (
	_ door.Door     = (*Door)(nil)
	_ door.Pacer    = (*Door)(nil)
	_ door.Reactor  = (*Door)(nil)
	_ door.Attacher = (*Door)(nil)
)

// handler keeps what arrives; its error is what a message is answered with.
type handler struct {
	door.Handler
	mu      sync.Mutex
	err     error
	got     []chat.Incoming
	pressed []chat.Press
}

// arrived is what was said so far.
func (h *handler) arrived() []chat.Incoming {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

func (h *handler) HandleMessage(_ context.Context, m chat.Incoming) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, m)
	err := h.err
	h.err = nil
	return err
}

func (h *handler) HandlePress(_ context.Context, p chat.Press) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pressed = append(h.pressed, p)
	return "toast", nil
}

// rig is a door whose service runs.
type rig struct {
	*testing.T
	folder string
	store  *db.DB
	door   *Door
	h      *handler
	also   http.Handler
	kill   func()
}

// shortDir is a folder with a path that fits into the address of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "door")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return filepath.Join(dir, "terminal")
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, folder: shortDir(t), store: dbtest.New(t), h: &handler{}}
	r.start()
	t.Cleanup(func() { r.kill() })
	return r
}

// start starts a service, with which nothing is left of an earlier one but the folder and the database.
func (r *rig) start() {
	r.Helper()
	d, err := New(r.folder, r.store.Programs(), zerolog.Nop())
	if err != nil {
		r.Fatal(err)
	}
	r.door, d.Also = d, r.also
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, r.h) }()
	r.kill = func() {
		cancel()
		if err := <-done; err != nil {
			r.Errorf("Run: %v", err)
		}
		r.kill = func() {}
	}
	for !d.Health().Connected {
		select {
		case err := <-done:
			r.Fatalf("Run: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

// seen is what a terminal is shown.
type seen struct {
	*Client
	events    chan api.Event
	connected chan bool
	leave     func()
}

func (r *rig) connect(key chat.Key) *seen {
	r.Helper()
	c, err := Dial(r.Context(), r.folder, key)
	if err != nil {
		r.Fatal(err)
	}
	s := &seen{Client: c, events: make(chan api.Event, 100), connected: make(chan bool, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Events(ctx, func(e api.Event) { s.events <- e }, func(ok bool) { s.connected <- ok })
	}()
	s.leave = func() { cancel(); <-done }
	r.Cleanup(s.leave)
	if !<-s.connected {
		r.Fatal("not connected")
	}
	return s
}

// say says something and returns the reference to it.
func (s *seen) say(t *testing.T, text string) chat.Ref {
	t.Helper()
	if err := s.Say(t.Context(), text, text); err != nil {
		t.Fatal(err)
	}
	return chat.Ref{Key: s.chat, ID: s.ID(text)}
}

func TestAConversationInATerminal(t *testing.T) {
	r := newRig(t)
	s := r.connect(Main)
	to := s.say(t, "你好")
	m := r.h.got[0]
	if m.Key != Main || m.Kind != chat.Private || m.ID != to.ID || m.Text != "你好" || !m.ToBot || m.Time.IsZero() {
		t.Errorf("the message arrives as %+v", m)
	}
	if m.Actor.ID != OwnerIDs()[0] || m.Actor.Name == "" || to.Channel() != channel {
		t.Errorf("its author is %+v", m.Actor)
	}

	card, err := r.door.Post(t.Context(), to, chat.Card{Body: "Ant", Live: true}, "turn:1")
	if err != nil || chat.ChannelOf(card) != channel || chat.FirstMessage(card) == to.ID {
		t.Fatalf("card %q: %v", card, err)
	}
	is := func(what string, ok func(api.Event) bool) {
		t.Helper()
		if e := <-s.events; !ok(e) {
			t.Errorf("%s: %+v", what, e)
		}
	}
	is("the card", func(e api.Event) bool { return e.ID == card && e.To == to.ID && e.Text == "Ant" && e.Live })
	again, err := r.door.Post(t.Context(), to, chat.Card{Body: "Ant", Live: true}, "turn:1")
	if err != nil || again != card {
		t.Errorf("posted again it is %q (%v), not %q", again, err, card)
	}
	is("the card again", func(e api.Event) bool { return e.ID == card })
	other, err := r.door.Post(t.Context(), to, chat.Card{Body: "ask", Asks: true}, "approval:1")
	if err != nil || other == card {
		t.Errorf("another card is %q, too (%v)", other, err)
	}
	is("the question", func(e api.Event) bool { return e.ID == other && e.Asks && e.Live })
	for _, step := range []struct {
		what string
		do   func() error
		ok   func(api.Event) bool
	}{
		{"the edit", func() error { return r.door.Edit(t.Context(), card, chat.Card{Body: "Antwort", Live: true}) },
			func(e api.Event) bool { return e.ID == card && e.Text == "Antwort" && !e.Asks && e.Live }},
		{"the reaction", func() error { return r.door.SetReaction(t.Context(), to, chat.Finished) },
			func(e api.Event) bool { return e.Kind == api.KindMessage && e.ID == to.ID && e.State == chat.CardDone }},
		{"the end", func() error { return r.door.Close(t.Context(), card, chat.Card{Body: "Antwort."}) },
			func(e api.Event) bool { return e.ID == card && e.Text == "Antwort." && !e.Live }},
		{"the note", func() error { _, err := r.door.Reply(t.Context(), to, "a note", "note"); return err },
			func(e api.Event) bool { return e.Kind == api.KindText && e.To == to.ID && e.Text == "a note" }},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		is(step.what, step.ok)
	}

	toast, err := s.Press(t.Context(), card, chat.Action{Do: "allow", Turn: 3, ID: "x"}, map[string][]string{"why": {"no"}})
	p := r.h.pressed[0]
	if err != nil || toast != "toast" || p.Card != card || p.Key != Main || p.Actor != m.Actor || p.Action.Turn != 3 ||
		p.Values["why"][0] != "no" || chat.ChannelOf(p.ID) != channel || p.ID == to.ID {
		t.Errorf("the press arrives as %+v, toast %q: %v", p, toast, err)
	}
}

func TestAMessageIsRepeatedUntilItIsStored(t *testing.T) {
	r := newRig(t)
	r.h.err = errors.New("the database is away")
	to := r.connect(Main).say(t, "hello")
	if len(r.h.got) != 2 || r.h.got[0].ID != to.ID || r.h.got[1].ID != to.ID {
		t.Errorf("arrived: %+v", r.h.got)
	}
	oc := chat.FeishuChat("oc_x")
	for _, tc := range []struct {
		key chat.Key
		err error
	}{{Main, chat.ErrDenied}, {oc, chat.ErrNoChat}, {oc, chat.ErrElsewhere}} {
		before := len(r.h.got)
		r.h.err = tc.err
		s := r.connect(tc.key)
		if err := s.Say(t.Context(), "1", "x"); !errors.Is(err, tc.err) || len(r.h.got) != before+1 {
			t.Errorf("%v: %v, tried %d times", tc.err, err, len(r.h.got)-before)
		}
		if m := r.h.got[before]; m.Key != tc.key || m.Actor.ID != OwnerIDs()[0] {
			t.Errorf("it arrives as %+v", m)
		}
	}
}

func TestATerminalSurvivesTheService(t *testing.T) {
	r := newRig(t)
	s := r.connect(Main)
	to := s.say(t, "a question")
	card, err := r.door.Post(t.Context(), to, chat.Card{Live: true}, "turn:1")
	if err != nil {
		t.Fatal(err)
	}
	<-s.events
	r.kill()
	if <-s.connected {
		t.Error("the terminal does not see that the service has gone")
	}
	if err := r.door.Edit(t.Context(), card, chat.Card{Body: "more", Live: true}); err != nil { // while the terminal is away
		t.Error(err)
	}
	if err := os.WriteFile(SocketPath(r.folder), nil, 0o600); err != nil { // as a killed service leaves it
		t.Fatal(err)
	}
	r.start()
	if !<-s.connected {
		t.Error("the terminal has not come back")
	}
	if e := <-s.events; e.ID != card || e.Text != "more" {
		t.Errorf("what it has missed is %+v", e)
	}
	if again, err := r.door.Post(t.Context(), to, chat.Card{Live: true}, "turn:1"); err != nil || again != card {
		t.Errorf("posted again by the new service, the card is %q (%v), not %q", again, err, card)
	}
	<-s.events
	if err := r.door.Close(t.Context(), card, chat.Card{Body: "done"}); err != nil {
		t.Fatal(err)
	}
	if e := <-s.events; e.ID != card || e.Live {
		t.Errorf("shown: %+v", e)
	}
}

// A terminal shows what answers it and what answers that, and what is for all in its own chat, but nothing that another one
// has asked, and nothing of what was before. In a pipe it shows nothing for all.
func TestEachTerminalShowsItsOwn(t *testing.T) {
	r := newRig(t)
	reply := func(to chat.Ref, text string) (id string) {
		t.Helper()
		id, err := r.door.Reply(t.Context(), to, text, "x")
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	reply(chat.Ref{Key: Main}, "long ago")
	a, b, pipe, oc := r.connect(Main), r.connect(Main), r.connect(Main), r.connect(chat.FeishuChat("oc_x"))
	pipe.Alone = true
	to := a.say(t, "x")
	if err := r.door.SetReaction(t.Context(), to, chat.Working); err != nil {
		t.Fatal(err)
	}
	reply(chat.Ref{Key: Main, ID: reply(to, "to one")}, "about that")
	reply(oc.say(t, "y"), "there")
	reply(chat.Ref{Key: Main, ID: reply(chat.Ref{Key: Main}, "to all")}, "about that, too")
	reply(chat.Ref{Key: Main, ID: "press:schedule:1:2"}, "a run")
	reply(pipe.say(t, "z"), "into the pipe")
	for _, tc := range []struct {
		what string
		s    *seen
		want []string
	}{
		{"the one", a, []string{"", "to one", "about that", "to all", "about that, too", "a run"}},
		{"the other", b, []string{"to all", "about that, too", "a run"}}, {"a chat", oc, []string{"there"}},
		{"a pipe", pipe, []string{"into the pipe"}},
	} {
		for _, want := range tc.want {
			if e := <-tc.s.events; e.Text != want {
				t.Errorf("%s is shown %+v, want %q", tc.what, e, want)
			}
		}
	}
	if _, err := r.door.Reply(t.Context(), chat.Ref{Key: oc.chat}, "x", "y"); !errors.Is(err, chat.ErrUnreachable) {
		t.Errorf("what is for all in a chat of another door: %v", err)
	}
}

// Who has gone decides nothing any more, also if another terminal is in the chat.
func TestWhoCannotBeAsked(t *testing.T) {
	r := newRig(t)
	s, _ := r.connect(Main), r.connect(Main)
	to := s.say(t, "x")
	asks := func() error {
		_, err := r.door.Post(t.Context(), to, chat.Card{Asks: true}, "approval:1")
		return err
	}
	if err := asks(); err != nil {
		t.Fatal(err)
	}
	s.leave()
	for err := asks(); ; err = asks() { // until the service notices that the connection has ended
		if err != nil {
			if errors.Is(err, chat.ErrUnreachable) {
				t.Errorf("of a terminal that may be back: %v", err)
			}
			break
		}
	}
	if _, err := r.door.Reply(t.Context(), to, "an answer", "y"); err != nil {
		t.Errorf("what asks nothing: %v", err)
	}
}

// Idempotency-Keys are those of one asker in one chat.
func TestTheSamePress(t *testing.T) {
	r := newRig(t)
	a, b := r.connect(Main), r.connect(chat.Key{Channel: channel, Kind: "chat", ID: "other"})
	for _, s := range []*seen{a, a, b} {
		if err := s.send(t.Context(), "presses", "1", api.Press{Card: "x"}, &struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	if p := r.h.pressed; p[0].ID != p[1].ID || p[0].ID == p[2].ID {
		t.Errorf("the presses are %q, %q and %q", p[0].ID, p[1].ID, p[2].ID)
	}
}

// While the database is away, a terminal waits as for the service.
func TestATerminalWithoutADatabase(t *testing.T) {
	r := newRig(t)
	s := r.connect(Main)
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if <-s.connected {
		t.Error("the terminal does not wait")
	}
	for range 3 {
		err := s.call(t.Context(), http.MethodGet, s.path("events"), nil, nil, &struct{}{})
		if err == nil || !errors.Is(err, ErrRefused) {
			t.Errorf("events without a database: %v", err)
		}
	}
	if len(s.connected) > 0 {
		t.Error("the service is back, and away again")
	}
}

func TestFilesForATerminal(t *testing.T) {
	r := newRig(t)
	s := r.connect(Main)
	to := s.say(t, "x")
	key, err := r.door.Upload(t.Context(), to, chat.Upload{Name: "../../etc/Bericht 报告.md", Data: []byte("content")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.door.Attach(t.Context(), to, key, "caption", "file:1"); err != nil {
		t.Fatal(err)
	}
	e := <-s.events
	if e.Kind != api.KindFile || e.File.Name != "Bericht 报告.md" || e.Text != "caption" {
		t.Fatalf("shown: %+v", e)
	}
	r.kill()
	fetched := make(chan string)
	go func() {
		got, err := s.Fetch(t.Context(), *e.File)
		fetched <- fmt.Sprint(string(got), err)
	}()
	r.start() // what was uploaded outlives the service, which is waited for
	if got := <-fetched; got != "content<nil>" {
		t.Errorf("fetched %s", got)
	}
	if _, err := s.Fetch(t.Context(), api.File{URL: s.path("files/other")}); err == nil {
		t.Error("a file that is not there can be fetched")
	}
}

func TestOnlyTheOwnerReachesTheSocket(t *testing.T) {
	r := newRig(t)
	folder, err := os.Stat(r.folder)
	if err != nil || folder.Mode().Perm() != 0o700 {
		t.Errorf("the folder: %v, %v", folder.Mode(), err)
	}
	socket, err := os.Stat(SocketPath(r.folder))
	if err != nil || socket.Mode().Perm() != 0o600 {
		t.Errorf("the socket: %v, %v", socket.Mode(), err)
	}
}

func TestWhatIsNoRequestOfATerminal(t *testing.T) {
	r := newRig(t)
	s := r.connect(Main)
	for _, tc := range []struct {
		path string
		in   any
		want error
	}{
		{"/api/chats/main/messages", map[string]string{"text": "x"}, chat.ErrNoChat},
		{"/api/chats/feishu:chat:a%00b/messages", map[string]string{"text": "x"}, chat.ErrNoChat},
		{"/api/chats/cli:user:1000/messages", map[string]string{"text": "x"}, chat.ErrNoChat},
		{"/api/chats/cli:room:x/messages", map[string]string{"text": "x"}, chat.ErrNoChat},
		{"/api/chats", map[string]string{}, chat.ErrNoChat},
		{"/api/triggers/x", map[string]string{}, chat.ErrNoChat},
		{s.path("messages"), map[string]string{}, ErrRefused},
		{s.path("messages"), "text", ErrRefused},
		{s.path("messages"), map[string]string{"text": strings.Repeat("x", 17<<20)}, ErrRefused},
	} {
		if err := s.call(t.Context(), http.MethodPost, tc.path, nil, tc.in, &struct{}{}); !errors.Is(err, tc.want) {
			t.Errorf("%s %.60v: %v", tc.path, tc.in, err)
		}
	}
	if len(r.h.got) > 0 {
		t.Errorf("arrived: %+v", r.h.got)
	}
}

func TestAPathThatIsTooLong(t *testing.T) {
	store := dbtest.New(t).Programs()
	if _, err := New(filepath.Join("/", strings.Repeat("x", longestPath)), store, zerolog.Nop()); err == nil {
		t.Error("it is taken")
	}
	longest := filepath.Join(shortDir(t), strings.Repeat("x", 200))[:longestPath-len("/socket")]
	if _, err := New(longest, store, zerolog.Nop()); err != nil {
		t.Error(err)
	}
	if err := os.MkdirAll(longest, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", SocketPath(longest))
	if err != nil {
		t.Fatalf("the system takes no path of %d bytes: %v", longestPath, err)
	}
	_ = l.Close()
}

// stopped is a connection whose other end reads nothing.
type stopped struct{ http.ResponseWriter }

func (stopped) Write([]byte) (int, error) { return 0, os.ErrDeadlineExceeded }

// A terminal that is stopped for long is disconnected. It gets what it has missed when it goes on.
func TestATerminalThatDoesNotRead(t *testing.T) {
	r := newRig(t)
	ctx := context.WithValue(t.Context(), peerKey{}, Peer{UID: os.Geteuid()})
	q := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/chats/"+Main.String()+"/events", nil)
	r.door.Handler().ServeHTTP(stopped{httptest.NewRecorder()}, q) // which returns
	if n := r.door.Waiting(); n != 0 {
		t.Errorf("%d still wait", n)
	}
}
