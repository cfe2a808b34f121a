package memdoc_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"magpie/contextmgr/memdoc"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// folderRig is a database with one chat, and a folder for documents.
type folderRig struct {
	*testing.T
	store *db.DB
	dir   string
}

func newFolderRig(t *testing.T) *folderRig {
	t.Helper()
	store := dbtest.New(t)
	d := &folderRig{T: t, store: store, dir: filepath.Join(t.TempDir(), "memories")}
	d.storeChat(oc)
	return d
}

func (d *folderRig) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// storeChat stores a chat.
func (d *folderRig) storeChat(key chat.Key) {
	_, err := d.store.Messages().Accept(d.Context(), db.Inbound{
		Incoming: chat.Incoming{Key: key, Kind: chat.Private, ID: "om_1", Text: "hi"}, Class: chat.Talk,
	})
	d.must(err)
}

func (d *folderRig) save(m db.Memory) db.Memory {
	d.Helper()
	m.Key = oc
	m, err := d.store.Memories().Save(d.Context(), m, db.Change{Who: "ou_1", Why: "test"})
	d.must(err)
	return m
}

func (d *folderRig) memories(key chat.Key) []db.Memory {
	d.Helper()
	list, err := d.store.Memories().List(d.Context(), key)
	d.must(err)
	return list
}

func (d *folderRig) export() {
	d.Helper()
	if _, err := memdoc.Export(d.Context(), d.store, d.dir, []chat.Key{oc}, nil); err != nil {
		d.Fatal(err)
	}
}

func (d *folderRig) imports() (memdoc.Imported, error) {
	d.Helper()
	return memdoc.Import(d.Context(), d.store, d.dir, strings.TrimSpace, nil)
}

func (d *folderRig) expect(want memdoc.Imported) {
	d.Helper()
	if got, err := d.imports(); err != nil || got != want {
		d.Errorf("imported %+v, %v; want %+v", got, err, want)
	}
}

// files are the documents, by their names without the folder of the chat.
func (d *folderRig) files() []string {
	d.Helper()
	list, err := filepath.Glob(filepath.Join(d.dir, "*", "*"))
	d.must(err)
	for i := range list {
		list[i] = filepath.Base(list[i])
	}
	return list
}

// edit replaces words in the only document whose name begins so.
func (d *folderRig) edit(name, old, by string) {
	d.Helper()
	list, err := filepath.Glob(filepath.Join(d.dir, "*", name+"*"))
	d.must(err)
	if len(list) != 1 {
		d.Fatalf("%s is %v", name, list)
	}
	text, err := os.ReadFile(list[0])
	d.must(err)
	if !strings.Contains(string(text), old) {
		d.Fatalf("%s does not say %q: %s", name, old, text)
	}
	d.must(os.WriteFile(list[0], []byte(strings.ReplaceAll(string(text), old, by)), 0o600))
}

func TestExportAndImport(t *testing.T) {
	d := newFolderRig(t)
	d.save(db.Memory{Title: "Tea / 茶 ../../etc", Text: "green", Keywords: []string{"tea"}, Sources: []string{"om_1"}})
	d.save(db.Memory{Title: "..", Text: "dots", Proposed: true})
	d.save(db.Memory{Title: strings.Repeat("长", 120), Text: "long"})
	d.export()
	want := []string{"0001-Tea-茶-etc.md", "0002-memory.md", "0003-" + strings.Repeat("长", 30) + ".md"}
	if got := d.files(); !slices.Equal(got, want) {
		t.Errorf("files %q", got)
	}
	d.must(filepath.WalkDir(d.dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is %v", path, info.Mode())
		}
		return err
	}))
	d.expect(memdoc.Imported{Known: 3})

	d.edit("0001", "\ngreen\n", "\nblack\n")
	d.expect(memdoc.Imported{Changed: 1, Known: 2})
	d.expect(memdoc.Imported{Known: 3})
	d.edit("0001", "\nblack\n", "\nwhite\n") // the document still refers to the first version
	d.expect(memdoc.Imported{Changed: 1, Known: 2})
	m := d.memories(oc)[0]
	v, err := d.store.Memories().Versions(t.Context(), oc, m.ID)
	d.must(err)
	if m.Text != "white" || m.Version != 3 || len(v) != 3 || v[2].By.Who != "import" || v[0].By.Who != "ou_1" {
		t.Errorf("%+v, versions %+v", m, v)
	}
	d.must(os.RemoveAll(d.dir))
	d.must(os.Mkdir(d.dir, 0o700))
	d.expect(memdoc.Imported{})
	if n := len(d.memories(oc)); n != 3 {
		t.Errorf("%d memories are left when the documents are gone", n)
	}
}

// A document of an old version does not undo later changes.
func TestAnOldDocument(t *testing.T) {
	d := newFolderRig(t)
	m := d.save(db.Memory{Title: "tea", Text: "green"})
	d.export()
	m.Text = "black"
	d.save(m)
	d.expect(memdoc.Imported{Known: 1})
	d.edit("0001", "\ngreen\n", "\nwhite\n")
	if _, err := d.imports(); !errors.Is(err, db.ErrChanged) || !strings.Contains(err.Error(), "0001-tea.md: ") {
		t.Errorf("edited meanwhile: %v", err)
	}
	if _, err := memdoc.Export(t.Context(), d.store, d.dir, []chat.Key{oc}, nil); !errors.Is(err, memdoc.ErrEdited) {
		t.Errorf("the export replaced an edited document: %v", err)
	}
	d.edit("0001", "\nwhite\n", "\ngreen\n")
	d.export()
	d.edit("0001", "black", "black")
	if got := d.memories(oc)[0].Text; got != "black" {
		t.Errorf("it says %q", got)
	}
}

func TestANewTitleMovesTheDocument(t *testing.T) {
	d := newFolderRig(t)
	m := d.save(db.Memory{Title: "tea", Text: "green"})
	d.export()
	m.Title = "coffee"
	d.save(m)
	d.export()
	if got := d.files(); !slices.Equal(got, []string{"0001-coffee.md"}) {
		t.Errorf("files %q", got)
	}
}

func TestWhatWasForgottenStaysForgotten(t *testing.T) {
	d := newFolderRig(t)
	m := d.save(db.Memory{Title: "tea", Text: "green"})
	d.export()
	d.must(d.store.Memories().Forget(t.Context(), oc, m.ID, db.Change{Who: "ou_1"}))
	if _, err := d.imports(); !errors.Is(err, db.ErrForgotten) {
		t.Errorf("imported: %v", err)
	}
	if list := d.memories(oc); len(list) != 0 {
		t.Errorf("the forgotten memory is back: %+v", list)
	}
}

// Memories keep their IDs when they move to another database.
func TestAnotherDatabase(t *testing.T) {
	from := newFolderRig(t)
	m := from.save(db.Memory{Title: "tea", Text: "green", Scope: db.UserScope, Of: "ou_1"})
	m.Text = "black"
	m = from.save(m)
	from.export()
	to := newFolderRig(t)
	to.dir = from.dir
	to.expect(memdoc.Imported{Added: 1})
	to.expect(memdoc.Imported{Known: 1})
	if got := to.memories(oc); len(got) != 1 || got[0].ID != m.ID || got[0].Text != "black" || got[0].Of != "ou_1" ||
		!got[0].Created.Equal(m.Created) {
		t.Errorf("%+v", got)
	}
	to.edit("0001", "black", "white")
	to.expect(memdoc.Imported{Changed: 1})
}

// A new document needs no ID: its folder names the chat.
func TestADocumentByHand(t *testing.T) {
	d := newFolderRig(t)
	d.must(os.MkdirAll(filepath.Join(d.dir, "notes"), 0o700))
	file := filepath.Join(d.dir, "notes", "tea.md")
	d.must(os.WriteFile(file,
		[]byte("---\nchat: feishu:chat:oc_1\nkeywords: [tea, 茶]\n---\ngreen  tea\nwithout sugar\n"), 0o600))
	d.expect(memdoc.Imported{Added: 1})
	d.expect(memdoc.Imported{Known: 1})
	if m := d.memories(oc)[0]; m.Title != "green tea" || m.Scope != db.ChatScope || m.Proposed ||
		len(m.Keywords) != 2 {
		t.Errorf("%+v", m)
	}
	d.export()
	d.edit("0001", "sugar", "milk")
	d.expect(memdoc.Imported{Changed: 1, Known: 1}) // the first document does not undo the change
	d.expect(memdoc.Imported{Known: 2})
	if m := d.memories(oc)[0]; !strings.Contains(m.Text, "milk") {
		t.Errorf("%+v", m)
	}
}

// An invalid document is reported with its line. The others are imported. Nothing outside of the folder is read.
func TestBadDocuments(t *testing.T) {
	d := newFolderRig(t)
	outside := filepath.Join(t.TempDir(), "outside.md")
	d.must(os.WriteFile(outside, []byte("---\nchat: feishu:chat:oc_1\n---\noutside"), 0o600))
	d.must(os.MkdirAll(filepath.Join(d.dir, ".git"), 0o700))
	d.must(os.Symlink(outside, filepath.Join(d.dir, "link.md")))
	other := d.save(db.Memory{Text: "mine"})
	d.storeChat(chat.FeishuChat("oc_2"))
	for name, text := range map[string]string{
		"a.md":       "---\nchat: feishu:chat:oc_1\nstate: maybe\n---\nx",
		"b.md":       "---\nchat: feishu:chat:oc_9\n---\nx",
		"c.md":       "---\nchat: feishu:chat:oc_2\nid: " + other.ID + "\n---\nstolen",
		"d.md":       "---\nchat: feishu:chat:oc_1\n---\n" + strings.Repeat("x", 300<<10),
		"e.md":       "---\nchat: feishu:chat:oc_1\n---\ngood",
		"README.txt": "no memory",
		".git/x.md":  "no memory",
	} {
		d.must(os.WriteFile(filepath.Join(d.dir, name), []byte(text), 0o600))
	}
	got, err := d.imports()
	if got != (memdoc.Imported{Added: 1}) || err == nil {
		t.Fatalf("imported %+v, %v", got, err)
	}
	for _, want := range []string{
		"a.md: line 3: state", "b.md: its chat is not known", "c.md: its chat is not known here, or its ID",
		"d.md: it has more than", "\nlink.md: it is no regular file",
	} {
		if !strings.Contains(i18n.ErrorText(i18n.English, err), want) {
			t.Errorf("%v does not say %q", i18n.ErrorText(i18n.English, err), want)
		}
	}
	if zh := i18n.ErrorText(i18n.Chinese, err); !strings.Contains(zh, "\nlink.md: 不是普通文件") {
		t.Errorf("in Chinese: %v", zh)
	}
	if n := strings.Count(err.Error(), "\n"); n != 4 {
		t.Errorf("%d problems: %v", n+1, err)
	}
	if list := d.memories(oc); len(list) != 2 || list[0].Text != "mine" || list[1].Text != "good" {
		t.Errorf("memories %+v", list)
	}
	if list := d.memories(chat.FeishuChat("oc_2")); len(list) != 0 {
		t.Errorf("the other chat has %+v", list)
	}
}

// Secrets are not stored on import, and importing the same document again changes nothing.
func TestImportCleans(t *testing.T) {
	d := newFolderRig(t)
	d.must(os.MkdirAll(d.dir, 0o700))
	d.must(os.WriteFile(filepath.Join(d.dir, "a.md"),
		[]byte("---\nchat: feishu:chat:oc_1\nkeywords: [hush]\n---\nsay hush"), 0o600))
	quiet := func(s string) string { return strings.ReplaceAll(s, "hush", "[...]") }
	for _, want := range []memdoc.Imported{{Added: 1}, {Known: 1}} {
		if got, err := memdoc.Import(t.Context(), d.store, d.dir, quiet, nil); err != nil || got != want {
			t.Errorf("imported %+v, %v", got, err)
		}
	}
	if m := d.memories(oc)[0]; m.Text != "say [...]" || m.Keywords[0] != "[...]" {
		t.Errorf("%+v", m)
	}
}

// The import and export of many memories report their progress.
func TestProgressOfExportAndImport(t *testing.T) {
	d := newFolderRig(t)
	for range 3 {
		d.save(db.Memory{Text: "green"})
	}
	var seen []string
	show := func(done, total int) { seen = append(seen, fmt.Sprintf("%d/%d", done, total)) }
	want := []string{"0/3", "1/3", "2/3"}
	if _, err := memdoc.Export(t.Context(), d.store, d.dir, []chat.Key{oc}, show); err != nil ||
		!slices.Equal(seen, want) {
		t.Errorf("export: %q, %v", seen, err)
	}
	seen = nil
	if _, err := memdoc.Import(t.Context(), d.store, d.dir, strings.TrimSpace, show); err != nil ||
		!slices.Equal(seen, want) {
		t.Errorf("import: %q, %v", seen, err)
	}
}
