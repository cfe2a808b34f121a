package bridge

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

// onDisk fails when a word is in any of the database's files, its log among them.
func onDisk(t *testing.T, dir string, words ...string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files %q, %v", files, err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			continue // a folder
		}
		for _, word := range words {
			if bytes.Contains(data, []byte(word)) {
				t.Errorf("%s holds %q", filepath.Base(f), word)
			}
		}
	}
}

// What a command says is never on disk with a secret in it: neither in the row that acknowledges it nor in the log, so
// that it does not matter when the program dies. The reply says where it still stands.
func TestASecretToRememberIsNowhereKept(t *testing.T) {
	t.Parallel()
	const secret = "hunter2secret"
	dir := t.TempDir()
	w := newMemoryRig(t, dir)
	t.Cleanup(func() { _ = w.store.Close() })
	for i, text := range []string{
		"/remember 服务器密码：" + secret, "/记住 密码：" + secret, "／remember password: " + secret,
		"/memory edit 1 新密码：" + secret + "，已更换",
	} {
		reply := w.order(alice, text)
		w.expect(reply, "[REDACTED_SECRET]", "敏感信息没有保存", "原消息还在聊天里", "撤回", "!"+secret)
		onDisk(t, dir, secret)
		m := chat.Incoming{
			Key: alice.key, Kind: alice.kind, ID: fmt.Sprintf("om_%d", i+1), Text: text, Actor: chat.Actor{ID: alice.who},
			Time: time.Now(), ToBot: true,
		}
		w.must(w.bridge.HandleMessage(w.ctx, m)) // once more
		m.Text += "!"
		w.must(w.bridge.HandleEdit(w.ctx, m))
		onDisk(t, dir, secret)
	}
	// slips, and what comes to nothing
	for _, text := range []string{"/rember password: " + secret, "/cost password: " + secret} {
		w.order(alice, text)
	}
	w.receive(team, "/remember 密码："+secret, false) // said to nobody
	for _, way := range []string{"/memory why 1", "/memory show 1", "/memory", "/history 50", "/context"} {
		w.expect(w.order(alice, way), "!"+secret)
	}
	for r, err := range w.store.Records().Range(w.ctx, alice.key) {
		w.must(err)
		w.expect(r.Text, "!"+secret)
	}
	onDisk(t, dir, secret)
	w.order(alice, "/lang en")
	w.expect(w.order(alice, "/remember password: "+secret), "were not stored", "still in the chat", "recall it")
	w.expect(w.order(alice, "/remember tea"), "!recall it")
}

// What was said before a command was edited into a message, or is quoted from one, is as clean.
func TestACommandIsCleanHoweverItComes(t *testing.T) {
	t.Parallel()
	const secret = "hunter2secret"
	dir := t.TempDir()
	w := newMemoryRig(t, dir)
	t.Cleanup(func() { _ = w.store.Close() })
	w.receive(alice, "hello", true)
	m := chat.Incoming{Key: alice.key, Kind: alice.kind, ID: "om_1", Text: "/remember password: " + secret,
		Actor: chat.Actor{ID: alice.who}, Time: time.Now(), ToBot: true}
	w.must(w.bridge.HandleEdit(w.ctx, m))
	onDisk(t, dir, secret)
	if got := w.bridge.cfg.redactForHistory("/new password: " + secret); !strings.Contains(got, secret) {
		t.Errorf("a question was changed to %q", got)
	}
	if got := w.bridge.cfg.redactForHistory("/etc/hosts password: " + secret); !strings.Contains(got, secret) {
		t.Errorf("a question was changed to %q", got)
	}
}

// Earlier versions kept commands as they were given. A start that dies on the way leaves the rest to the next one.
func TestCommandsOfEarlierVersionsAreCleaned(t *testing.T) {
	t.Parallel()
	const secret = "hunter2secret"
	dir := t.TempDir()
	w := newMemoryRig(t, dir)
	w.order(alice, "/remember one")
	w.order(alice, "/remember two")
	w.receive(alice, "password: "+secret, true) // a question, which is kept as it is
	side, err := sql.Open("sqlite3", filepath.Join(dir, "magpie.db")+"?_busy_timeout=5000")
	w.must(err)
	defer side.Close() //nolint:errcheck // only for the set-up
	_, err = side.Exec(`UPDATE messages SET content = '/remember password: ' || message_id || 'hunter3secret'
		WHERE class = 'command' AND role = 'user'`)
	w.must(err)
	stopped, stop := context.WithCancel(w.ctx)
	n, err := w.store.Messages().CleanCommands(stopped, func(text string) string {
		defer stop()
		return w.bridge.cfg.redactForHistory(text)
	})
	if err == nil || n != 0 {
		t.Errorf("%d cleaned by a start that was stopped, %v", n, err)
	}
	w.bridge.receiver.inbox.history.cleanCommands(w.ctx)
	w.expect(w.order(alice, "/memory why 1"), "[REDACTED_SECRET]", "!hunter3secret")
	if n, err := w.store.Messages().CleanCommands(w.ctx, strings.ToUpper); n != 0 || err != nil {
		t.Errorf("%d cleaned once more, %v", n, err)
	}
	var kept int
	w.must(side.QueryRow(`SELECT COUNT(*) FROM messages WHERE content = 'password: ` + secret + `'`).Scan(&kept))
	if kept != 1 {
		t.Error("a question was changed")
	}
	w.must(side.Close())
	w.must(w.store.Close()) // the log is written to the file
	onDisk(t, dir, "hunter3secret")
	again, err := db.Open(w.ctx, db.Config{URL: "sqlite://" + filepath.Join(dir, "magpie.db")})
	w.must(err)
	w.must(again.Close())
}
