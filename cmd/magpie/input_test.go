package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"magpie/contextmgr"
	"magpie/internal/chat"
	"magpie/internal/claude/claudetest"
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

// everyForm is a message of every form, and how it is told to the agent.
func everyForm(picture, file string) []struct{ form, content, told string } {
	return []struct{ form, content, told string }{
		{"text", `{"text":"你好"}`, "你好"},
		{"post", fmt.Sprintf(`{"title":"计划","content":[[{"tag":"text","text":"看"},{"tag":"img","image_key":%q},{"tag":"file","file_key":%q,"file_name":"p.txt"}]]}`, picture, file), "看[图片 1][文件 p.txt]"},
		{"image", fmt.Sprintf(`{"image_key":%q}`, picture), "[图片 1]"},
		{"file", fmt.Sprintf(`{"file_key":%q,"file_name":"a.txt"}`, file), "[文件 a.txt]"},
		{"folder", `{"file_key":"file_v3_x","file_name":"stuff"}`, "[文件夹 stuff]"},
		{"audio", fmt.Sprintf(`{"file_key":%q,"duration":2000}`, file), "[语音 2 秒]"},
		{"media", fmt.Sprintf(`{"file_key":%q,"image_key":"img_x","file_name":"a.mp4","duration":3000}`, file), "[视频 a.mp4 3 秒]"},
		{"sticker", `{"file_key":"file_v3_y"}`, "[表情包]"},
		{"interactive", `{"title":"构建","elements":[[{"tag":"text","text":"失败"}]]}`, "[卡片 构建]\n失败"},
		{"location", `{"name":"北京","longitude":"116","latitude":"39"}`, "[位置 北京]"},
		{"share_user", `{"user_id":"ou_x"}`, "[名片]"},
		{"share_chat", `{"chat_id":"oc_x"}`, "[群名片]"},
		{"share_calendar_event", `{"summary":"例会","start_time":"0","end_time":"0"}`, "[日程 例会]"},
		{"video_chat", `{"topic":"站会"}`, "[视频会议 站会]"},
		{"todo", `{"summary":{"title":"写报告","content":[]}}`, "[任务 写报告]"},
		{"vote", `{"topic":"吃什么","options":["面","饭"]}`, "[投票 吃什么]\n- 面"},
	}
}

// Whatever people send, alone and mixed, the agent is told of it in the order in which it was sent: at once in private, in
// groups and topics when somebody speaks to the bot.
func TestEveryFormOfMessageIsTold(t *testing.T) {
	for _, place := range []string{"private", "group", "topic"} {
		t.Run(place, func(t *testing.T) {
			r := newRig(t, withFiles, func(c *config) {
				c.Claude = claudetest.ScriptedConfig(t)
				c.Feishu.Topics, c.Context.AutoChatContext = true, 100
			})
			room, opts := r.chat, []feishusim.SendOption(nil)
			if place != "private" {
				room = r.sim.Group("测试群", r.user)
			}
			if place == "topic" {
				root, _ := r.sim.Message(r.sim.Say(room, r.user, "话题", feishusim.Thread(feishusim.NewThread)))
				r.heard(root.ID)
				opts = append(opts, feishusim.Thread(root.ThreadID))
			}
			picture := r.sim.Upload("x.png", "image/png", aPicture(t))
			file := r.sim.Upload("a.txt", "text/plain", []byte("words"))
			forms := everyForm(picture, file)
			at := time.Now()
			for i, f := range forms {
				sent := append(slices.Clone(opts), feishusim.Time(at.Add(time.Duration(i)*time.Millisecond)))
				r.heard(r.sim.Send(room, r.user, f.form, json.RawMessage(f.content), sent...))
			}
			passed := r.sim.Forward(room, r.user, []string{r.sim.Say(r.chat, r.user, "/status")}, append(slices.Clone(opts), feishusim.Time(at.Add(50*time.Millisecond)))...)
			r.heard(passed)
			last := append(slices.Clone(opts), feishusim.Mention(), feishusim.Time(at.Add(time.Second)))
			r.sim.Say(room, r.user, "都看到了吗？", last...)
			var told strings.Builder
			for !strings.Contains(told.String(), "都看到了吗？") {
				select {
				case b := <-r.built:
					told.WriteString(contextmgr.Prefix(contextmgr.Context{Background: b.Prompt.Background}, b.Prompt.Kind, b.Prompt.Current) + "\n")
				case <-time.After(patience):
					t.Fatalf("the agent was not asked; visible:\n%s", r.transcript())
				}
			}
			rest := told.String()
			for _, f := range append(forms, struct{ form, content, told string }{"merge_forward", "", "> /status"}) {
				if place == "private" { // in groups files come with the question, and words before it
					_, after, ok := strings.Cut(rest, f.told)
					if rest = after; !ok {
						t.Fatalf("%s is not told, or in another order:\n%s", f.form, told.String())
					}
				} else if !strings.Contains(rest, f.told) {
					t.Errorf("%s is not told:\n%s", f.form, rest)
				}
			}
			if n := strings.Count(told.String(), "没有取到"); n != 0 {
				t.Errorf("%d files were not fetched:\n%s", n, told.String())
			}
		})
	}
}
