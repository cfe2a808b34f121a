package db_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

var alice = db.Change{Who: "ou_1", Why: "/remember"}

// remembering is a database that knows the chat.
func remembering(t testing.TB) *db.DB {
	t.Helper()
	d := fresh(t)
	accept(t, d, say("om_1", "hi"))
	return d
}

func save(t testing.TB, d *db.DB, m db.Memory) db.Memory {
	t.Helper()
	m.Key = oc
	saved, err := d.Memories().Save(t.Context(), m, alice)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

func memories(t testing.TB, d *db.DB, key chat.Key) []db.Memory {
	t.Helper()
	list, err := d.Memories().List(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func versions(t testing.TB, d *db.DB, id string) []db.MemoryVersion {
	t.Helper()
	list, err := d.Memories().Versions(t.Context(), oc, id)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestAMemoryIsKeptWithAllItsVersions(t *testing.T) {
	d := remembering(t)
	d.At(t, time.UnixMilli(5000))
	m := save(t, d, db.Memory{
		Scope: db.UserScope, Of: "ou_1", Title: "Deploys", Text: "Deploys go out on Tuesday.",
		Keywords: []string{"deploy", "部署"}, Sources: []string{"om_1"},
	})
	want := db.Memory{
		ID: m.ID, Key: oc, Number: 1, Scope: db.UserScope, Of: "ou_1", Title: "Deploys", Text: "Deploys go out on Tuesday.",
		Keywords: []string{"deploy", "部署"}, Sources: []string{"om_1"}, Created: time.UnixMilli(5000).UTC(),
		Updated: time.UnixMilli(5000).UTC(), Version: 1,
	}
	if diff := cmp.Diff([]db.Memory{want}, memories(t, d, oc)); diff != "" || uuid.Validate(m.ID) != nil {
		t.Errorf("%s: %s", m.ID, diff)
	}
	if again := save(t, d, m); again.Version != 1 {
		t.Errorf("nothing new made version %d", again.Version)
	}
	d.At(t, time.UnixMilli(6000))
	m.Text, m.Sources = "Deploys go out on Friday.", nil
	saved, err := d.Memories().Save(t.Context(), m, db.Change{Who: "ou_2", Why: "/memory edit"})
	if err != nil || saved.Version != 2 || saved.Number != 1 || !saved.Created.Equal(want.Created) ||
		!slices.Equal(saved.Sources, want.Sources) {
		t.Errorf("second version %+v, %v", saved, err)
	}
	if _, err := d.Memories().Save(t.Context(), m, alice); !errors.Is(err, db.ErrChanged) {
		t.Errorf("a change of the first version, after the second: %v", err)
	}
	v := versions(t, d, m.ID)
	if len(v) != 2 || v[0].Act != "created" || v[0].Text != want.Text || v[0].By != alice ||
		v[1].Act != "changed" || v[1].Text != m.Text || v[1].By.Who != "ou_2" || v[1].Updated.UnixMilli() != 6000 {
		t.Errorf("versions %+v", v)
	}
}

func TestAForgottenMemoryCannotBeRead(t *testing.T) {
	const canary = "kestrel-4711"
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "hi"))
	for i := range 30 { // other rows, so the file does not become empty
		save(t, d, db.Memory{Text: fmt.Sprintf("neighbour %d", i)})
	}
	m := save(t, d, db.Memory{Title: "T " + canary, Text: canary + strings.Repeat(" x"+canary, 400),
		Keywords: []string{canary}, Sources: []string{canary}, Scope: db.UserScope, Of: canary})
	for i := range 200 { // moves rows between pages
		save(t, d, db.Memory{Text: strings.Repeat("later neighbour ", i+1)})
	}
	m.Text = "second " + canary
	m = save(t, d, m)
	hash := versions(t, d, m.ID)[0].TitleHash
	if err := d.Memories().Forget(t.Context(), oc, m.ID, db.Change{Who: "ou_2", Why: "/memory forget"}); err != nil {
		t.Fatal(err)
	}
	if n := len(memories(t, d, oc)); n != 230 {
		t.Errorf("%d memories are left", n)
	}
	v := versions(t, d, m.ID)
	if len(v) != 3 || v[2].Act != "forgotten" || v[2].By.Who != "ou_2" || v[2].TitleHash != hash ||
		len(hash) != 64 || v[0].By != alice {
		t.Errorf("the remaining memory: %+v", v)
	}
	if left := fmt.Sprintf("%+v", v); strings.Contains(left, canary) {
		t.Errorf("a version still contains it: %s", left)
	}
	if err := d.Memories().Forget(t.Context(), oc, m.ID, alice); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("forgotten again: %v", err)
	}
	if _, err := d.Memories().Save(t.Context(), m, alice); !errors.Is(err, db.ErrForgotten) {
		t.Errorf("saved again: %v", err)
	}
	if next := save(t, d, db.Memory{Text: "later"}); next.Number != 232 {
		t.Errorf("number %d was assigned: 31 belonged to another memory", next.Number)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if dbtest.OnPostgres() { // it keeps what was deleted for a while
		return
	}
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if data, err := os.ReadFile(f); err != nil || bytes.Contains(data, []byte(canary)) {
			t.Errorf("%s still contains it (%v)", filepath.Base(f), err)
		}
	}
}

// The text of a memory in a reply is in the outbox until it is delivered, and then only in the History.
func TestAForgottenMemoryIsInTheHistoryOnly(t *testing.T) {
	const canary = "kestrel-4711"
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "hi"))
	m := save(t, d, db.Memory{Title: "T", Text: "the word is " + canary})
	show := say("om_2", "/memory show 1")
	show.Class, show.Reply = chat.Command, m.Text
	accept(t, d, show)
	p, err := d.Outbox().Next(t.Context(), oc)
	if err != nil || p.Text != m.Text {
		t.Fatalf("to be delivered: %q, %v", p.Text, err)
	}
	after := say("om_3", "/help")
	after.Class, after.Reply = chat.Command, "help"
	accept(t, d, after)
	for range 3 { // each attempt grows the row, so it moves to another place
		if err := d.Outbox().Delay(t.Context(), p, time.Now(), db.Failure{}, false); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Outbox().MarkDelivered(t.Context(), p, "om_reply"); err != nil {
		t.Fatal(err)
	}
	if err := d.Memories().Forget(t.Context(), oc, m.ID, alice); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if dbtest.OnPostgres() {
		return
	}
	data, err := os.ReadFile(path)
	if n := bytes.Count(data, []byte(canary)); err != nil || n != 1 {
		t.Errorf("the file contains it %d times (%v), want once, in the History", n, err)
	}
}

func TestAMemoryBelongsToOneChat(t *testing.T) {
	d := remembering(t)
	other := say("om_2", "hi")
	other.Key = chat.FeishuChat("oc_2")
	accept(t, d, other)
	m := save(t, d, db.Memory{Text: "mine"})
	gone := save(t, d, db.Memory{Text: "gone"})
	if err := d.Memories().Forget(t.Context(), oc, gone.ID, alice); err != nil {
		t.Fatal(err)
	}
	for _, theirs := range []db.Memory{m, gone} {
		theirs.Key, theirs.Text = other.Key, "theirs"
		if _, err := d.Memories().Save(t.Context(), theirs, alice); !errors.Is(err, db.ErrNotFound) {
			t.Errorf("changed from another chat: %v", err)
		}
	}
	if err := d.Memories().Forget(t.Context(), other.Key, m.ID, alice); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("forgotten from another chat: %v", err)
	}
	if v, err := d.Memories().Versions(t.Context(), other.Key, m.ID); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("another chat reads %+v, %v", v, err)
	}
	if list := memories(t, d, other.Key); len(list) != 0 {
		t.Errorf("another chat has %+v", list)
	}
	if list := memories(t, d, oc); len(list) != 1 || list[0].Text != "mine" {
		t.Errorf("left: %+v", list)
	}
	m.Key = chat.FeishuChat("oc_3")
	m.ID = ""
	if _, err := d.Memories().Save(t.Context(), m, alice); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a memory of an unknown chat: %v", err)
	}
	if list, err := d.Memories().Chats(t.Context()); err != nil || len(list) != 1 || list[0] != oc {
		t.Errorf("chats %v, %v", list, err)
	}
}

func TestAMemoryIsNormalized(t *testing.T) {
	d := remembering(t)
	m := save(t, d, db.Memory{Text: " \nFirst\tline " + strings.Repeat("长", 50) + "\nsecond\x00\xff ",
		Keywords: []string{" a\nb ", "a b", "", "c"}, Of: "ou_1"})
	if want := "First line " + strings.Repeat("长", 28) + "…"; m.Title != want {
		t.Errorf("title %q, want %q", m.Title, want)
	}
	if !strings.HasSuffix(m.Text, "\nsecond\uFFFD\uFFFD") || !strings.HasPrefix(m.Text, "First") {
		t.Errorf("text %q", m.Text)
	}
	if !slices.Equal(m.Keywords, []string{"a b", "c"}) || m.Of != "" || m.Scope != db.ChatScope ||
		m.Proposed {
		t.Errorf("%+v", m)
	}
	if m := save(t, d, db.Memory{Text: "x", Title: strings.Repeat("t", 200)}); len([]rune(m.Title)) != 120 {
		t.Errorf("title of %d runes", len([]rune(m.Title)))
	}
	family := "👩‍👧" // one character of three runes
	cut := save(t, d, db.Memory{Text: "x", Title: strings.Repeat("t", 117) + family + "ttt"})
	if !strings.HasSuffix(cut.Title, "t…") {
		t.Errorf("a title is cut inside a character: %q", cut.Title)
	}
	for _, bad := range []db.Memory{
		{}, {Text: " \n"}, {Text: "x", Scope: "world"}, {Text: "x", Scope: db.UserScope},
		{Text: strings.Repeat("x", db.MaxMemoryText+1)},
	} {
		bad.Key = oc
		if _, err := d.Memories().Save(t.Context(), bad, alice); !errors.Is(err, db.ErrBadMemory) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// A memory from another database keeps its ID, so that it can be edited there and imported again.
func TestAnImportedMemoryKeepsItsID(t *testing.T) {
	d := remembering(t)
	from := db.Memory{ID: uuid.NewString(), Text: "x", Version: 7, Created: time.UnixMilli(7)}
	m := save(t, d, from)
	if m.ID != from.ID || m.Version != 7 || m.Created.UnixMilli() != 7 || m.Number != 1 {
		t.Errorf("%+v", m)
	}
	m.Text = "y"
	if m = save(t, d, m); m.Version != 8 {
		t.Errorf("version %d", m.Version)
	}
	from.ID, from.Key = "../x", oc
	if _, err := d.Memories().Save(t.Context(), from, alice); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("an invalid id: %v", err)
	}
}

// A message and the change that it makes are one transaction: delivered again, it changes nothing.
func TestAnOrderedChangeHappensOnce(t *testing.T) {
	d := remembering(t)
	e := say("om_2", "/remember tea")
	e.Class = chat.Command
	replies := db.MemoryReply{Done: "%d %s", Unknown: "unknown", Changed: "changed", TooMany: "too many", Bad: "bad"}
	save := db.ChangeMemory{Memory: db.Memory{Key: oc, Text: "tea"}, By: alice, Reply: replies}
	e.Effects = []db.Effect{save}
	accept(t, d, e)
	if p := next(t, d); p.Text != "1 tea" || p.ReplyTo != "om_2" {
		t.Errorf("reply %+v", p)
	} else {
		delivered(t, d, p, "om_9")
	}
	accept(t, d, e)
	empty(t, d)
	tea := memories(t, d, oc)
	if len(tea) != 1 {
		t.Fatalf("memories %+v", tea)
	}
	check := func(id, want string, effect db.Effect) {
		t.Helper()
		e.ID, e.Effects = id, []db.Effect{effect}
		accept(t, d, e)
		p := next(t, d)
		if p.Text != want {
			t.Errorf("reply %q, want %q", p.Text, want)
		}
		delivered(t, d, p, "re_"+id)
	}
	forget := db.ChangeMemory{Memory: tea[0], Forget: true, By: alice, Reply: replies}
	edit, outdated, bad := save, forget, save
	edit.Memory, bad.Memory.Text = tea[0], ""
	outdated.Memory.Version++
	check("om_3", "changed", outdated)
	check("om_4", "1 tea", forget)
	check("om_5", "unknown", forget)
	check("om_6", "unknown", edit)
	check("om_7", "bad", bad)
	fillMemories(t, d)
	check("om_8", "too many", save)
}

// fillMemories stores as many memories as a chat can have.
func fillMemories(t *testing.T, d *db.DB) {
	t.Helper()
	err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 1000)
			INSERT INTO memories (id, chat_key, number, scope, state, title, content, version, created_at, updated_at)
			SELECT 'id' || i, ?1, i, 'chat', 'active', 't', 'x', 1, 1, 1 FROM n`, oc.String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMemoriesOfAChatAreLimited(t *testing.T) {
	d := remembering(t)
	fillMemories(t, d)
	more := db.Memory{Key: oc, Text: "one more"}
	if _, err := d.Memories().Save(t.Context(), more, alice); !errors.Is(err, db.ErrTooManyMemories) {
		t.Errorf("one more: %v", err)
	}
}

// A title is not cut inside a mark of redaction.
func TestATitleOfAMemoryKeepsMarks(t *testing.T) {
	for n := range 100 {
		m, err := db.Memory{Text: strings.Repeat("a", n) + "[REDACTED_BANK_CARD] " + strings.Repeat("b", 200)}.Tidy()
		if open := strings.LastIndexByte(m.Title, '['); err != nil || open >= 0 && !strings.Contains(m.Title[open:], "_CARD]") {
			t.Fatalf("%d: %q, %v", n, m.Title, err)
		}
	}
}
