package terminal

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/door"
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
	door   *Door
	h      *handler
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
	r := &rig{T: t, folder: shortDir(t), h: &handler{}}
	r.start()
	t.Cleanup(func() { r.kill() })
	return r
}

// start starts a service, with which nothing is left of an earlier one but the folder.
func (r *rig) start() {
	r.Helper()
	d, err := New(r.folder)
	if err != nil {
		r.Fatal(err)
	}
	r.door = d
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
	events    chan Event
	connected chan bool
	leave     func()
}

func (r *rig) connect(key chat.Key) *seen {
	r.Helper()
	c, err := Dial(r.Context(), r.folder, key)
	if err != nil {
		r.Fatal(err)
	}
	s := &seen{Client: c, events: make(chan Event, 100), connected: make(chan bool, 100)}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Events(ctx, func(e Event) { s.events <- e }, func(ok bool) { s.connected <- ok })
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
	id := s.NextID()
	if err := s.Say(t.Context(), id, text); err != nil {
		t.Fatal(err)
	}
	return chat.Ref{Key: s.chat, ID: id}
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
	again, err := r.door.Post(t.Context(), to, chat.Card{Body: "Ant", Live: true}, "turn:1")
	if err != nil || again != card {
		t.Errorf("posted again it is %q (%v), not %q", again, err, card)
	}
	other, err := r.door.Post(t.Context(), to, chat.Card{Body: "ask", Asks: true}, "approval:1")
	if err != nil || other == card {
		t.Errorf("another card is %q, too (%v)", other, err)
	}
	if err := errors.Join(
		r.door.Edit(t.Context(), card, chat.Card{Body: "Antwort", Live: true}),
		r.door.SetReaction(t.Context(), to, chat.Finished),
		r.door.Close(t.Context(), card, chat.Card{Body: "Antwort."}),
	); err != nil {
		t.Fatal(err)
	}
	text, err := r.door.Reply(t.Context(), to, "a note", "note")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []struct {
		what string
		ok   func(Event) bool
	}{
		{"the card", func(e Event) bool { return e.ID == card && e.To == to.ID && e.Card.Body == "Ant" && !e.Closed }},
		{"the card again", func(e Event) bool { return e.ID == card }},
		{"the question", func(e Event) bool { return e.ID == other && e.Asks }},
		{"the edit", func(e Event) bool { return e.ID == card && e.Card.Body == "Antwort" && !e.Asks && !e.Closed }},
		{"the reaction", func(e Event) bool { return e.To == to.ID && *e.Reaction == chat.Finished }},
		{"the end", func(e Event) bool { return e.ID == card && e.Card.Body == "Antwort." && e.Closed }},
		{"the note", func(e Event) bool { return e.ID == text && e.To == to.ID && e.Text == "a note" }},
	} {
		if e := <-s.events; !want.ok(e) {
			t.Errorf("%s: %+v", want.what, e)
		}
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
	r.h.err = chat.ErrDenied
	s := r.connect(Main)
	if err := s.Say(t.Context(), s.NextID(), "x"); !errors.Is(err, chat.ErrDenied) {
		t.Errorf("somebody who is denied is told %v", err)
	}
	r.h.err = chat.ErrNoChat
	s = r.connect(chat.FeishuChat("oc_x"))
	if err := s.Say(t.Context(), s.NextID(), "x"); !errors.Is(err, chat.ErrNoChat) || len(r.h.got) != 4 {
		t.Errorf("what will never be stored: %v, tried %d times", err, len(r.h.got)-3)
	}
	if m := r.h.got[3]; m.Key != chat.FeishuChat("oc_x") || m.Kind == chat.Private || m.Actor.ID != OwnerIDs()[0] {
		t.Errorf("in a chat of another door it arrives as %+v", m)
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
	if err := r.door.Edit(t.Context(), card, chat.Card{}); err == nil || errors.Is(err, chat.ErrUnreachable) {
		t.Errorf("while the terminal may come back: %v", err)
	}
	if err := os.WriteFile(SocketPath(r.folder), nil, 0o600); err != nil { // as a killed service leaves it
		t.Fatal(err)
	}
	r.start()
	if !<-s.connected {
		t.Error("the terminal has not come back")
	}
	if again, err := r.door.Post(t.Context(), to, chat.Card{Live: true}, "turn:1"); err != nil || again != card {
		t.Errorf("posted again by the new service, the card is %q (%v), not %q", again, err, card)
	}
	<-s.events
	if err := r.door.Close(t.Context(), card, chat.Card{Body: "done"}); err != nil {
		t.Fatal(err)
	}
	if e := <-s.events; e.ID != card || !e.Closed {
		t.Errorf("shown: %+v", e)
	}
}

func TestWhoCannotBeReached(t *testing.T) {
	r := newRig(t)
	s := r.connect(Main)
	to := s.say(t, "x")
	other := r.connect(chat.FeishuChat("oc_x"))

	if id, err := r.door.Reply(t.Context(), chat.Ref{Key: Main}, "to all", "digest"); err != nil || terminalOf(id) != s.id {
		t.Errorf("to the chat: %q, %v", id, err)
	}
	if e := <-s.events; e.Text != "to all" || len(other.events) > 0 {
		t.Errorf("shown: %+v; in another chat %d events", e, len(other.events))
	}
	nobody := chat.Key{Channel: channel, Kind: "chat", ID: "other"}
	if _, err := r.door.Reply(t.Context(), chat.Ref{Key: nobody}, "x", "y"); !errors.Is(err, chat.ErrUnreachable) {
		t.Errorf("to a chat without terminals: %v", err)
	}

	s.leave()
	for { // the service notices that the connection has ended
		_, err := r.door.Reply(t.Context(), to, "x", "y")
		if errors.Is(err, errAway) {
			break
		}
	}
	r.door.mu.Lock()
	r.door.terminals[s.id].left = time.Now().Add(-grace - time.Second)
	r.door.mu.Unlock()
	for range 2 { // the second time it is forgotten, and the service young
		r.door.began = time.Now().Add(-grace - time.Second)
		if _, err := r.door.Reply(t.Context(), to, "x", "y"); !errors.Is(err, chat.ErrUnreachable) {
			t.Errorf("of a terminal that has gone: %v", err)
		}
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
	if e.File != key || e.Name != "Bericht 报告.md" || e.Text != "caption" {
		t.Errorf("shown: %+v", e)
	}
	r.kill()
	r.start() // what was uploaded outlives the service
	var got bytes.Buffer
	if err := s.Fetch(t.Context(), e.File, &got); err != nil || got.String() != "content" {
		t.Errorf("fetched %q: %v", &got, err)
	}
	long := time.Now().Add(-kept - time.Minute)
	if err := os.Chtimes(filepath.Join(filesIn(r.folder), key), long, long); err != nil {
		t.Fatal(err)
	}
	if _, err := r.door.Upload(t.Context(), to, chat.Upload{Name: "next.md"}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filesIn(r.folder)); err != nil || len(left) != 1 {
		t.Errorf("later there are %v (%v)", left, err)
	}
	for _, name := range []string{"../socket", "/etc/hostname", ".", key} {
		if err := s.Fetch(t.Context(), name, &got); err == nil {
			t.Errorf("%s can be fetched", name)
		}
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
	for _, m := range []said{
		{ID: "om_1", Chat: Main.String()}, {ID: "cli:1", Chat: Main.String()}, {ID: s.NextID(), Chat: "main"},
		{ID: s.NextID(), Chat: "cli:user:1000"},
		{ID: "cli:" + s.id + ".x", Chat: Main.String()}, {ID: "cli:a:b:c:d:e.1", Chat: Main.String()},
		{ID: s.NextID(), Chat: "feishu:chat:a\x00b"}, {ID: s.NextID(), Chat: Main.String(), Text: strings.Repeat("x", maxBytes)},
	} {
		if _, err := s.send(t.Context(), m); !errors.Is(err, ErrRefused) {
			t.Errorf("%.60v: %v", m, err)
		}
	}
	if len(r.h.got) > 0 {
		t.Errorf("arrived: %+v", r.h.got)
	}
}

func TestAPathThatIsTooLong(t *testing.T) {
	if _, err := New(filepath.Join("/", strings.Repeat("x", longestPath))); err == nil {
		t.Error("it is taken")
	}
	longest := filepath.Join(shortDir(t), strings.Repeat("x", 200))[:longestPath-len("/socket")]
	if _, err := New(longest); err != nil {
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

func TestATerminalThatDoesNotRead(t *testing.T) {
	r := newRig(t)
	c, err := net.Dial("unix", SocketPath(r.folder))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // the test is over
	id := "0123456789"
	if _, err := c.Write([]byte("GET /v1/events?terminal=" + id + "&chat=cli:chat:main HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	to := chat.Ref{Key: Main, ID: "cli:" + id + ".1"}
	big := strings.Repeat("x", 1<<20)
	for {
		if _, err := r.door.Reply(t.Context(), to, "first", "y"); err == nil {
			break
		}
	}
	for range 20 {
		if _, err = r.door.Reply(t.Context(), to, big, "x"); err != nil {
			break
		}
	}
	if err == nil {
		t.Error("twenty large texts were written to a terminal that reads none")
	}
}
