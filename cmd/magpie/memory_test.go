package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db"
	"magpie/internal/chat"
)

// A memory is exported to a document while the bridge runs. An edited document is imported as a new version when it
// does not.
func TestMemoriesAreExportedAndImported(t *testing.T) {
	t.Parallel()
	sim, dir := startSim(t), t.TempDir()
	user := sim.AddUser("小明")
	writeService(t, dir, sim, "allow = [\""+user.OpenID+"\"]\n")
	service := startProcess(t, magpie(t, dir, "serve"))
	service.await("feishu: connected")
	r := &rig{TB: t, sim: sim, user: user, chat: sim.PrivateChat(user)}
	if got := r.ask("/remember 发布总是在星期二"); !strings.Contains(got, "#1") {
		t.Errorf("reply %q", got)
	}
	out, err := magpie(t, dir, "memory", "export", "docs").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "docs: 1 memory") {
		t.Fatalf("%v: %s", err, out)
	}
	out, err = magpie(t, dir, "memory", "import", "docs").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "stop it (systemctl stop magpie") {
		t.Errorf("while the bridge runs: %v: %s", err, out)
	}
	service.stop()
	docs, err := filepath.Glob(filepath.Join(dir, "docs", "*", "0001-*.md"))
	if err != nil || len(docs) != 1 {
		t.Fatalf("documents %v, %v", docs, err)
	}
	text, err := os.ReadFile(docs[0])
	must(t, err)
	for _, command := range []string{"export", "import"} {
		shown := shownOnTerminal(t, magpie(t, dir, "memory", command, "docs"))
		if !strings.Contains(shown, command+"ing [....................]   0 %  0 memories") {
			t.Errorf("%s on a terminal: %q", command, shown)
		}
	}
	edited := strings.Replace(string(text), "\n发布总是在星期二\n", "\n发布改到星期四\n", 1)
	must(t, os.WriteFile(docs[0], []byte(edited), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "docs", "bad.md"), []byte("---\ntitel: x\n---\nx"), 0o600))
	out, err = magpie(t, dir, "memory", "import", "docs").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "docs: 0 new, 1 changed, 0 known already") ||
		!strings.Contains(string(out), `bad.md: line 2: unknown key "titel"`) {
		t.Errorf("%v: %s", err, out)
	}
	must(t, os.Remove(filepath.Join(dir, "docs", "bad.md")))
	out, err = magpie(t, dir, "memory", "import", "docs").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "0 new, 0 changed, 1 known already") {
		t.Errorf("again: %v: %s", err, out)
	}
	store, err := db.OpenReadOnly(t.Context(), db.Config{URL: "sqlite://" + filepath.Join(dir, "data", "magpie.db")})
	must(t, err)
	defer store.Close() //nolint:errcheck // only read
	list, err := store.Memories().List(t.Context(), chat.FeishuChat(r.chat))
	if err != nil || len(list) != 1 || list[0].Text != "发布改到星期四" || list[0].Version != 2 {
		t.Errorf("memories %+v, %v", list, err)
	}
	for _, key := range []string{"feishu:chat:oc_nobody", "x"} {
		out, err := magpie(t, dir, "memory", "export", "--chat", key, "none").CombinedOutput()
		if stateFail := key == "x"; (err != nil) != stateFail || strings.Contains(string(out), "星期") {
			t.Errorf("%s: %v: %s", key, err, out)
		}
	}
}
