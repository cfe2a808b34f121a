package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/db/dbtest"
	"magpie/internal/feishusim"
)

// A picture that was sent to one machine is fetched again by another, which is asked about it. When the platform does not
// have it any more, the question is answered without it, and people are told.
func TestAFileThatAnotherMachineHas(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t, withFiles)
	picture := a.sim.Send(a.chat, a.user, "image", mustJSON(map[string]string{
		"image_key": a.sim.Upload("x.png", "image/png", aPicture(t)),
	}))
	a.awaitReceived(picture)
	a.answer(a.chat, a.sim.Say(a.chat, a.user, "这是什么？"))
	b := a.beside()
	a.stop()
	b.answer(b.chat, b.sim.Say(b.chat, b.user, "再看看", feishusim.ReplyTo(picture)))
	if req := b.lastRequest(); shownPictures(req) != 1 || !strings.Contains(req.LastUser(), "再看看") {
		t.Errorf("the model sees %d pictures and %q", shownPictures(req), req.LastUser())
	}
	here, err := filepath.Glob(filepath.Join(b.cfg.Data, "files", "*", "*"))
	if err != nil || len(here) != 1 {
		t.Fatalf("files %q, %v", here, err)
	}

	must(t, os.Remove(here[0]))
	b.sim.Inject(feishusim.Fault{Method: http.MethodGet, Path: "/open-apis/im/v1/messages/*/resources/*", Status: 400, Code: 234003})
	b.sim.Say(b.chat, b.user, "还在吗", feishusim.ReplyTo(picture))
	for _, want := range []string{"接收失败：[图片]", "还在吗"} {
		b.awaitMessage(want)
	}
	if req := b.lastRequest(); shownPictures(req) != 0 || !strings.Contains(req.LastUser(), "还在吗") {
		t.Errorf("the model sees %d pictures and %q", shownPictures(req), req.LastUser())
	}
}

// A file that an agent sends lies on its machine. When another one has taken over, the file is sent once the first one is
// back; and when that does not come back, people are told.
func TestAFileToSendThatAnotherMachineHas(t *testing.T) {
	dbtest.OfPostgres(t)
	a := newRig(t, output)
	a.ask("你好")
	b := a.beside()
	sent := func() int {
		list, _ := a.files(a.sim.View(), a.chat)
		return len(list)
	}
	// leaves has an agent of a send a file that the platform does not take, and a stop.
	leaves := func(name string) (platformIsBack func()) {
		t.Helper()
		platformIsBack = a.sim.Inject(feishusim.Fault{Path: "/open-apis/im/v1/files", Status: 500})
		a.writeFile(name, []byte("words"))
		a.scriptTool("发送 "+name, "send_file", map[string]any{"path": name})
		a.sim.Say(a.chat, a.user, "发送 "+name)
		a.until("the file in the outbox", func() bool {
			return a.count(`SELECT COUNT(*) FROM outbox WHERE file_delivery_id > 0 AND attempts > 0`) == 1
		})
		a.stop()
		return platformIsBack
	}
	platformIsBack := leaves("one.txt")
	platformIsBack()
	b.until("an attempt of the other bridge", func() bool {
		return strings.Contains(b.logs.String(), "the copy of the file is not on this machine")
	})
	if sent() != 0 {
		t.Error("sent by the machine that does not have it")
	}
	a.start()
	a.await("the file", func(*feishusim.View) bool { return sent() == 1 })
	a.until("an empty outbox", func() bool { return a.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	if left, err := os.ReadDir(filepath.Join(a.cfg.Data, "outgoing")); err != nil || len(left) != 0 {
		t.Errorf("copies remain: %v, %v", left, err)
	}

	b.stop() // so that a has the chat
	a.ask("你好")
	b.start()
	platformIsBack = leaves("two.txt")
	platformIsBack()
	a.sql(`UPDATE outbox SET created_at = created_at - 600000`)
	b.awaitMessage("文件“two.txt”没有发出")
	a.until("an empty outbox", func() bool { return a.count(`SELECT COUNT(*) FROM outbox`) == 0 })
	if sent() != 1 {
		t.Errorf("%d files were sent", sent())
	}
}
