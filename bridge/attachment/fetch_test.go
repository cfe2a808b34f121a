package attachment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/bridge/attachment/attachmenttest"
	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// room is the chat of the tests.
var room = chat.FeishuChat("oc_1")

// cabinet is a store of files on a real database.
type cabinet struct {
	*testing.T
	*Store
	source *attachmenttest.Source
	path   string // of the database
}

func newCabinet(t *testing.T) *cabinet {
	c := &cabinet{T: t, source: attachmenttest.New(), path: dbtest.Create(t)}
	store := dbtest.Open(t, c.path)
	same := func(text string) string { return text }
	c.Store = New(Config{Source: c.source, Folder: filepath.Join(t.TempDir(), "files"), Most: 1000}, store, same, same)
	return c
}

func (c *cabinet) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// sql changes the database without the store.
func (c *cabinet) sql(statement string) {
	c.Helper()
	side := dbtest.Side(c, c.path)
	_, err := side.Exec(statement)
	c.must(errors.Join(err, side.Close()))
}

// count asks the database for a number.
func (c *cabinet) count(query string) (n int) {
	c.Helper()
	side := dbtest.Side(c, c.path)
	c.must(errors.Join(side.QueryRow(query).Scan(&n), side.Close()))
	return n
}

// send stores a message with files.
func (c *cabinet) send(id, text string, files ...chat.File) {
	c.Helper()
	m := chat.Incoming{
		Key: room, Kind: chat.Private, ID: id, Text: text, Actor: chat.Actor{ID: "ou_1"}, Time: time.Now(), ToBot: true,
		Files: files,
	}
	_, err := c.db.Messages().Accept(c.Context(), db.Inbound{Incoming: m, Class: chat.Talk})
	c.must(err)
}

// fetchAll fetches the files of the questions so far.
func (c *cabinet) fetchAll() {
	claim, err := c.db.Turns().Claim(c.Context(), room, db.Start{Session: "s", Prompt: "p", Resume: true})
	if err != nil {
		c.Error(err)
		return
	}
	c.Fetch(c.Context(), &claim)
}

func document(of, key, name string) chat.File {
	return chat.File{Kind: chat.Document, Of: of, Key: key, Name: name}
}

// The files of a chat and its topics stay within their limit.
func TestFilesOfAChatAreLimited(t *testing.T) {
	d := newCabinet(t)
	d.source.Files["k1"], d.source.Files["k2"] = strings.Repeat("x", 600), strings.Repeat("x", 400)
	d.send("om_1", "[文件 a] [文件 b]", document("om_1", "k1", "a"), document("om_1", "k2", "b"))
	d.fetchAll()
	d.sql(`UPDATE files SET size = 49500 WHERE file_key = 'k1'`)
	topic := room
	topic.Thread = "omt_1"
	fetch := func(key chat.Key, file string) error {
		_, _, err := d.download(t.Context(), key, 9, document("om_9", file, file))
		return err
	}
	most, err := d.reserve(t.Context(), topic)
	if most != 100 || err != nil {
		t.Errorf("room for %d, %v", most, err)
	}
	d.release(topic, most)
	if err := fetch(topic, "k1"); !errors.Is(err, errNoRoom) {
		t.Errorf("more than the limit: %v", err)
	}
	d.must(fetch(chat.FeishuChat("oc_9"), "k1"))
	d.sql(`UPDATE files SET size = 50000 WHERE file_key = 'k1'`)
	asked := len(d.source.Asked())
	if err := fetch(room, "k2"); !errors.Is(err, errNoRoom) || len(d.source.Asked()) != asked {
		t.Errorf("at the limit: %v", err)
	}
}

// An agent may have replaced a recording with a link: it must not be followed.
func TestALinkInPlaceOfARecordingIsNotRead(t *testing.T) {
	d := newCabinet(t)
	d.source.Speech = "a secret"
	elsewhere, path := filepath.Join(t.TempDir(), "opus"), filepath.Join(d.Folder, "1-1-sound.opus")
	d.must(os.Mkdir(d.Folder, 0o700))
	d.must(os.WriteFile(elsewhere, []byte("opus"), 0o600))
	d.must(os.Symlink(elsewhere, path))
	if said, err := d.transcribe(t.Context(), chat.File{Kind: chat.Sound, Path: path}); said != "" || err == nil {
		t.Errorf("heard %q, %v", said, err)
	}
}

// Concurrent downloads stay within the limit together, and none that fits is refused.
func TestConcurrentDownloadsKeepTheLimit(t *testing.T) {
	d := newCabinet(t)
	d.source.Hold = make(chan struct{})
	var list []chat.File
	for i, size := range []int{900, 900, 80, 900} {
		key := fmt.Sprintf("k%d", i)
		d.source.Files[key] = strings.Repeat("x", size)
		list = append(list, document("om_2", key, key+".txt"))
	}
	d.send("om_1", "hello")
	d.sql(`INSERT INTO files
			(chat_key, message_id, number, kind, held_by, file_key, name, length_ms, state, size, created_at)
		VALUES ('` + room.String() + `', 'om_1', 1, 'file', 'om_1', 'k', 'old', 0, 'here', 49000, 9e12)`)
	d.send("om_2", "these", list...)
	fetched := make(chan struct{})
	go func() { defer close(fetched); d.fetchAll() }()
	deliverytest.Until(t, "the downloads", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return len(d.source.Asked()) == len(list) || d.freed != nil
	})
	close(d.source.Hold)
	<-fetched
	held, err := d.db.Messages().SizeOfFiles(t.Context(), room)
	if err != nil || held < 49900 || held > 50000 {
		t.Errorf("%d bytes are held, %v", held, err)
	}
	if n := d.count(`SELECT COUNT(*) FROM files WHERE state = 'here' AND size = 80`); n != 1 {
		t.Errorf("the file that fits exists %d times", n)
	}
	if len(d.coming) != 0 {
		t.Errorf("still reserved: %v", d.coming)
	}
}

// A file that was fetched and is not there any more is fetched again for the question that needs it. If that fails, another
// machine may still have it.
func TestAFileThatIsMissingIsFetchedAgain(t *testing.T) {
	d := newCabinet(t)
	d.source.Files["k1"], d.source.Speech = "opus", "some words"
	d.send("om_1", "[语音]", chat.File{Kind: chat.Sound, Of: "om_1", Key: "k1", Name: "a.opus"})
	claim, err := d.db.Turns().Claim(t.Context(), room, db.Start{Session: "s", Prompt: "p", Resume: true})
	d.must(err)
	d.Fetch(t.Context(), &claim)
	m := &claim.Asked[0]
	text, path := m.Text, m.Files[0].Path
	for _, there := range []bool{true, false} {
		d.must(os.Remove(path))
		if !there {
			delete(d.source.Files, "k1")
		}
		if !d.WantMissing(claim.Asked) {
			t.Fatal("nothing is missing")
		}
		failed := d.Fetch(t.Context(), &claim)
		if got := d.isMissing(m.Files[0]); got == there || len(failed) > 0 == there || m.Text != text ||
			m.Files[0].Said != "some words" {
			t.Errorf("missing: %v, failed %v, %+v", got, failed, m)
		}
		if n := d.count(`SELECT COUNT(*) FROM files WHERE state = 'here' AND path <> '' AND size = 4`); n != 1 {
			t.Errorf("%d files are known", n)
		}
	}
	if d.WantMissing([]chat.Message{{Files: []chat.File{{Kind: chat.Quote, State: chat.Here}}}}) {
		t.Error("a quote has no file")
	}
}
