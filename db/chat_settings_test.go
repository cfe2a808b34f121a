package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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
		e.Effects = []db.Effect{db.ChangeSettings{To: db.Settings{Model: "opus", Mention: rule}}}
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
	e.Effects = []db.Effect{db.ChangeSettings{To: db.Settings{Model: "opus"}}}
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
	broken.Effects = []db.Effect{db.ChangeSettings{To: db.Settings{Model: "haiku"}}}
	broken.Reply = "haiku it is"
	if err := d.Tx(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, dbtest.Trigger{Name: "shut", On: "BEFORE INSERT ON outbox"}.Create())
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
	raw := dbtest.Side(t, path) // bypasses the store
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

// Two commands that began with the same settings change one each: neither undoes the other, and one that is cleared is
// gone.
func TestSettingsChangeWhereTheyDiffer(t *testing.T) {
	d := fresh(t)
	was := db.Settings{}
	for i, to := range []db.Settings{{Model: "opus"}, {Effort: "high"}} {
		e := say(fmt.Sprintf("om_%d", i), "/")
		e.Class, e.Effects = chat.Command, []db.Effect{db.ChangeSettings{From: was, To: to}}
		accept(t, d, e)
	}
	check := func(want db.Settings) {
		t.Helper()
		if c, err := d.Chats().Get(t.Context(), oc); err != nil || c.Settings != want {
			t.Errorf("%+v, want %+v, %v", c.Settings, want, err)
		}
	}
	check(db.Settings{Model: "opus", Effort: "high"})
	e := say("om_3", "/model default")
	e.Effects = []db.Effect{db.ChangeSettings{From: db.Settings{Model: "opus"}}}
	accept(t, d, e)
	check(db.Settings{Effort: "high"})
}
