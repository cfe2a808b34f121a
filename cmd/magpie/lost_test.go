package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// The database is deleted while the program runs. Acknowledged messages are in the copy beside it. Later ones are not
// acknowledged, and are answered once after the copy was put back.
func TestADeletedDatabaseLosesNothing(t *testing.T) {
	dbtest.OfSQLite(t)
	t.Parallel()
	redeliver := slices.Repeat([]time.Duration{200 * time.Millisecond}, 2000)
	r := makeRig(t, feishusim.Config{Redeliver: redeliver}, withPages)
	t.Cleanup(func() { r.stop(); r.clean() })
	r.start()
	r.ask("数到 3")
	path := databaseOf(r.cfg)
	must(t, os.Remove(path))

	id := r.sim.Say(r.chat, r.user, "数到 4")
	r.await("the message to be refused", func(v *feishusim.View) bool {
		return slices.ContainsFunc(v.Deliveries(), func(d feishusim.Delivery) bool {
			return d.MessageID == id && d.AckCode >= 500
		})
	})
	if status, body := r.get("/healthz"); status != http.StatusServiceUnavailable ||
		!strings.Contains(body, "was deleted or moved") {
		t.Errorf("/healthz: %d %s", status, body)
	}
	r.awaitLog("Its contents are saved in")
	copies, err := filepath.Glob(path + ".rescued-*")
	must(t, err)
	if len(copies) != 1 {
		t.Fatalf("rescue copies %v", copies)
	}
	r.checkStored(copies[0], "数到 3")
	r.stop()
	if acked(r.sim.View(), id) {
		t.Fatal("the message was acknowledged")
	}

	p, err := newProgram(context.Background(), r.cfg, newLog(r.logs, r.cfg.Log), nil)
	if err == nil || !strings.Contains(err.Error(), copies[0]) {
		t.Fatalf("it starts with an empty database: %v, %v", p, err)
	}
	must(t, os.Rename(copies[0], path))
	r.start()
	r.answer(r.chat, id)
	r.await("the message to be acknowledged", func(v *feishusim.View) bool { return acked(v, id) })
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times for two questions", n)
	}
}

func acked(v *feishusim.View, id string) bool {
	return slices.ContainsFunc(v.Deliveries(), func(d feishusim.Delivery) bool {
		return d.MessageID == id && d.AckCode == http.StatusOK
	})
}

// checkStored checks that a database holds a question and its answer in the private chat.
func (r *rig) checkStored(path, question string) {
	r.Helper()
	store, err := db.OpenReadOnly(r.Context(), db.Config{URL: "sqlite://" + path})
	must(r, err)
	defer store.Close() //nolint:errcheck // it was only read
	var found []chat.Role
	for m, err := range store.Messages().Range(r.Context(), chat.FeishuChat(r.chat), 0, 0, 100) {
		must(r, err)
		if m.Role == chat.User && m.Text != question {
			r.Errorf("it holds %q", m.Text)
		}
		found = append(found, m.Role)
	}
	if !slices.Equal(found, []chat.Role{chat.Assistant, chat.User}) {
		r.Errorf("it contains messages of %v", found)
	}
}
