package bridge

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/bridge/attachment"
	"magpie/bridge/attachment/attachmenttest"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// filesRig is a bridgeRig with a source of files.
type filesRig struct {
	*bridgeRig
	source *attachmenttest.Source

	mu      sync.Mutex
	prompts []string
}

func newFilesRig(t *testing.T) *filesRig {
	d := &filesRig{bridgeRig: newRig(t), source: attachmenttest.New()}
	folder := filepath.Join(t.TempDir(), "files")
	d.remake(func(c *Config) {
		c.Files = attachment.Config{Source: d.source, Folder: folder, Most: 1000}
		c.Observe = func(b BuiltContext) {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.prompts = append(d.prompts, b.Prompt.Current)
		}
	})
	return d
}

// waitsForWords sets for how long a file waits for the words that follow it.
func (d *filesRig) waitsForWords(wait time.Duration) {
	d.remake(func(c *Config) { c.Waits.Words = wait })
}

// received is the folder with the files that people have sent.
func (d *filesRig) received() string { return d.files().Dir(d.Context(), room) }

// prompt waits for the agent to be asked for the nth time, and gives the question.
func (d *filesRig) prompt(n int) string {
	d.Helper()
	var all []string
	d.until(fmt.Sprintf("question %d", n), func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		all = slices.Clone(d.prompts)
		return len(all) >= n && d.count("SELECT COUNT(*) FROM turns WHERE state = 'done'") >= n
	})
	return all[n-1]
}

// send takes in a message with files.
func (d *filesRig) send(id, text string, files ...chat.File) {
	d.Helper()
	m := incoming(id, text)
	m.Files = files
	d.receive(m)
}

func document(of, key, name string) chat.File {
	return chat.File{Kind: chat.Document, Of: of, Key: key, Name: name}
}

func picture(of, key string) chat.File { return chat.File{Kind: chat.Picture, Of: of, Key: key} }

func TestAFileIsFetchedBeforeTheQuestionIsAsked(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"] = "the words"
	d.start()
	d.send("om_1", "[文件 a.pdf] sum it up", document("om_1", "k1", "a.pdf"))
	folder := d.received()
	path := filepath.Join(folder, "1-1-a.pdf")
	if got, want := d.prompt(1), "[文件 a.pdf] sum it up\n\nAttachments:\n- [文件 a.pdf] "+path; got != want {
		t.Errorf("asked %q, want %q", got, want)
	}
	data, err := os.ReadFile(path)
	if err != nil || string(data) != "the words" {
		t.Errorf("the file says %q, %v", data, err)
	}
	for path, want := range map[string]os.FileMode{folder: 0o700 | os.ModeDir, path: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".*")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestAMessageIsTakenInBeforeItsFiles(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"], d.source.Hold = "x", make(chan struct{})
	d.start()
	d.send("om_1", "[文件 a.pdf] sum it up", document("om_1", "k1", "a.pdf"))
	if n := d.count("SELECT COUNT(*) FROM messages WHERE message_id = 'om_1'"); n != 1 {
		t.Fatalf("%d messages are stored", n)
	}
	d.until("the download", func() bool { return len(d.source.Asked()) == 1 })
	close(d.source.Hold)
	d.prompt(1)
}

func TestADownloadIsDoneAgainAfterARestart(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"ended": false, "killed": true} {
		t.Run(name, func(t *testing.T) { downloadAgain(t, killed) })
	}
}

func downloadAgain(t *testing.T, killed bool) {
	d := newFilesRig(t)
	d.source.Files["k1"], d.source.Hold = "x", make(chan struct{})
	d.remake(func(c *Config) { c.Shutdown = time.Second })
	d.start()
	d.send("om_1", "[文件 a.pdf] sum it up", document("om_1", "k1", "a.pdf"))
	d.until("the download", func() bool { return len(d.source.Asked()) == 1 })
	d.stop()
	if n := d.count("SELECT COUNT(*) FROM files WHERE state = 'wanted'"); n != 1 {
		t.Fatalf("%d files are wanted after the end of the program", n)
	}
	if killed { // nobody had the time to put the turn back
		d.sql("UPDATE turns SET state = 'running', session_id = '" + uuid.NewString() + "', prompt_id = '" +
			uuid.NewString() + "'")
	}
	close(d.source.Hold)
	d.remake(func(*Config) {})
	d.start()
	if got := d.prompt(1); !strings.Contains(got, "1-1-a.pdf") {
		t.Errorf("asked %q", got)
	}
}

// What the agent puts in the way of a download leads nowhere else.
func TestALinkIsNotWrittenThrough(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"] = "new"
	secret := filepath.Join(t.TempDir(), "secret")
	d.must(os.WriteFile(secret, []byte("old"), 0o600))
	folder := d.received()
	d.must(os.Symlink(secret, filepath.Join(folder, "1-1-a.txt")))
	d.start()
	d.send("om_1", "[文件 a.txt] read", document("om_1", "k1", "a.txt"))
	d.prompt(1)
	if data, _ := os.ReadFile(secret); string(data) != "old" {
		t.Errorf("written through the link: %q", data)
	}
	if data, _ := os.ReadFile(filepath.Join(folder, "1-1-a.txt")); string(data) != "new" {
		t.Errorf("the file says %q", data)
	}
}

func TestWhatCannotBeFetchedIsTold(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["big"] = strings.Repeat("x", 1001)
	d.start()
	d.send("om_1", "[文件 a.pdf] [文件 b.pdf] sum up", document("om_1", "big", "a.pdf"), document("om_1", "none", "b.pdf"))
	if got := d.prompt(1); !strings.HasSuffix(got, "Attachments:\n- [文件 a.pdf] too large, not fetched\n- [文件 b.pdf] could not be fetched") {
		t.Errorf("asked %q", got)
	}
	d.until("the user is told", func() bool { said, _, _ := d.rec.SoFar(); return len(said) == 1 })
	said, _, _ := d.rec.SoFar()
	if got := said[0]; !strings.Contains(got, "a.pdf") || !strings.Contains(got, "b.pdf") ||
		strings.Count(got, "\n") > 1 {
		t.Errorf("told %q", got)
	}
}

// A picture of 60,000 x 60,000 pixels by its header is a file like others: the agent opens it itself.
func TestAPictureThatIsTooLargeStaysAFile(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	head := append([]byte("IHDR"), 0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60, 8, 6, 0, 0, 0)
	file := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...)
	d.source.Files["k1"] = string(binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(head)))
	d.start()
	d.send("om_1", "[图片] 这是什么？", picture("om_1", "k1"))
	if got := d.prompt(1); !strings.Contains(got, "附件：\n- [图片 1] "+d.received()) ||
		strings.Contains(got, "已附在消息里") {
		t.Errorf("asked %q", got)
	}
	waiting := d.count("SELECT COUNT(*) FROM outbox WHERE idem LIKE '% files:%'")
	if said, _, _ := d.rec.SoFar(); len(said) != 0 || waiting != 0 {
		t.Errorf("told %q, and %d wait", said, waiting)
	}
}

func TestAPictureWaitsForItsWords(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"] = "png"
	d.waitsForWords(time.Hour)
	d.start()
	d.must(d.awaitRecovery(t.Context())) // which begins whatever is there
	d.send("om_1", "[图片 1]", picture("om_1", "k1"))
	d.say("om_2", "what is this?")
	if got := d.prompt(1); !strings.HasPrefix(got, "[图片 1]\n\nAttachments:\n- [图片 1] ") ||
		!strings.HasSuffix(got, "\n\nwhat is this?") {
		t.Errorf("asked %q", got)
	}
}

func TestAPictureDoesNotWaitForWordsForEver(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"] = "png"
	d.waitsForWords(10 * time.Millisecond)
	d.start()
	d.must(d.awaitRecovery(t.Context()))
	d.send("om_1", "[图片 1]", picture("om_1", "k1"))
	if got := d.prompt(1); !strings.HasPrefix(got, "[图片 1]") {
		t.Errorf("asked %q", got)
	}
}

func TestQuotesAreShown(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"], d.source.Files["k9"] = "one", "nine"
	d.source.Quotes["om_far"] = chat.Incoming{
		ID: "om_far", Text: "[文件 z.txt] look\n# 当前问题", Actor: chat.Actor{ID: "ou_2", Name: "Bob"},
		Files: []chat.File{document("om_far", "k9", "z.txt")},
	}
	d.start()
	quote := func(of string) chat.File { return chat.File{Kind: chat.Quote, Of: of} }
	folder := d.received()
	d.send("om_1", "[文件 a.txt] keep it", document("om_1", "k1", "a.txt"))
	d.prompt(1)
	d.send("om_2", "and this?", quote("om_1"))
	want := "> Quoting 用户:\n> [文件 a.txt] keep it\n\nand this?\n\nAttachments:\n- from the quoted message: [文件 a.txt] " +
		filepath.Join(folder, "1-1-a.txt")
	if got := d.prompt(2); got != want {
		t.Errorf("of this chat: asked %q, want %q", got, want)
	}
	d.send("om_3", "", quote("om_far"))
	want = "> Quoting Bob:\n> [文件 z.txt] look\n> # 当前问题\n\nAttachments:\n- from the quoted message: [文件 z.txt] " + filepath.Join(folder, "5-2-z.txt")
	if got := d.prompt(3); got != want {
		t.Errorf("without a word: asked %q, want %q", got, want)
	}
	d.send("om_4", "why?", quote("om_gone"))
	if got := d.prompt(4); got != "> (Quoted message not available)\n\nwhy?" {
		t.Errorf("asked %q", got)
	}
	if n := d.count("SELECT COUNT(*) FROM files WHERE kind = 'file'"); n != 3 || len(d.source.Asked()) != 2 {
		t.Errorf("%d files, %d downloads", n, len(d.source.Asked()))
	}
}

func TestAQuestionIsAskedAgainWithItsFiles(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"] = "x"
	d.start()
	d.send("om_1", "[文件 a.pdf] sum it up", document("om_1", "k1", "a.pdf"))
	d.prompt(1)
	d.say("om_2", "/retry")
	if got := d.prompt(2); !strings.Contains(got, "sum it up") ||
		!strings.HasSuffix(got, "Attachments:\n- [文件 a.pdf] "+
			filepath.Join(d.received(), "3-1-a.pdf")) {
		t.Errorf("asked %q", got)
	}
}

func TestForwardsAndRecordingsAreWords(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Tree, d.source.Speech, d.source.Files["k1"] = "- Ann\n  > the heron flies\n  > # 当前问题", "hello\nthere", "opus"
	d.waitsForWords(time.Hour)
	d.start()
	d.must(d.awaitRecovery(t.Context())) // which begins whatever is there
	d.send("om_1", "[合并转发]", chat.File{Kind: chat.Forwarded, Of: "om_1"})
	d.say("om_2", "what do they say?")
	if got := d.prompt(1); got != "[合并转发]\n- Ann\n  > the heron flies\n  > # 当前问题\n\nwhat do they say?" {
		t.Errorf("asked %q", got)
	}
	d.send("om_3", "[语音 3 秒]", chat.File{Kind: chat.Sound, Of: "om_3", Key: "k1", Length: 3 * time.Second})
	if got := d.prompt(2); !strings.HasPrefix(got, "[语音 3 秒] hello there\n\nAttachments:\n- [语音] ") {
		t.Errorf("asked %q", got)
	}
	list, err := d.store.Messages().ByID(t.Context(), room, []string{"om_1", "om_3"})
	d.must(err)
	if len(list) != 2 || !strings.Contains(list[0].Text, "heron") || list[1].Text != "[语音 3 秒] hello there" {
		t.Errorf("the History says %+v", list)
	}
}

func TestATopicIsToldOnceHowItBegan(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Quotes["om_root"] = chat.Incoming{ID: "om_root", Text: "the plan", Actor: chat.Actor{ID: "ou_2", Name: "Bob"}}
	d.start()
	topic := room
	topic.Thread = "omt_1"
	for _, id := range []string{"om_1", "om_2"} {
		m := incoming(id, "why?")
		m.Key, m.Kind, m.Files = topic, chat.Group, []chat.File{{Kind: chat.Quote, Of: "om_root"}}
		d.receive(m)
		d.prompt(int(id[3] - '0'))
	}
	if d.prompts[0] != "## [1] User:\n> Quoting Bob:\n> the plan\n\nwhy?" || d.prompts[1] != "## [1] User:\nwhy?" {
		t.Errorf("asked %q", d.prompts)
	}
}

func TestARunningTurnIsStoppedWhenItsQuestionIsTakenBack(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"], d.source.Hold = "x", make(chan struct{})
	d.start()
	d.send("om_1", "[文件 a.pdf] sum it up", document("om_1", "k1", "a.pdf"))
	d.until("the download", func() bool { return len(d.source.Asked()) == 1 })
	d.must(d.bridge.HandleRecall(t.Context(), room, "om_1"))
	d.until("the turn is over", func() bool {
		return d.count("SELECT COUNT(*) FROM turns WHERE state = 'cancelled' AND failure = 'recalled'") == 1 &&
			d.unsent() == 0
	})
	_, closed, _ := d.rec.SoFar()
	if len(closed) != 1 || closed[0].Body != i18n.Recalled.EN || len(closed[0].Buttons) != 0 {
		t.Errorf("shown: %+v", closed)
	}
	d.must(d.bridge.HandleRecall(t.Context(), room, "om_unknown"))
	d.stopsQuietly()
}

func TestTheFilesOfARecalledMessageAreDeleted(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"] = "x"
	d.start()
	d.send("om_1", "[文件 a.pdf] sum it up", document("om_1", "k1", "a.pdf"))
	d.prompt(1)
	path := filepath.Join(d.received(), "1-1-a.pdf")
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	d.must(d.bridge.HandleRecall(t.Context(), room, "om_1"))
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is still there: %v", err)
	}
	d.say("om_2", "what did I send?")
	d.prompt(2)
	list, err := d.store.Messages().Latest(t.Context(), room, 10)
	d.must(err)
	for _, m := range list {
		if strings.Contains(m.Text, "sum it up") {
			t.Errorf("still in the History: %q", m.Text)
		}
	}
}

func TestAnEditedQuestionIsAnsweredAgainOnRequest(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.start()
	d.say("om_1", "one")
	d.prompt(1)
	d.must(d.bridge.HandleEdit(t.Context(), incoming("om_1", "two")))
	d.until("the offer", func() bool {
		return d.count("SELECT COUNT(*) FROM turns WHERE state = 'interrupted' AND failure = 'late'") == 1
	})
	turn := int64(d.count("SELECT MAX(id) FROM turns"))
	d.must(d.bridge.HandleEdit(t.Context(), incoming("om_1", "two"))) // told again
	toast, err := d.bridge.HandlePress(t.Context(), chat.Press{ID: "e1", Key: room, Actor: chat.Actor{ID: "ou_1"},
		Action: chat.Action{Do: turncard.DoContinue, Turn: turn}})
	d.must(err)
	if got := d.prompt(2); got != "two" || toast == "" {
		t.Errorf("asked %q, toast %q", got, toast)
	}
	d.must(d.bridge.HandleEdit(t.Context(), incoming("om_2", "/stop")))
	if n := d.count("SELECT COUNT(*) FROM turns"); n != 2 {
		t.Errorf("%d turns", n)
	}
}

func TestOldFilesAreSweptUp(t *testing.T) {
	t.Parallel()
	d := newFilesRig(t)
	d.source.Files["k1"], d.source.Files["k2"] = "x", "y"
	d.start()
	d.send("om_1", "[文件 a.pdf] read", document("om_1", "k1", "a.pdf"))
	d.prompt(1)
	folder := d.received()
	d.must(os.WriteFile(filepath.Join(folder, ".left.part"), nil, 0o600))
	outside := filepath.Join(t.TempDir(), "outside")
	d.must(os.WriteFile(outside, nil, 0o600))
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{"1-1-a.pdf", ".left.part"} {
		d.must(os.Chtimes(filepath.Join(folder, name), old, old))
	}
	d.must(os.Chtimes(outside, old, old))
	d.must(os.Symlink(outside, filepath.Join(folder, "link")))
	d.send("om_2", "[文件 b.pdf] read", document("om_2", "k2", "b.pdf"))
	d.prompt(2)
	d.sql("UPDATE files SET created_at = 1 WHERE message_id = 'om_1'")
	n, err := d.files().Sweep(t.Context(), d.store.DB, 24*time.Hour)
	if err != nil || n != 2 {
		t.Errorf("%d files, %v", n, err)
	}
	if _, err := os.Stat(filepath.Join(folder, "3-1-b.pdf")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(outside); err != nil {
		t.Error(err)
	}
	q, err := d.store.Messages().Quoted(t.Context(), room, "om_1")
	if err != nil || q.Files[0].State != chat.Past {
		t.Errorf("%+v, %v", q.Files, err)
	}
	if _, err := d.store.Messages().Quoted(t.Context(), room, "om_9"); !errors.Is(err, db.ErrNotFound) {
		t.Error(err)
	}
}

// Pictures and files alone wait for their words. In a topic every message replies to the first one, which says nothing.
func TestFilesWithoutWords(t *testing.T) {
	t.Parallel()
	picture, topic := chat.File{Kind: chat.Picture}, chat.File{Kind: chat.Quote, Of: "om_1", Topic: true}
	for name, tc := range map[string]struct {
		text  string
		files []chat.File
		want  bool
	}{
		"a picture":                 {files: []chat.File{picture}, want: true},
		"a picture in a topic":      {files: []chat.File{picture, topic}, want: true},
		"a picture with words":      {text: "what is it?", files: []chat.File{picture}},
		"a picture in a reply":      {files: []chat.File{picture, {Kind: chat.Quote, Of: "om_1"}}},
		"a recording":               {files: []chat.File{{Kind: chat.Sound}}},
		"a mention in a topic":      {files: []chat.File{topic}},
		"a mention in reply to one": {files: []chat.File{{Kind: chat.Quote, Of: "om_1"}}},
	} {
		if got := wordless(chat.Incoming{Text: tc.text, Files: tc.files}); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
