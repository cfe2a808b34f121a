package bridge

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/db/dbtest"
	"magpie/internal/chat"
)

// onDisk fails when a word is in any of the database's files, its log among them.
func onDisk(t *testing.T, dir string, words ...string) {
	t.Helper()
	stored := dbtest.Content(t, filepath.Join(dir, databaseName))
	for _, word := range words {
		if strings.Contains(stored, word) {
			t.Errorf("the database holds %q", word)
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
	for r, err := range w.store.Messages().Export(w.ctx, alice.key) {
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
	if got := w.cfg().redactForHistory("/new password: " + secret); !strings.Contains(got, secret) {
		t.Errorf("a question was changed to %q", got)
	}
	if got := w.cfg().redactForHistory("/etc/hosts password: " + secret); !strings.Contains(got, secret) {
		t.Errorf("a question was changed to %q", got)
	}
}
