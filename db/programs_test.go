package db_test

import (
	"errors"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/db/programs"
	"magpie/internal/chat"
)

func roomKey(id string) chat.Key { return chat.Key{Channel: chat.HTTP, Kind: "room", ID: id} }

func addToken(t *testing.T, d *db.DB, token programs.Token) programs.Token {
	t.Helper()
	token.Hash, token.Created = "hash of "+token.ID, time.UnixMilli(1_700_000_000_000).UTC()
	if err := d.Programs().Add(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	return token
}

// A program to which a chat was given is let in there, and nowhere else, as long as its token holds.
func TestATokenForAChatOfPeople(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	d.At(t, now)
	team, other := chat.FeishuChat("oc_1"), chat.FeishuChat("oc_2")
	given := addToken(t, d, programs.Token{ID: "http:1", Name: "given", Chat: team.Room(), Expires: now.Add(time.Hour)})
	own := addToken(t, d, programs.Token{ID: "http:2", Name: "own"})
	for _, c := range []struct {
		who string
		key chat.Key
		in  bool
	}{
		{given.ID, team, true}, {given.ID, other, false}, {given.ID, roomKey("x"), false},
		{own.ID, roomKey("x"), true}, {own.ID, team, false}, {"http:3", team, false}, {"ou_1", team, false},
	} {
		if in, err := d.Access().Allow(t.Context(), c.who, c.key); err != nil || in != c.in {
			t.Errorf("%s in %v: %v, %v", c.who, c.key, in, err)
		}
	}
	d.At(t, now.Add(time.Hour))
	if in, err := d.Access().Allow(t.Context(), given.ID, team); err != nil || in {
		t.Errorf("expired: %v, %v", in, err)
	}
}

// A token lets its program in until it is revoked or has expired, whoever asks.
func TestATokenLetsInUntilItIsRevoked(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	d.At(t, now)
	ctx, tokens := t.Context(), d.Programs()
	one := addToken(t, d, programs.Token{ID: "http:1", Name: "ci"})
	two := addToken(t, d, programs.Token{ID: "http:2", Name: "web", Project: "app", Expires: now.Add(time.Hour)})
	if err := tokens.Add(ctx, programs.Token{ID: "http:3", Name: "ci", Hash: "another"}); !errors.Is(err, programs.ErrTaken) {
		t.Errorf("a second token of a name: %v", err)
	}
	isIn := func(token programs.Token, want bool) {
		t.Helper()
		found, err := tokens.Find(ctx, token.Hash)
		if want && (err != nil || found.ID != token.ID || found.Project != token.Project) || !want && !errors.Is(err, programs.ErrUnknown) {
			t.Errorf("found: %+v, %v", found, err)
		}
	}
	isIn(one, true)
	isIn(two, true)
	isIn(programs.Token{Hash: ""}, false)
	if in, err := d.Access().Allow(ctx, one.ID, roomKey("x")); err != nil || !in {
		t.Errorf("not admitted: %v", err)
	}
	d.At(t, now.Add(time.Hour))
	isIn(two, false)
	if err := tokens.Revoke(ctx, "ci"); err != nil {
		t.Error(err)
	}
	isIn(one, false)
	if in, err := d.Access().Allow(ctx, one.ID, roomKey("x")); err != nil || in {
		t.Errorf("still admitted: %v", err)
	}
	if err := tokens.Revoke(ctx, "ci"); !errors.Is(err, programs.ErrUnknown) {
		t.Errorf("revoked twice: %v", err)
	}
	if list, err := tokens.List(ctx); err != nil || len(list) != 1 || list[0].Name != "web" || list[0].Hash != "" {
		t.Errorf("left: %+v, %v", list, err)
	}
}

// The names of chats are those of a token: another one's say nothing.
func TestRoomsAreOfOneToken(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	ctx, tokens := t.Context(), d.Programs()
	one := addToken(t, d, programs.Token{ID: "http:1", Name: "ci", Project: "app"})
	two := addToken(t, d, programs.Token{ID: "http:2", Name: "web"})
	is := func(token programs.Token, names, also []string, fresh, want string) {
		t.Helper()
		key, err := tokens.Room(ctx, token, names, also, roomKey(fresh))
		if err != nil || key != roomKey(want) {
			t.Errorf("%v of %s: %v, %v", names, token.Name, key, err)
		}
	}
	is(one, []string{"a"}, []string{"a", "first"}, "r1", "r1")
	is(one, []string{"x", "a"}, nil, "r2", "r1")
	is(one, []string{"first"}, []string{"second"}, "r2", "r1")
	is(two, []string{"a"}, []string{"a"}, "r3", "r3")
	is(one, nil, []string{"first"}, "r4", "r4") // the newest of a name
	is(one, []string{"first"}, nil, "r5", "r4")
	c, err := d.Chats().Get(ctx, roomKey("r1"))
	if err != nil || c.Kind != chat.Private || c.Settings.Project != "app" || c.Title != "ci" {
		t.Errorf("chat %+v, %v", c, err)
	}
	for key, want := range map[chat.Key]bool{roomKey("r1"): true, roomKey("r4"): true, roomKey("r3"): false, roomKey("r9"): false} {
		if own, err := tokens.Owns(ctx, one, key); err != nil || own != want {
			t.Errorf("owns %v: %v, %v", key, own, err)
		}
	}
	if err := tokens.Revoke(ctx, "ci"); err != nil {
		t.Fatal(err)
	}
	if own, err := tokens.Owns(ctx, one, roomKey("r1")); err != nil || own {
		t.Errorf("a revoked token has a chat: %v", err)
	}
}

// What is shown has a number that grows with each change, also after everything before was deleted.
func TestShowingsGrow(t *testing.T) {
	t.Parallel()
	d := dbtest.New(t)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	d.At(t, now)
	ctx, shown, key := t.Context(), d.Programs(), roomKey("r")
	show := func(id, content string) {
		t.Helper()
		if err := shown.Show(ctx, key, id, content); err != nil {
			t.Fatal(err)
		}
	}
	show("a", "1")
	show("b", "2")
	if err := shown.Show(ctx, roomKey("other"), "a", "other"); err != nil {
		t.Fatal(err)
	}
	show("a", "3")
	for range 2 {
		if seq, err := shown.Note(ctx, roomKey("noted"), "m"); err != nil || seq != now.UnixMilli() {
			t.Errorf("noted as %d, %v", seq, err)
		}
	}
	list, err := shown.Since(ctx, key, 0)
	if err != nil || len(list) != 2 || list[0].ID != "b" || list[1].Content != "3" || list[1].Seq <= list[0].Seq {
		t.Fatalf("%+v, %v", list, err)
	}
	last := list[1].Seq
	if got, err := shown.Latest(ctx, key, "", now); err != nil || got.ID != "a" {
		t.Errorf("the latest: %+v, %v", got, err)
	}
	if got, err := shown.Latest(ctx, key, "b", now.Add(time.Minute)); !errors.Is(err, programs.ErrNotShown) {
		t.Errorf("the latest of a later time: %+v, %v", got, err)
	}
	if list, err = shown.Since(ctx, key, last); err != nil || len(list) != 0 {
		t.Errorf("after the last: %+v, %v", list, err)
	}
	c := db.Defaults()
	d.At(t, now.Add(c.CacheTTL.Duration+time.Second))
	if _, err := db.Sweep(ctx, d, c); err != nil {
		t.Fatal(err)
	}
	if list, err = shown.Since(ctx, key, 0); err != nil || len(list) != 0 {
		t.Errorf("after the sweep: %+v, %v", list, err)
	}
	show("c", "4")
	if got, err := shown.Get(ctx, key, "c"); err != nil || got.Seq <= last || got.Content != "4" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := shown.Get(ctx, key, "a"); !errors.Is(err, programs.ErrNotShown) {
		t.Errorf("deleted: %v", err)
	}
}
