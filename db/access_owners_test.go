package db_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"magpie/db"
	"magpie/db/dbtest"
)

func TestAnAppHasOneOwner(t *testing.T) {
	path := dbtest.Create(t)
	d := open(t, path)
	if _, err := d.Access().Owner(t.Context(), "cli_1", false); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("before there is an owner: %v", err)
	}
	var won atomic.Int32
	var all sync.WaitGroup
	for _, user := range []string{"ou_1", "ou_2", "ou_3", "ou_4"} {
		all.Go(func() {
			ok, err := d.Access().SetOwner(t.Context(),
				db.Owner{App: "cli_1", User: user, Source: "code", Message: "om_" + user})
			if err != nil {
				t.Error(err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	all.Wait()
	first, err := d.Access().Owner(t.Context(), "cli_1", false)
	if err != nil || won.Load() != 1 || first.Message != "om_"+first.User || first.Source != "code" ||
		first.Since.IsZero() {
		t.Errorf("%d of them became owner: %+v, %v", won.Load(), first, err)
	}
	if ok, err := d.Access().SetOwner(t.Context(),
		db.Owner{App: "cli_2", User: first.User, Source: "creator"}); !ok || err != nil {
		t.Errorf("another app: %v, %v", ok, err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := open(t, path).Access().Owner(t.Context(), "cli_1", false); err != nil || again != first {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
}

func TestAnOwnerIsWelcomedOnce(t *testing.T) {
	d := fresh(t)
	o := d.Access()
	due := func(app, user string, want bool) {
		t.Helper()
		if got, err := o.NeedsWelcome(t.Context(), app, user); err != nil || got != want {
			t.Errorf("%s of %s is due to be welcomed: %v, %v", user, app, got, err)
		}
	}
	due("cli_1", "ou_config", true) // no message so far
	due("cli_1", "ou_config", true)
	if err := o.MarkWelcomed(t.Context(), "cli_1", "ou_config"); err != nil {
		t.Fatal(err)
	}
	due("cli_1", "ou_config", false)

	if _, err := o.Owner(t.Context(), "cli_1", false); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("a configured owner is found: %v", err)
	}
	if got, err := o.Owner(t.Context(), "cli_1", true); err != nil || got.User != "ou_config" {
		t.Errorf("%+v is configured, %v", got, err)
	}
	accept(t, d, say("om_1", "hello"))
	due("cli_2", "ou_config", false) // the owner was configured long ago
	if ok, err := o.SetOwner(t.Context(), db.Owner{App: "cli_1", User: "ou_found", Source: "creator"}); !ok ||
		err != nil {
		t.Fatal(ok, err)
	}
	due("cli_1", "ou_found", true)
	if err := o.MarkWelcomed(t.Context(), "cli_1", "ou_found"); err != nil {
		t.Fatal(err)
	}
	due("cli_1", "ou_found", false)

	// An owner who was first configured and later detected counts as welcomed.
	if ok, err := o.SetOwner(t.Context(), db.Owner{App: "cli_2", User: "ou_config", Source: "creator"}); !ok ||
		err != nil {
		t.Fatal(ok, err)
	}
	due("cli_2", "ou_config", false)
	if got, err := o.Owner(t.Context(), "cli_2", false); err != nil || got.Source != "creator" {
		t.Errorf("%+v, %v", got, err)
	}
}
