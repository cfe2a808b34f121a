package access

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// founder is a platform that names the app's owner, or does not.
type founder struct {
	user string
	err  error
	asks atomic.Int32
}

func (f *founder) Owner(context.Context) (string, error) {
	f.asks.Add(1)
	return f.user, f.err
}

// ownershipRig is an Ownership with a record of what it sends.
type ownershipRig struct {
	*Ownership
	testing.TB
	store *db.DB
	out   *deliverytest.Recorder
	log   *strings.Builder
}

// rules are the current rules.
func (e *ownershipRig) rules() Config { return *e.authorizer.rules.Load() }

// newOwnershipRig starts with what an earlier process left in the database at path.
func newOwnershipRig(t testing.TB, path string, f Founder, a Config) *ownershipRig {
	t.Helper()
	if err := dbtest.Write(path); err != nil && !errors.Is(err, fs.ErrExist) { // exists if this is another start
		t.Fatal(err)
	}
	store, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path)})
	if err != nil {
		t.Fatal(err)
	}
	found, err := store.Access().Owner(t.Context(), "cli_1", false)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		t.Fatal(err)
	}
	e := &ownershipRig{TB: t, store: store, out: &deliverytest.Recorder{}, log: &strings.Builder{}}
	log := zerolog.New(e.log)
	who := NewAuthorizer(a, store.Access(), nil, 0, log)
	app := App{ID: "cli_1", Channel: "feishu", Founder: f, Found: found, Leads: store.Place().Leads}
	e.Ownership = NewOwnership(app, store.Access(), e.out, who, log)
	e.Set(a)
	return e
}

func (e *ownershipRig) close() {
	e.Helper()
	if err := e.store.Close(); err != nil {
		e.Fatal(err)
	}
}

// write is a message of somebody to the bot.
func (e *ownershipRig) write(kind chat.Kind, id, user, text string) bool {
	e.Helper()
	key := chat.FeishuChat("oc_1")
	m := chat.Incoming{Key: key, Kind: kind, ID: id, Actor: chat.Actor{ID: user}, Text: text, ToBot: true}
	taken, err := e.claim(e.Context(), m)
	if err != nil {
		e.Fatal(err)
	}
	return taken
}

func TestThePlatformNamesTheOwner(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "magpie.db")
	f := &founder{user: "ou_creator"}
	e := newOwnershipRig(t, path, f, Config{Allow: []string{"ou_2"}})
	if e.rules().Owner != "" {
		t.Errorf("before the look-up, the bot belongs to %s", e.rules().Owner)
	}
	e.Run(t.Context())
	if e.rules().Owner != "ou_creator" || len(e.rules().Allow) != 1 || e.code != "" {
		t.Errorf("rules %+v, code %q", e.rules(), e.code)
	}
	if len(e.out.Said) != 1 || !strings.Contains(e.out.Said[0], "Magpie") {
		t.Errorf("welcomed with %q", e.out.Said)
	}
	e.close()

	// The next process knows the owner at once, and neither looks it up nor sends a welcome again.
	e = newOwnershipRig(t, path, f, Config{})
	if e.rules().Owner != "ou_creator" {
		t.Error("the owner was not stored")
	}
	e.Run(t.Context())
	if f.asks.Load() != 1 || len(e.out.Said) != 0 {
		t.Errorf("asked %d times, welcomed again with %q", f.asks.Load(), e.out.Said)
	}
	// The configuration takes precedence. When it no longer names an owner, the detected one is the owner again.
	e.Set(Config{Owner: "ou_config"})
	if e.rules().Owner != "ou_config" {
		t.Errorf("the configuration does not take precedence: %+v", e.rules())
	}
	e.Set(Config{Admins: []string{"ou_3"}})
	if e.rules().Owner != "ou_creator" {
		t.Errorf("without a configured owner: %+v", e.rules())
	}
	e.close()
}

// An owner whose language is unknown gets the welcome in both.
func TestTheOwnerIsWelcomedInHisLanguage(t *testing.T) {
	t.Parallel()
	for lang, want := range map[i18n.Lang]string{
		"": i18n.OwnerWelcome.ZH + "\n\n" + i18n.OwnerWelcome.EN, i18n.English: i18n.OwnerWelcome.EN,
		i18n.Chinese: i18n.OwnerWelcome.ZH,
	} {
		e := newOwnershipRig(t, filepath.Join(t.TempDir(), "magpie.db"), &founder{user: "ou_creator"}, Config{})
		e.Lang = func(_ context.Context, user string) i18n.Lang {
			if user != "ou_creator" {
				t.Errorf("the language of %s", user)
			}
			return lang
		}
		e.Run(t.Context())
		if len(e.out.Said) != 1 || e.out.Said[0] != want {
			t.Errorf("%q: welcomed with %q", lang, e.out.Said)
		}
		e.close()
	}
}

func TestWhoeverSendsTheCodeOwnsTheBot(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "magpie.db")
	e := newOwnershipRig(t, path, &founder{err: errors.New("access denied")}, Config{})
	e.Run(t.Context())
	code := e.code
	if len(code) < len(CodeWord)+26 || strings.Count(e.log.String(), code) != 1 {
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
		"another":              {chat.Private, "ou_1", CodeWord + strings.Repeat("A", 26)},
		"nothing but the word": {chat.Private, "ou_1", CodeWord},
		"in a group":           {chat.Group, "ou_1", code},
		"without an author":    {chat.Private, "", code},
	} {
		if e.write(tc.kind, "om_0", tc.user, tc.text) || e.rules().Owner != "" {
			t.Fatalf("%s makes %q the owner", name, e.rules().Owner)
		}
	}
	elsewhere := chat.Incoming{
		Key: chat.Key{Channel: "cli", Kind: "chat", ID: "main"}, Kind: chat.Private, ID: "cli:t.1",
		Actor: chat.Actor{ID: "cli:1000"}, Text: code, ToBot: true,
	}
	if taken, err := e.claim(t.Context(), elsewhere); taken || !errors.Is(err, chat.ErrDenied) || e.rules().Owner != "" {
		t.Fatalf("at another door: %v, %v, the owner is %q", taken, err, e.rules().Owner)
	}
	if !e.write(chat.Private, "om_1", "ou_1", " "+strings.ToLower(code)+"\n") || e.rules().Owner != "ou_1" {
		t.Fatalf("the code was not accepted: %+v", e.rules())
	}
	if !e.write(chat.Private, "om_1", "ou_1", code) {
		t.Error("the same message, delivered again, became a question")
	}
	if e.write(chat.Private, "om_2", "ou_2", code) || e.rules().Owner != "ou_1" {
		t.Errorf("the code was accepted twice: the bot belongs to %s", e.rules().Owner)
	}
	e.close()

	e = newOwnershipRig(t, path, nil, Config{})
	e.Run(t.Context())
	if e.rules().Owner != "ou_1" || e.code != "" || !e.write(chat.Private, "om_1", "ou_1", code) {
		t.Errorf("after a restart the bot belongs to %q, code %q", e.rules().Owner, e.code)
	}
	if len(e.out.Said) != 1 {
		t.Errorf("welcomed %d times", len(e.out.Said))
	}
	e.close()
}

// Each start has a code of its own. There is none while an owner is known or the platform is still being asked.
func TestWhenThereIsACode(t *testing.T) {
	t.Parallel()
	refuses := &founder{err: errors.New("access denied")}
	codes := map[string]bool{}
	for range 2 {
		e := newOwnershipRig(t, filepath.Join(t.TempDir(), "magpie.db"), refuses, Config{})
		if e.code != "" {
			t.Error("a code before the platform was asked")
		}
		e.Run(t.Context())
		codes[e.code] = true
		e.Set(Config{Owner: "ou_1"})
		if e.write(chat.Private, "om_1", "ou_2", e.code) || e.code != "" {
			t.Error("the code is accepted although there is an owner")
		}
		e.Set(Config{})
		if e.code == "" || codes[e.code] {
			t.Errorf("after a reload without an owner the code is %q", e.code)
		}
		e.close()
	}
	if len(codes) != 2 {
		t.Error("two bots have the same code")
	}
	for name, a := range map[string]Config{
		"owner": {Owner: "ou_1"}, "admin": {Admins: []string{"ou_1"}}, "open door": {Allow: []string{"*"}},
	} {
		e := newOwnershipRig(t, filepath.Join(t.TempDir(), "magpie.db"), refuses, a)
		if e.Run(t.Context()); e.code != "" {
			t.Errorf("with an %s there is a code", name)
		}
		e.close()
	}
	e := newOwnershipRig(t, filepath.Join(t.TempDir(), "magpie.db"), &founder{}, Config{})
	if e.Run(t.Context()); e.code == "" {
		t.Error("without an owner from the platform there is no code")
	}
	e.close()
}

// Of several bridges of the app the one that leads welcomes the owner. Another one takes him from the database, and welcomes
// him when it leads.
func TestOneBridgeFindsTheOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "magpie.db")
		asked := &founder{err: errors.New("access denied")}
		e := newOwnershipRig(t, path, asked, Config{})
		defer e.close()
		var leads atomic.Bool
		e.Leads = leads.Load
		done := make(chan struct{})
		go func() { defer close(done); e.Run(t.Context()) }()
		time.Sleep(time.Minute)
		if asked.asks.Load() != 1 || len(e.out.Said) > 0 {
			t.Errorf("asked %d times, sent %v", asked.asks.Load(), e.out.Said)
		}
		if _, err := e.store.Access().SetOwner(t.Context(), db.Owner{App: "cli_1", User: "feishu:ou_1", Source: creator}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if got := e.rules().Owner; got != "feishu:ou_1" {
			t.Errorf("owner %q", got)
		}
		leads.Store(true)
		<-done
		if len(e.out.Said) != 1 || asked.asks.Load() != 1 {
			t.Errorf("sent %v, asked %d times", e.out.Said, asked.asks.Load())
		}
	})
}
