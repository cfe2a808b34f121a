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

	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/toolset"
	"magpie/bridge/turncard"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// sendRig is a bridge whose outbox delivers and whose agent is the test.
type sendRig struct {
	*bridgeRig
	out     *deliverytest.FileRecorder
	project string
	dir     string // of what goes out
	claim   db.Claim
}

func newSendRig(t *testing.T) *sendRig {
	t.Helper()
	s := &sendRig{out: &deliverytest.FileRecorder{}}
	s.bridgeRig = newBridgeRig(t, s.out)
	s.project, s.dir = t.TempDir(), filepath.Join(t.TempDir(), "outgoing")
	s.remake(func(c *Config) { c.Outgoing = s.dir })
	deliverytest.WriteFile(t, filepath.Join(s.project, "plot.png"), deliverytest.Picture(t))
	deliverytest.WriteFile(t, filepath.Join(s.project, "报告 1.txt"), []byte("words"))
	return s
}

// deliver lets the outbox work until the test ends.
func (s *sendRig) deliver() {
	s.Helper()
	s.outbox().RemoveDeliveredCopies(s.Context())
	ctx, cancel := context.WithCancel(s.Context())
	stop, done := make(chan struct{}), make(chan struct{})
	go func() { defer close(done); s.outbox().Run(ctx, stop) }()
	s.stop = sync.OnceFunc(func() { close(stop); cancel(); <-done })
}

// startTurn lets a turn run.
func (s *sendRig) startTurn(id string) {
	s.Helper()
	s.accept(incoming(id, "plot it"))
	s.claim = s.bridgeRig.claim(room)
	s.Cleanup(s.worksFor(s.claim, s.project))
}

func (s *sendRig) send(path, caption string) (string, error) {
	return s.tools().SendFile(s.Context(), room, toolset.SendFileInput{Path: path, Caption: caption})
}

func (s *sendRig) copies() int {
	s.Helper()
	list, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.Fatal(err)
	}
	return len(list)
}

func TestTheAgentSendsFiles(t *testing.T) {
	t.Parallel()
	s := newSendRig(t)
	s.deliver()
	s.startTurn("om_1")
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
	if _, err := s.send("plot.png", strings.Repeat("字", 2001)); !errors.As(err,
		new(*agenttools.RefusedError)) {
		t.Errorf("a long caption: %v", err)
	}
	up := s.out.Uploads()
	if len(up) != 2 || !up[0].Picture || up[0].Name != "plot.png" || up[1].Picture || string(up[1].Data) != "words" {
		t.Errorf("uploads %+v", up)
	}
	if got := s.out.Order(); !slices.Equal(got, []string{"file for om_1", "file for om_1"}) {
		t.Errorf("shown %v", got)
	}
	s.until("no copy", func() bool { return s.copies() == 0 })
	if n := s.count(`SELECT COUNT(*) FROM messages WHERE role = 'assistant'
		AND content IN ('[图片 plot.png] the plot', '[文件 报告 1.txt]')`); n != 2 {
		t.Errorf("the History knows of %d files", n)
	}
}

// Between two turns there is nobody to whom anything could be sent; and one turn does not flood the chat.
func TestTheAgentSendsOnlyWhatIsAskedFor(t *testing.T) {
	t.Parallel()
	s := newSendRig(t)
	if _, err := s.send("plot.png", ""); !errors.Is(err, toolset.ErrNobodyAsks) {
		t.Errorf("unasked: %v", err)
	}
	s.deliver()
	s.startTurn("om_1")
	for i := range 20 {
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
	t.Parallel()
	s := newSendRig(t)
	left := deliverytest.WriteFile(t, filepath.Join(s.dir, "left over"), []byte("from a crash"))
	s.say("om_1", "plot it")
	var gone error
	s.answerWith(func(context.Context, *turn) turncard.Outcome {
		_, gone = os.Stat(left)
		return turncard.Outcome{State: convo.Done}
	})
	s.start()
	s.ended(convo.Done, 1)
	s.stop()
	if !errors.Is(gone, os.ErrNotExist) {
		t.Errorf("tidied up while turns run: %v", gone)
	}
}

// What the platform does not take is said to the people and to the agent, and holds nothing up.
func TestAFileThatThePlatformRefuses(t *testing.T) {
	t.Parallel()
	s := newSendRig(t)
	s.out.FailUpload = fmt.Errorf("%w: code 234001", chat.ErrNotTaken)
	s.deliver()
	s.startTurn("om_1")
	if got, err := s.send("plot.png", ""); !errors.As(err, new(*agenttools.RefusedError)) ||
		!strings.Contains(err.Error(), "does not take") {
		t.Errorf("%q, %v", got, err)
	}
	if said, _, _ := s.out.SoFar(); !slices.Equal(said, []string{"文件“plot.png”被平台拒绝，没有发出。"}) {
		t.Errorf("said %q", said)
	}
	s.until("no copy", func() bool { return s.copies() == 0 })
	s.out.Set(func() { s.out.FailUpload, s.out.FailAttach = nil, chat.ErrUnreachable })
	if got, err := s.send("报告 1.txt", ""); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("into nothing: %q, %v", got, err)
	}
}

func TestALongAnswerAlsoComesAsAFile(t *testing.T) {
	t.Parallel()
	s := newSendRig(t)
	s.remake(func(c *Config) { c.LongAnswer = 10 })
	s.deliver()
	for i, tt := range []struct {
		answer string
		state  convo.Phase
		file   bool
	}{{strings.Repeat("字", 10), convo.Done, false}, {strings.Repeat("字", 11), convo.Done, true},
		{strings.Repeat("字", 11), convo.Cancelled, false}} {
		s.startTurn(fmt.Sprint("om_", i))
		before := len(s.out.Order())
		view := turncard.New(s.claim.Turn.ID, i18n.Chinese, time.Now()).WithAnswer(tt.answer)
		s.must(s.history().finish(s.Context(), db.TurnResult{Turn: s.claim.Turn, Answer: tt.answer}, view,
			turncard.Outcome{State: tt.state}))
		s.outbox().Wake(room)
		s.sent()
		want := []string{"card"}
		if tt.file {
			want = append(want, fmt.Sprint("file for om_", i))
		}
		if got := s.out.Order()[before:]; !slices.Equal(got, want) {
			t.Errorf("%d: shown %v, want %v", i, got, want)
		}
	}
	all := s.out.Uploads()
	up := all[0]
	if string(up.Data) != strings.Repeat("字", 11) || !strings.HasPrefix(up.Name, "回答-") ||
		!strings.HasSuffix(up.Name, ".md") || len(all) != 1 {
		t.Errorf("%q, %d uploads", up.Name, len(all))
	}
}

// A file with a secret of the program is not sent, whatever it is called.
func TestAFileWithASecret(t *testing.T) {
	t.Parallel()
	s := newSendRig(t)
	s.remake(func(c *Config) { c.Secrets = redact.NewKnown([]string{"canary-secret-1"}) })
	s.deliver()
	s.startTurn("om_1")
	plain := "app_secret = \"canary-secret-1\"\n"
	for name, data := range map[string][]byte{
		"a.toml": []byte(plain), "a.b64": []byte(base64.StdEncoding.EncodeToString([]byte(plain))),
		"a.url": []byte(base64.URLEncoding.EncodeToString([]byte("x" + plain))),
		"a.hex": fmt.Appendf(nil, "% X", plain), "a.utf16": utf16LE(plain),
		"big": append(make([]byte, 2<<20), utf16LE(plain)...),
	} {
		deliverytest.WriteFile(t, filepath.Join(s.project, name), data)
		if got, err := s.send(name, ""); err == nil || !strings.Contains(err.Error(), "secret of the bridge") ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if len(s.out.Uploads()) != 0 || s.copies() != 0 {
		t.Errorf("%d uploads, %d copies are left", len(s.out.Uploads()), s.copies())
	}
}

func utf16LE(text string) []byte {
	data := []byte{0xFF, 0xFE}
	for _, unit := range utf16.Encode([]rune(text)) {
		data = binary.LittleEndian.AppendUint16(data, unit)
	}
	return data
}
