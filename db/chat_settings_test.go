package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pressly/goose/v3"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
)

func TestChatKeepsSettingsAndLanguage(t *testing.T) {
	d := fresh(t)
	if _, err := d.Chats().Get(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("unknown chat: %v", err)
	}
	planning := func(s *db.Settings) { s.Project, s.Mode = "/p", "plan" }
	if err := d.Chats().Set(t.Context(), oc, planning); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("settings of an unknown chat: %v", err)
	}
	e := say("om_1", "hello there")
	e.Lang = "en"
	accept(t, d, e)
	accept(t, d, say("om_2", "?"))
	if err := d.Chats().Set(t.Context(), oc, planning); err != nil {
		t.Fatal(err)
	}
	c, err := d.Chats().Get(t.Context(), oc)
	if err != nil || c.Lang != "en" || c.Settings != (db.Settings{Project: "/p", Mode: "plan"}) {
		t.Errorf("chat = %+v, %v", c, err)
	}
}

// The rules that groups have set. Groups without one, and groups that the bot has left, have none.
func TestRulesOfGroups(t *testing.T) {
	d := fresh(t)
	for i, rule := range []string{"", "all", "commands", "all", "mention"} {
		e := say(fmt.Sprintf("om_%d", i), "hello")
		e.Key, e.Kind = chat.FeishuChat(fmt.Sprintf("oc_%d", i)), chat.Group
		e.Effects = []db.Effect{db.SetModel{Model: "opus"}, db.SetMention{Mention: rule}}
		accept(t, d, e)
	}
	rules := func() []string {
		t.Helper()
		list, err := d.Chats().MentionRules(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return slices.Sorted(slices.Values(list))
	}
	if got := rules(); !slices.Equal(got, []string{"all", "commands", "mention"}) {
		t.Errorf("%q", got)
	}
	for _, id := range []string{"oc_2", "oc_3"} {
		if _, _, err := d.Chats().Leave(t.Context(),
			chat.Change{Key: chat.FeishuChat(id), Kind: chat.Group, Did: chat.Removed, Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if got := rules(); !slices.Equal(got, []string{"all", "mention"}) {
		t.Errorf("after two were left: %q", got)
	}
}

// A message changes settings together with its arrival: once, and not at all if it is not stored.
func TestAMessageChangesSettingsOnce(t *testing.T) {
	d := fresh(t)
	e := say("om_1", "/model opus")
	e.Effects = []db.Effect{db.SetModel{Model: "opus"}}
	accept(t, d, e)
	model := func() string {
		t.Helper()
		c, err := d.Chats().Get(t.Context(), oc)
		if err != nil {
			t.Fatal(err)
		}
		return c.Settings.Model
	}
	if got := model(); got != "opus" {
		t.Errorf("the model is %q", got)
	}
	if err := d.Chats().Set(t.Context(), oc, func(s *db.Settings) { s.Model = "sonnet" }); err != nil {
		t.Fatal(err)
	}
	accept(t, d, e) // delivered again
	if got := model(); got != "sonnet" {
		t.Errorf("delivered again, it has set %q", got)
	}

	broken := say("om_2", "/model haiku")
	broken.Effects = []db.Effect{db.SetModel{Model: "haiku"}}
	broken.Reply = "haiku it is"
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TRIGGER shut BEFORE INSERT ON outbox BEGIN
			SELECT RAISE(ABORT, 'shut'); END`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Messages().Accept(t.Context(), broken); err == nil {
		t.Fatal("stored")
	}
	if got := model(); got != "sonnet" {
		t.Errorf("a message that is not stored has set %q", got)
	}
}

func TestSettingsOfANewerProgramSurvive(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	accept(t, d, say("om_1", "hi"))
	raw, err := sql.Open("sqlite3", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close() //nolint:errcheck // bypasses the store
	if _, err := raw.Exec(`UPDATE chats SET settings = '{"project":"/p","budget":{"day":5},"voices":["a"]}'`); err != nil {
		t.Fatal(err)
	}
	if err := d.Chats().Set(t.Context(), oc, func(s *db.Settings) { s.Project, s.Mode = "", "plan" }); err != nil {
		t.Fatal(err)
	}
	var stored string
	if err := raw.QueryRow(`SELECT settings FROM chats`).Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if want := `{"budget":{"day":5},"mode":"plan","voices":["a"]}`; stored != want {
		t.Errorf("stored %s, want %s", stored, want)
	}
}

// older is a database as it was before a migration.
func older(t *testing.T, migration string) (path string, raw *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "magpie.db")
	raw, err := sql.Open("sqlite3", "file:"+path+"?_foreign_keys=on")
	if err != nil {
		t.Fatal(err)
	}
	old := fstest.MapFS{}
	names, err := fs.Glob(db.Schema(), "schema/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range names {
		text, err := fs.ReadFile(db.Schema(), path)
		if err != nil {
			t.Fatal(err)
		}
		if name := filepath.Base(path); name < migration {
			old[name] = &fstest.MapFile{Data: text}
		}
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, raw, old)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	return path, raw
}

// Settings from before the column settings are kept.
func TestSettingsOfAnOlderSchemaAreTakenOver(t *testing.T) {
	path, raw := older(t, "00008")
	for key, set := range map[string]string{"oc_1": `'/a "b"', 'acceptEdits'`, "oc_2": `'', 'plan'`, "oc_3": `'', ''`} {
		_, err := raw.Exec(`INSERT INTO chats (no, key, kind, project_path, permission_mode)
			VALUES ((SELECT COUNT(*) + 1 FROM chats), ?1, 'p2p', `+set+`)`, chat.FeishuChat(key).String())
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	for key, want := range map[string]db.Settings{"oc_1": {Project: `/a "b"`, Mode: "acceptEdits"},
		"oc_2": {Mode: "plan"}, "oc_3": {}} {
		if c, err := d.Chats().Get(t.Context(), chat.FeishuChat(key)); err != nil || c.Settings != want {
			t.Errorf("settings of %s = %+v, %v", key, c.Settings, err)
		}
	}
}

// Posts that were waiting when the program was upgraded are delivered by the new version.
func TestPostsOfAnOlderSchemaAreTakenOver(t *testing.T) {
	path, raw := older(t, "00016")
	for i, statement := range []string{
		`INSERT INTO chats (no, key, kind, compact_for) VALUES (1, 'feishu:chat:oc_1', 'p2p', 'om_1'), (2, 'feishu:chat:oc_2', 'p2p', 'press:e1'), (3, 'feishu:chat:oc_3', 'p2p', '')`,
		`INSERT INTO turns (id, chat_key, epoch, state, reply_to, session_id, prompt_id, created_at) VALUES (5, 'feishu:chat:oc_1', 0, 'done', 'om_2', 's', 'p', 1)`,
		`INSERT INTO outbox (id, chat_key, turn_id, idem, reply_to, content, next_at, created_at) VALUES (7, 'feishu:chat:oc_1', 5, 'turn:5', 'om_2', '{"Body":"the answer"}', 1, 2)`,
		`INSERT INTO outbox (id, chat_key, idem, reply_to, content, next_at, created_at) VALUES (8, 'feishu:chat:oc_2', 'reply:om_3', 'om_3', 'some words', 3, 4)`,
		`INSERT INTO outbox (id, chat_key, idem, reply_to, content, card, attempts, next_at, created_at) VALUES (9, 'feishu:chat:oc_3', 'reply:om_4', 'om_4', '{"Body":"a card"}', 1, 2, 5, 6)`,
	} {
		if _, err := raw.Exec(statement); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	if err := raw.Close(); err != nil {
		t.Fatal(err)
	}
	d := open(t, path)
	for key, want := range map[string]db.Post{
		"oc_1": {ID: 7, Turn: 5, Idem: "turn:5", ReplyTo: "om_2", Card: &chat.Card{Body: "the answer"}},
		"oc_2": {ID: 8, Idem: "reply:om_3", ReplyTo: "om_3", Text: "some words"},
		"oc_3": {ID: 9, Idem: "reply:om_4", ReplyTo: "om_4", Card: &chat.Card{Body: "a card"}, Attempts: 2},
	} {
		got, err := d.Outbox().Next(t.Context(), chat.FeishuChat(key))
		if err != nil {
			t.Fatal(err)
		}
		if got.ID != want.ID || got.Turn != want.Turn || got.Idem != want.Idem || got.ReplyTo != want.ReplyTo ||
			got.Text != want.Text ||
			got.Attempts != want.Attempts || !reflect.DeepEqual(got.Card, want.Card) {
			t.Errorf("%s: what waits is %+v, want %+v", key, got, want)
		}
	}
	for key, want := range map[string]string{"oc_1": "om_1", "oc_2": "", "oc_3": ""} {
		if c, err := d.Chats().Get(t.Context(), chat.FeishuChat(key)); err != nil || c.CompactTo != want {
			t.Errorf("%s: the outcome of a summary goes to %q, %v", key, c.CompactTo, err)
		}
	}
}
