package bridge

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"magpie/bridge/turncard"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
)

// giver is a messenger that remembers the files that it was given and has shown.
type giver struct {
	recorder
	mu      sync.Mutex
	refuse  error // of Upload
	fail    error // of Attach
	uploads []chat.Upload
	shown   map[string]string // what was attached, by idem
	order   []string          // what was shown, in order
}

func (g *giver) Upload(_ context.Context, u chat.Upload) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.refuse != nil {
		return "", g.refuse
	}
	g.uploads = append(g.uploads, u)
	return fmt.Sprintf("file/%d", len(g.uploads)), nil
}

func (g *giver) Attach(_ context.Context, to chat.Ref, name, caption, idem string) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil {
		return "", g.fail
	}
	if g.shown == nil {
		g.shown = map[string]string{}
	}
	if _, again := g.shown[idem]; !again {
		g.order = append(g.order, "file for "+to.ID)
	}
	g.shown[idem] = name + " " + caption
	return "om_" + strings.ReplaceAll(name, "/", "_"), nil
}

func (g *giver) Close(ctx context.Context, id string, c chat.Card) error {
	g.mu.Lock()
	g.order = append(g.order, "card")
	g.mu.Unlock()
	return g.recorder.Close(ctx, id, c)
}

func (g *giver) set(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f()
}

func (g *giver) got() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.order)
}

// taken are the files that were uploaded so far.
func (g *giver) taken() []chat.Upload {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.uploads)
}

// studio is a bridge whose outbox delivers and whose agent is the test.
type studio struct {
	*line
	out     *giver
	project string
	dir     string // of what goes out
	claim   db.Claim
}

func newStudio(t *testing.T) *studio {
	t.Helper()
	s := &studio{out: &giver{}}
	s.line = newLine(t, s.out)
	s.project, s.dir = t.TempDir(), filepath.Join(t.TempDir(), "outgoing")
	s.bridge.outbox.fileDelivery.copies = fileSpool{dir: s.dir}
	mustWrite(t, filepath.Join(s.project, "plot.png"), pixels(t))
	mustWrite(t, filepath.Join(s.project, "报告 1.txt"), []byte("words"))
	return s
}

// deliver lets the outbox work until the test ends.
func (s *studio) deliver() {
	s.Helper()
	s.bridge.outbox.fileDelivery.tidyUp(s.Context(), s.bridge.log)
	ctx, cancel := context.WithCancel(s.Context())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); s.bridge.outbox.run(ctx, stop) }()
	s.stop = sync.OnceFunc(func() { close(stop); cancel(); <-done })
}

// begin lets a turn run.
func (s *studio) begin(id string) {
	s.Helper()
	_, err := s.bridge.db.Accept(s.Context(), db.Inbound{Incoming: heard(id, "plot it"), Class: chat.Talk})
	s.must(err)
	s.claim, err = s.bridge.db.Queue().Claim(s.Context(), room, db.TurnIDs{Session: "s", Prompt: "p-" + id}, true)
	s.must(err)
	s.Cleanup(s.bridge.toolHandlers.attend(s.claim, s.project))
}

func (s *studio) send(path, caption string) (string, error) {
	return s.bridge.toolHandlers.sendFile(s.Context(), room, toSend{path, caption})
}

func (s *studio) copies() int {
	s.Helper()
	list, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	return len(list)
}

func TestTheAgentSendsFiles(t *testing.T) {
	s := newStudio(t)
	s.deliver()
	s.begin("om_1")
	for _, tt := range []struct{ path, caption, want string }{
		{"plot.png", "the plot", "see the picture \"plot.png\""},
		{"plot.png", "the plot", "already"},
		{"./报告 1.txt", "", "open \"报告 1.txt\""},
	} {
		if got, err := s.send(tt.path, tt.caption); err != nil || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, %v", tt.path, got, err)
		}
	}
	if _, err := s.send("../plot.png", ""); !errors.As(err, new(*agenttools.RefusedError)) {
		t.Errorf("from elsewhere: %v", err)
	}
	if _, err := s.send("plot.png", strings.Repeat("字", longestCaption+1)); !errors.As(err, new(*agenttools.RefusedError)) {
		t.Errorf("a long caption: %v", err)
	}
	up := s.out.taken()
	if len(up) != 2 || !up[0].Picture || up[0].Name != "plot.png" || up[1].Picture || string(up[1].Data) != "words" {
		t.Errorf("uploads %+v", up)
	}
	if got := s.out.got(); !slices.Equal(got, []string{"file for om_1", "file for om_1"}) {
		t.Errorf("shown %v", got)
	}
	s.until("no copy", func() bool { return s.copies() == 0 })
	if n := s.count(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND content IN ('[图片 plot.png] the plot', '[文件 报告 1.txt]')`); n != 2 {
		t.Errorf("the History knows of %d files", n)
	}
}

// Between two turns there is nobody to whom anything could be sent; and one turn does not flood the chat.
func TestTheAgentSendsOnlyWhatIsAskedFor(t *testing.T) {
	s := newStudio(t)
	if _, err := s.send("plot.png", ""); !errors.Is(err, errNobodyAsks) {
		t.Errorf("unasked: %v", err)
	}
	s.deliver()
	s.begin("om_1")
	for i := range mostSent {
		if _, err := s.send("plot.png", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := s.send("plot.png", "one more"); !errors.As(err, new(*agenttools.RefusedError)) {
		t.Errorf("sent %q, %v", got, err)
	}
	s.until("no copy", func() bool { return s.copies() == 0 })
}

// What an agent gives as the first thing of all is not taken for what an earlier process has left.
func TestAFileThatIsSentAtTheStart(t *testing.T) {
	s := newStudio(t)
	left := mustWrite(t, filepath.Join(s.dir, "left over"), []byte("from a crash"))
	s.say("om_1", "plot it")
	var gone error
	s.bridge.answer = func(tn *turn, ctx context.Context) turncard.Outcome {
		_, gone = os.Stat(left)
		return turncard.Outcome{State: db.Done}
	}
	s.start()
	s.until("the turn", func() bool { return s.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 1 })
	s.stop()
	if !errors.Is(gone, os.ErrNotExist) {
		t.Errorf("tidied up while turns run: %v", gone)
	}
}

// What the platform does not take is said to the people and to the agent, and holds nothing up.
func TestAFileThatThePlatformRefuses(t *testing.T) {
	s := newStudio(t)
	s.out.refuse = fmt.Errorf("%w: code 234001", chat.ErrNotTaken)
	s.deliver()
	s.begin("om_1")
	if got, err := s.send("plot.png", ""); !errors.As(err, new(*agenttools.RefusedError)) || !strings.Contains(err.Error(), "does not take") {
		t.Errorf("%q, %v", got, err)
	}
	if said, _, _ := s.out.far(); !slices.Equal(said, []string{"文件“plot.png”没有发出：平台不接受它。"}) {
		t.Errorf("said %q", said)
	}
	s.until("no copy", func() bool { return s.copies() == 0 })
	s.out.set(func() { s.out.refuse, s.out.fail = nil, chat.ErrUnreachable })
	if got, err := s.send("报告 1.txt", ""); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("into nothing: %q, %v", got, err)
	}
}

// A file waits for a platform that is away, over restarts, and is shown once; its turn's card does not wait for it for
// ever.
func TestAFileIsDeliveredOverRestarts(t *testing.T) {
	s := newStudio(t)
	s.begin("om_1")
	turn, away := s.claim.Turn, errors.New("the platform is away")
	s.out.fail = away
	c, err := s.bridge.outbox.fileDelivery.copies.take(s.project, "plot.png")
	s.must(err)
	fileDelivery := s.bridge.db.Outbox().FileDeliveries()
	p, _, err := fileDelivery.Leave(s.Context(), turn, db.FileDelivery{Name: "plot.png", Picture: true, Size: c.size, Copy: c.name}, "file:1")
	s.must(err)
	s.must(s.bridge.finish(s.Context(), db.TurnResult{Turn: turn, State: db.Done, Answer: "here it is"}))
	for range patienceWithFiles {
		post, err := s.bridge.db.Outbox().Next(s.Context(), room)
		s.must(err)
		if post.Parcel == nil {
			t.Fatalf("the card went first: %+v", post)
		}
		s.bridge.outbox.deliver(s.Context(), post)
	}
	mustWrite(t, filepath.Join(s.dir, "left over"), []byte("from a crash"))
	// another process
	again := newOutbox(s.bridge.db, s.out, s.bridge.outbox.fileDelivery.copies, s.bridge.outbox.lang, s.bridge.log)
	s.bridge.outbox = again
	s.deliver()
	s.until("the card", func() bool { return slices.Equal(s.out.got(), []string{"card"}) })
	s.out.set(func() { s.out.fail = nil })
	s.until("the file", func() bool { return slices.Equal(s.out.got(), []string{"card", "file for om_1"}) })
	s.until("an empty outbox", func() bool { return s.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	s.until("no copy", func() bool { return s.copies() == 0 })
	if got, err := fileDelivery.Get(s.Context(), p.ID); err != nil || got.State != db.Shown || len(s.out.taken()) != 1 {
		t.Errorf("%+v, %v, %d uploads", got, err, len(s.out.taken()))
	}
}

// A file that may have been shown long ago is looked for by the platform's name of it.
func TestAFileThatMayHaveBeenShownLongAgoIsLookedFor(t *testing.T) {
	s := newStudio(t)
	s.begin("om_1")
	p := db.Post{Key: room, Turn: s.claim.Turn.ID, ReplyTo: "om_1", Created: time.Now().Add(-2 * keysLast), Text: "words",
		Parcel: &db.FileDelivery{ID: 1, Name: "a.md", Upload: "file/7", State: db.OnItsWay}}
	s.out.found = []chat.Sent{{ID: "om_card", Card: "om_card/x"}, {ID: "om_other", File: "file/6"}, {ID: "om_it", File: "file/7"}}
	if id, err := s.bridge.outbox.show(s.Context(), p); err != nil || id != "om_it" || len(s.out.shown) != 0 {
		t.Errorf("%s, %v, shown %v", id, err, s.out.shown)
	}
	s.out.found = s.out.found[:2]
	if id, err := s.bridge.outbox.show(s.Context(), p); err != nil || id != "om_file_7" {
		t.Errorf("%s, %v", id, err)
	}
}

// In a topic it is not known what was sent in answer to what: what belongs to something else is not taken for this.
func TestInATopicWhatBelongsToOthersIsNotTaken(t *testing.T) {
	s := newStudio(t)
	topic := room
	topic.Thread = "omt_1"
	store := s.bridge.db
	var turns []db.Turn
	for _, id := range []string{"om_1", "om_2"} {
		in := heard(id, "question")
		in.Key = topic
		_, err := store.Accept(s.Context(), db.Inbound{Incoming: in, Class: chat.Talk})
		s.must(err)
		c, err := store.Queue().Claim(s.Context(), topic, db.TurnIDs{Session: "s", Prompt: id}, true)
		s.must(err)
		turns = append(turns, c.Turn)
		s.must(store.Turns().Finish(s.Context(), db.TurnResult{Turn: c.Turn, State: db.Done}))
	}
	s.must(store.Turns().SetCard(s.Context(), turns[0].ID, "om_c1/entity"))
	s.out.found = []chat.Sent{{ID: "om_said"}, {ID: "om_c1", Card: "om_c1/id"}, {ID: "om_c2", Card: "om_c2/id"}, {ID: "om_new"}}
	said := db.Post{Key: topic, ReplyTo: "om_0", Idem: "x", Text: "earlier reply"}
	s.must(store.Outbox().Add(s.Context(), said))
	for { // the reply that is there belongs to another command
		p, err := store.Outbox().Next(s.Context(), topic)
		s.must(err)
		s.must(store.Outbox().Delivered(s.Context(), p, "om_said"))
		if p.Idem == "x" {
			break
		}
	}
	long := time.Now().Add(-2 * keysLast)
	if id, err := s.bridge.outbox.say(s.Context(), chat.Ref{Key: topic, ID: "om_2"}, db.Post{Key: topic, Text: "words", Created: long}); err != nil || id != "om_new" {
		t.Errorf("a text: %s, %v", id, err)
	}
	if card, err := s.bridge.outbox.posted(s.Context(), chat.Ref{Key: topic, ID: "om_2"}, db.Post{Key: topic, Turn: turns[1].ID, Begun: long}); err != nil || card != "om_c2/id" {
		t.Errorf("a card: %s, %v", card, err)
	}
}

func TestALongAnswerAlsoComesAsAFile(t *testing.T) {
	s := newStudio(t)
	s.bridge.cfg.LongAnswer = 10
	s.deliver()
	for i, tt := range []struct {
		answer string
		state  db.TurnState
		file   bool
	}{{strings.Repeat("字", 10), db.Done, false}, {strings.Repeat("字", 11), db.Done, true}, {strings.Repeat("字", 11), db.Cancelled, false}} {
		s.begin(fmt.Sprint("om_", i))
		before := len(s.out.got())
		s.must(s.bridge.finish(s.Context(), db.TurnResult{Turn: s.claim.Turn, State: tt.state, Answer: tt.answer, Card: chat.Card{Body: tt.answer}}))
		s.bridge.outbox.wake(room)
		s.until("an empty outbox", func() bool { return s.count(`SELECT COUNT(*) FROM outbox`) == 0 })
		want := []string{"card"}
		if tt.file {
			want = append(want, fmt.Sprint("file for om_", i))
		}
		if got := s.out.got()[before:]; !slices.Equal(got, want) {
			t.Errorf("%d: shown %v, want %v", i, got, want)
		}
	}
	all := s.out.taken()
	up := all[0]
	if string(up.Data) != strings.Repeat("字", 11) || !strings.HasPrefix(up.Name, "回答-") || !strings.HasSuffix(up.Name, ".md") || len(all) != 1 {
		t.Errorf("%q, %d uploads", up.Name, len(all))
	}
}

// A file with a secret of the program is not sent, whatever it is called.
func TestAFileWithASecret(t *testing.T) {
	s := newStudio(t)
	s.bridge.outbox.fileDelivery.copies.known = redact.NewKnown([]string{"canary-secret-1"})
	s.deliver()
	s.begin("om_1")
	plain := "app_secret = \"canary-secret-1\"\n"
	for name, data := range map[string][]byte{
		"a.toml": []byte(plain), "a.b64": []byte(base64.StdEncoding.EncodeToString([]byte(plain))), "a.url": []byte(base64.URLEncoding.EncodeToString([]byte("x" + plain))),
		"a.hex": fmt.Appendf(nil, "% X", plain), "a.utf16": utf16LE(plain), "big": append(make([]byte, 20<<20), utf16LE(plain)...),
	} {
		mustWrite(t, filepath.Join(s.project, name), data)
		if got, err := s.send(name, ""); err == nil || !strings.Contains(err.Error(), "secret of the bridge") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if len(s.out.taken()) != 0 || s.copies() != 0 {
		t.Errorf("%d uploads, %d copies are left", len(s.out.taken()), s.copies())
	}
}

func utf16LE(text string) []byte {
	data := []byte{0xFF, 0xFE}
	for _, unit := range utf16.Encode([]rune(text)) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	return data
}

func TestFileNames(t *testing.T) {
	for path, want := range map[string]string{
		"a/b.txt": "b.txt", "报告 1.pdf": "报告 1.pdf", "x\u202egnp.exe": "xgnp.exe", "a\nb.txt": "a b.txt", "\u200b": "file", `c:\d|e.txt`: "d_e.txt",
	} {
		if got := fileName(path); got != want {
			t.Errorf("%q is shown as %q", path, got)
		}
	}
}
