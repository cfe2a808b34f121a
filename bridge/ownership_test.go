package bridge

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/internal/chat"
)

// founder is a platform that tells who owns the app, or does not.
type founder struct {
	user string
	err  error
	asks int
}

func (f *founder) Owner(context.Context) (string, error) {
	f.asks++
	return f.user, f.err
}

// estate is an ownership with what it tells others.
type estate struct {
	*ownership
	testing.TB
	store *db.DB
	out   *deliverytest.Recorder
	log   *strings.Builder
	rules access.Config
}

// openEstate takes up what an earlier process has left in the database at path.
func openEstate(t testing.TB, path string, f Founder, a access.Config) *estate {
	t.Helper()
	store, err := db.Open(t.Context(), db.Config{URL: "sqlite://" + path})
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.Owners().Found(t.Context(), "cli_1")
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	e := &estate{TB: t, store: store, out: &deliverytest.Recorder{}, log: &strings.Builder{}}
	e.ownership = newOwnership(Config{App: "cli_1", Founder: f, Found: found}, store, e.out, zerolog.New(e.log),
		func(a access.Config) { e.rules = a })
	e.set(a)
	return e
}

func (e *estate) close() {
	e.Helper()
	if err := e.store.Close(); err != nil {
		e.Fatal(err)
	}
}

// write is somebody who writes to the bot.
func (e *estate) write(kind chat.Kind, id, user, text string) bool {
	e.Helper()
	m := chat.Incoming{Key: room, Kind: kind, ID: id, Actor: chat.Actor{ID: user}, Text: text, ToBot: true}
	taken, err := e.claim(e.Context(), m)
	if err != nil {
		e.Fatal(err)
	}
	return taken
}

func TestThePlatformTellsTheOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "magpie.db")
	f := &founder{user: "ou_creator"}
	e := openEstate(t, path, f, access.Config{Allow: []string{"ou_2"}})
	if e.rules.Owner != "" {
		t.Errorf("before anybody was asked, the bot belongs to %s", e.rules.Owner)
	}
	e.run(t.Context())
	if e.rules.Owner != "ou_creator" || len(e.rules.Allow) != 1 || e.code != "" {
		t.Errorf("rules %+v, code %q", e.rules, e.code)
	}
	if len(e.out.Said) != 1 || !strings.Contains(e.out.Said[0], "Magpie") {
		t.Errorf("welcomed with %q", e.out.Said)
	}
	e.close()

	// The next process knows him at once, and neither asks nor welcomes again.
	e = openEstate(t, path, f, access.Config{})
	if e.rules.Owner != "ou_creator" {
		t.Error("the owner was forgotten")
	}
	e.run(t.Context())
	if f.asks != 1 || len(e.out.Said) != 0 {
		t.Errorf("asked %d times, welcomed again with %q", f.asks, e.out.Said)
	}
	// The configuration wins, and when it names nobody any more, who was found is the owner again.
	e.set(access.Config{Owner: "ou_config"})
	if e.rules.Owner != "ou_config" {
		t.Errorf("the configuration does not win: %+v", e.rules)
	}
	e.set(access.Config{Admins: []string{"ou_3"}})
	if e.rules.Owner != "ou_creator" {
		t.Errorf("without a configured owner: %+v", e.rules)
	}
	e.close()
}

func TestTheBearerOfTheCodeOwnsTheBot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "magpie.db")
	e := openEstate(t, path, &founder{err: errors.New("access denied")}, access.Config{})
	e.run(t.Context())
	code := e.code
	if len(code) < len(codeWord)+26 || strings.Count(e.log.String(), code) != 1 {
		t.Fatalf("code %q, log %s", code, e.log)
	}
	if len(e.out.Said) != 0 {
		t.Errorf("somebody was welcomed: %q", e.out.Said)
	}
	for name, tc := range map[string]struct {
		kind       chat.Kind
		user, text string
	}{
		"no code":              {chat.Private, "ou_1", "hello"},
		"a part of it":         {chat.Private, "ou_1", code[:len(code)-1]},
		"more than it":         {chat.Private, "ou_1", code + "A"},
		"another":              {chat.Private, "ou_1", codeWord + strings.Repeat("A", 26)},
		"nothing but the word": {chat.Private, "ou_1", codeWord},
		"in a group":           {chat.Group, "ou_1", code},
		"without an author":    {chat.Private, "", code},
	} {
		if e.write(tc.kind, "om_0", tc.user, tc.text) || e.rules.Owner != "" {
			t.Fatalf("%s makes an owner of %q", name, e.rules.Owner)
		}
	}
	if !e.write(chat.Private, "om_1", "ou_1", " "+strings.ToLower(code)+"\n") || e.rules.Owner != "ou_1" {
		t.Fatalf("the code is not taken: %+v", e.rules)
	}
	if !e.write(chat.Private, "om_1", "ou_1", code) {
		t.Error("the same message, delivered again, is a question")
	}
	if e.write(chat.Private, "om_2", "ou_2", code) || e.rules.Owner != "ou_1" {
		t.Errorf("the code is good twice: the bot belongs to %s", e.rules.Owner)
	}
	e.close()

	e = openEstate(t, path, nil, access.Config{})
	e.run(t.Context())
	if e.rules.Owner != "ou_1" || e.code != "" || !e.write(chat.Private, "om_1", "ou_1", code) {
		t.Errorf("after a restart the bot belongs to %q, code %q", e.rules.Owner, e.code)
	}
	if len(e.out.Said) != 1 {
		t.Errorf("welcomed %d times", len(e.out.Said))
	}
	e.close()
}

// Each start has a code of its own, and none is put out where somebody decides about the bot, or the platform is still
// asked.
func TestWhenThereIsACode(t *testing.T) {
	t.Parallel()
	refuses := &founder{err: errors.New("access denied")}
	codes := map[string]bool{}
	for range 2 {
		e := openEstate(t, filepath.Join(t.TempDir(), "magpie.db"), refuses, access.Config{})
		if e.code != "" {
			t.Error("a code before the platform was asked")
		}
		e.run(t.Context())
		codes[e.code] = true
		e.set(access.Config{Owner: "ou_1"})
		if e.write(chat.Private, "om_1", "ou_2", e.code) || e.code != "" {
			t.Error("the code is good although there is an owner")
		}
		e.set(access.Config{})
		if e.code == "" || codes[e.code] {
			t.Errorf("after a reload without an owner the code is %q", e.code)
		}
		e.close()
	}
	if len(codes) != 2 {
		t.Error("two bots have the same code")
	}
	for name, a := range map[string]access.Config{"owner": {Owner: "ou_1"}, "admin": {Admins: []string{"ou_1"}},
		"open door": {Allow: []string{"*"}}} {
		e := openEstate(t, filepath.Join(t.TempDir(), "magpie.db"), refuses, a)
		if e.run(t.Context()); e.code != "" {
			t.Errorf("with an %s there is a code", name)
		}
		e.close()
	}
	e := openEstate(t, filepath.Join(t.TempDir(), "magpie.db"), &founder{}, access.Config{})
	if e.run(t.Context()); e.code == "" {
		t.Error("a platform that names nobody leaves no way to own the bot")
	}
	e.close()
}

// Who corrects a mistyped code in the message that he has sent owns the bot as well.
func TestTheCodeInAnEditedMessage(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.App = "cli_1" })
	w.bridge.access.ownership.unknown = true
	w.bridge.SetAccess(access.Config{})
	code := w.bridge.access.ownership.code
	w.must(w.bridge.Message(w.ctx, heard("om_1", code[:20])))
	w.must(w.bridge.Edited(w.ctx, heard("om_1", code)))
	if got := w.bridge.access.authorizer.Load().Owner; got != "ou_1" {
		t.Errorf("the bot belongs to %q", got)
	}
}
