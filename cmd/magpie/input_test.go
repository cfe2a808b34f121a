package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// withFiles takes in files as a program does that configures nothing.
func withFiles(c *config) { c.Feishu.MaxFile = defaults().Feishu.MaxFile }

func aPicture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// heard waits until a message was taken in.
func (r *rig) heard(id string) {
	r.Helper()
	r.await("the message to be taken in", func(v *feishusim.View) bool {
		for _, d := range v.Deliveries() {
			if d.MessageID == id && d.AckCode == 200 {
				return true
			}
		}
		return false
	})
}

// shownPictures counts the pictures of the last thing that the user has said to the model.
func shownPictures(req modelsim.Request) (n int) {
	all := gjson.GetBytes(req.Body, `messages.#(role=="user")#.content`).Array()
	for _, block := range all[len(all)-1].Array() {
		if block.Get("type").String() == "image" {
			n++
		}
	}
	return n
}

func TestPicturesAndFilesReachTheModel(t *testing.T) {
	r := newRig(t, withFiles, func(c *config) { c.Feishu.Topics = true })
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	picture := r.sim.Upload("x.png", "image/png", aPicture(t))
	report := r.sim.Upload("a.txt", "text/plain", []byte("the secret word is heron"))

	r.heard(r.sim.Send(r.chat, r.user, "image", mustJSON(map[string]string{"image_key": picture})))
	id := r.sim.Say(r.chat, r.user, "这是什么？")
	r.answer(r.chat, id)
	if req := r.lastRequest(); shownPictures(req) != 1 || !strings.Contains(req.LastUser(), "这是什么？") || len(r.model.Requests()) != 1 {
		t.Errorf("in private the model was asked %d times, last %q with %d pictures", len(r.model.Requests()), req.LastUser(), shownPictures(req))
	}

	content := fmt.Sprintf(`{"title":"","content":[[{"tag":"text","text":"看图"},{"tag":"img","image_key":%q}]]}`, picture)
	id = r.sim.Post(group, r.user, json.RawMessage(content), feishusim.Mention())
	r.answer(group, id)
	if req := r.lastRequest(); shownPictures(req) != 1 || !strings.Contains(req.LastUser(), "看图[图片 1]") {
		t.Errorf("in a group the model was asked %q with %d pictures", req.LastUser(), shownPictures(req))
	}

	// A file cannot mention the bot: it is quoted, here in a topic that begins with it.
	file := r.sim.Send(group, red, "file", mustJSON(map[string]string{"file_key": report, "file_name": "../a.txt"}))
	topic := []feishusim.SendOption{feishusim.Mention(), feishusim.ReplyTo(file), feishusim.Thread(feishusim.NewThread)}
	first, _ := r.sim.Message(r.sim.Say(group, r.user, "总结一下", topic...))
	key := chat.FeishuChat(group)
	key.Thread = first.ThreadID
	r.awaitModel("the question of the topic", func(all []modelsim.Request) bool { return strings.Contains(all[len(all)-1].LastUser(), "总结一下") })
	req := r.lastRequest()
	path := filepath.Join(filepath.Dir(databasePath(r.cfg.DB)), "files", key.Stable(""))
	if !strings.Contains(req.LastUser(), "> 引用 小红 的消息：\n> [文件 a.txt]") || !strings.Contains(req.LastUser(), "引用的消息里的[文件 a.txt] "+path) {
		t.Errorf("in a topic the model was asked %q", req.LastUser())
	}
}

func TestTheAgentReadsWhatWasSent(t *testing.T) {
	r := newRig(t, withFiles)
	report := r.sim.Upload("a.txt", "text/plain", []byte("the secret word is heron"))
	path := filepath.Join(filepath.Dir(databasePath(r.cfg.DB)), "files", chat.FeishuChat(r.chat).Stable(""), "1-1-a.txt")
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Tool("Read", map[string]any{"file_path": path})}})
	r.heard(r.sim.Send(r.chat, r.user, "file", mustJSON(map[string]string{"file_key": report, "file_name": "a.txt"})))
	r.answer(r.chat, r.sim.Say(r.chat, r.user, "里面写了什么？"))
	if req := r.lastRequest(); !bytes.Contains(req.Body, []byte("heron")) {
		t.Errorf("the file was not read: %s", req.AllText())
	}
}

func TestARecalledQuestionIsForgotten(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明")
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("好"), modelsim.Hang()}})
	id := r.sim.Say(r.chat, r.user, "密码是苍鹭")
	r.awaitModel("the question", func(all []modelsim.Request) bool { return strings.Contains(all[len(all)-1].AllText(), "苍鹭") })
	r.sim.Recall(id)
	r.awaitModel("the end of the call", func(all []modelsim.Request) bool { return all[len(all)-1].Cancelled })
	r.until("the turn is over", func() bool { return strings.Contains(r.logs.String(), `"state":"cancelled"`) })
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	last := r.lastRequest()
	if text := last.AllText(); strings.Contains(text, "苍鹭") {
		t.Errorf("the model was told of it again: %s", text)
	}
}

func TestAnEditedQuestionIsAnsweredOnRequest(t *testing.T) {
	r := newRig(t)
	id := r.sim.Say(r.chat, r.user, "我叫小明")
	r.answer(r.chat, id)
	r.sim.Edit(id, json.RawMessage(`{"text":"我叫小红"}`))
	var offer feishusim.Message
	r.await("the offer", func(v *feishusim.View) bool {
		list := replies(v, r.chat, id)
		if len(list) == 2 {
			offer = list[1]
		}
		return len(list) == 2 && strings.Contains(list[1].Text(), "改过了")
	})
	r.press(offer, "continue")
	r.await("the new answer", func(v *feishusim.View) bool {
		for _, m := range v.Messages(r.chat) {
			if m.FromBot && strings.Contains(m.Text(), "小红") && !running(m) {
				return true
			}
		}
		return false
	})
}
