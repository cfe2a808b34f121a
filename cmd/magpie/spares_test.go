package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

func oneSpare(c *config.Config) { c.Claude.Spare = 1 }

// hasSpare waits until there is a spare process.
func (r *rig) hasSpare() {
	r.Helper()
	r.until("a spare process", func() bool { return r.pool().Stats().Spare == 1 })
}

// folder is the folder in which a chat's agents keep their state.
func (r *rig) folder(key chat.Key) string {
	r.Helper()
	id, err := r.store().Chats().Folder(r.Context(), key)
	must(r, err)
	return id
}

// The first message of each chat is answered by a process that was started before the message. It then belongs to this
// chat, with the chat's tools, and its session is resumed after a restart.
func TestTheFirstMessageFindsASpareProcess(t *testing.T) {
	r := newRig(t, realCLI(t), oneSpare, func(c *config.Config) { c.Memory.Tools = true })
	r.hasSpare()
	if n := len(r.model.Requests()); n != 0 {
		t.Errorf("the model was asked %d times", n)
	}
	started := r.started()
	r.scriptTool("请记住", "remember", map[string]any{
		"title": "发布日", "text": "发布总是在星期二", "keywords": []string{"发布"},
	})
	r.ask("我叫小明，请记住发布日")
	if n := r.count(`SELECT COUNT(*) FROM memories WHERE chat_key = ?1`, chat.FeishuChat(r.chat).String()); n != 1 {
		t.Errorf("%d memories of the chat, want the one of its agent", n)
	}
	session := r.lastSession()
	if !strings.Contains(r.transcriptPath(), r.folder(chat.FeishuChat(r.chat))) {
		t.Errorf("the transcript is %s", r.transcriptPath())
	}
	r.hasSpare() // the next spare process
	other := r.sim.AddUser("小红")
	room := r.sim.PrivateChat(other)
	r.answer(room, r.sim.Say(room, other, "我叫小红"))
	r.hasSpare()
	if n := r.started() - started; n != 2 {
		t.Errorf("%d processes were started for two chats with spare processes", n)
	}
	if r.folder(chat.FeishuChat(room)) == r.folder(chat.FeishuChat(r.chat)) {
		t.Error("two chats share a folder")
	}
	for range 2 {
		if got := r.ask("我叫什么名字？"); got != "你叫小明。" || r.lastSession() != session {
			t.Errorf("answer %q in session %s, want %s", got, r.lastSession(), session)
		}
		r.stop()
		if left, err := filepath.Glob(filepath.Join(r.pool().Config().State, "spares", "*")); len(left) > 0 ||
			err != nil {
			t.Errorf("leftover folders of spare processes: %v %v", left, err)
		}
		r.start()
	}
}

// A file with the first message is in a place that the agent may read.
func TestTheFirstMessageIsAFile(t *testing.T) {
	r := newRig(t, oneSpare, withFiles, func(c *config.Config) { // the database has a folder of its own
		if dbtest.OnPostgres() {
			return // it is apart anyway
		}
		c.Data = filepath.Dir(c.DB.DSN().File())
		own := filepath.Join(c.Data, "db", "magpie.db")
		must(t, os.Mkdir(filepath.Dir(own), 0o700))
		must(t, os.Rename(c.DB.DSN().File(), own))
		c.DB.URL = dbtest.URL(own)
	})
	r.hasSpare()
	started := r.started()
	key := r.sim.Upload("a.txt", "text/plain", []byte("the secret word is heron"))
	r.awaitReceived(r.sim.Send(r.chat, r.user, "file", mustJSON(map[string]string{
		"file_key": key, "file_name": "a.txt",
	})))
	id := r.sim.Say(r.chat, r.user, "看看")
	r.await("the question", func(v *feishusim.View) bool { return len(r.model.Requests()) > 0 })
	r.answer(r.chat, id)
	path := filepath.Join(r.cfg.Data, "files", r.folder(chat.FeishuChat(r.chat)), "1-1-a.txt")
	if req := r.lastRequest(); !strings.Contains(req.LastUser(), path) {
		t.Errorf("the model was asked %q", req.LastUser())
	}
	r.hasSpare()
	if n := r.started() - started; n != 1 {
		t.Errorf("%d processes were started, want only the next spare one", n)
	}
	r.calls(modelsim.Tool("Read", map[string]any{"file_path": path}))
	r.ask("读一下")
	if last := string(r.lastRequest().Body); !strings.Contains(last, "the secret word is heron") {
		t.Error("the agent cannot read the file")
	}
}
