package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// A backup during operation contains all messages so far.
func TestBackup(t *testing.T) {
	t.Parallel()
	sim, dir := startSim(t), t.TempDir()
	user := sim.AddUser("小明")
	writeService(t, dir, sim, "allow = [\""+user.OpenID+"\"]\n")
	out, err := magpie(t, dir, "backup", "early.db").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "data/magpie.db") {
		t.Errorf("without a database: %v: %s", err, out)
	}
	var printed bytes.Buffer
	serve := magpie(t, dir, "serve")
	serve.Stdout = &printed
	service := startProcess(t, serve)
	service.await("feishu: connected")
	private := sim.PrivateChat(user)
	r := &rig{TB: t, sim: sim, user: user, chat: private}
	if got := r.ask("/help"); got == "" {
		t.Error("no answer")
	}
	out, err = magpie(t, dir, "backup", "copy.db").CombinedOutput()
	if err != nil || !regexp.MustCompile(`copy\.db: \d+\.\d MB in \d`).Match(out) {
		t.Fatalf("%v: %s", err, out)
	}
	before, err := os.ReadFile(filepath.Join(dir, "copy.db"))
	must(t, err)
	out, err = magpie(t, dir, "backup", "copy.db").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "name another file") {
		t.Errorf("over a file that exists: %v: %s", err, out)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "copy.db")); err != nil || string(after) != string(before) {
		t.Errorf("the second backup changed the first: %v", err)
	}
	out, err = magpie(t, dir, "backup", "none/copy.db").CombinedOutput()
	if want := "back up to " + filepath.Join(dir, "none", "copy.db") + ": " + filepath.Join(dir, "none") +
		": there is no such file or folder\n"; err == nil || !strings.HasSuffix(string(out), want) {
		t.Errorf("into a folder that does not exist: %v: %s", err, out)
	}
	service.stop()
	if printed.Len() > 0 {
		t.Errorf("the output contains more than the log:\n%s", &printed)
	}
	store, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + filepath.Join(dir, "copy.db")})
	must(t, err)
	defer store.Close() //nolint:errcheck // only read
	must(t, store.Check(t.Context()))
	if _, err := store.Chats().Get(t.Context(), chat.FeishuChat(private)); err != nil {
		t.Errorf("the copy lacks the chat: %v", err)
	}
}
