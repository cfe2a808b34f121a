package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"os"
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
	"magpie/internal/operator/config"
)

// withFiles accepts files as by default.
func withFiles(c *config.Config) { c.Chat.MaxFile = config.Defaults().Chat.MaxFile }

func aPicture(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 30, 20))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// awaitReceived waits until the program has acknowledged the event of a message.
func (r *rig) awaitReceived(id string) {
	r.Helper()
	r.await("the message to be acknowledged", func(v *feishusim.View) bool {
		for _, d := range v.Deliveries() {
			if d.MessageID == id && d.AckCode == 200 {
				return true
			}
		}
		return false
	})
}

// shownPictures counts the pictures in the newest user message of a request.
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
	r := newRig(t, realCLI(t), withFiles, func(c *config.Config) { c.Chat.Topics = true })
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	picture := r.sim.Upload("x.png", "image/png", aPicture(t))
	report := r.sim.Upload("a.txt", "text/plain", []byte("the secret word is heron"))

	r.awaitReceived(r.sim.Send(r.chat, r.user, "image", mustJSON(map[string]string{"image_key": picture})))
	id := r.sim.Say(r.chat, r.user, "这是什么？")
	r.answer(r.chat, id)
	if req := r.lastRequest(); shownPictures(req) != 1 || !strings.Contains(req.LastUser(), "这是什么？") ||
		len(r.model.Requests()) != 1 {
		t.Errorf("in private the model was asked %d times, last %q with %d pictures",
			len(r.model.Requests()), req.LastUser(), shownPictures(req))
	}

	content := fmt.Sprintf(`{"title":"","content":[[{"tag":"text","text":"看图"},{"tag":"img","image_key":%q}]]}`,
		picture)
	id = r.sim.Post(group, r.user, json.RawMessage(content), feishusim.Mention())
	r.answer(group, id)
	if req := r.lastRequest(); shownPictures(req) != 1 || !strings.Contains(req.LastUser(), "看图[图片 1]") {
		t.Errorf("in a group the model was asked %q with %d pictures", req.LastUser(), shownPictures(req))
	}

	// A file cannot mention the bot. It is quoted here, in a topic that starts with it.
	file := r.sim.Send(group, red, "file", mustJSON(map[string]string{"file_key": report, "file_name": "../a.txt"}))
	r.awaitReceived(file)
	topic := []feishusim.SendOption{feishusim.Mention(), feishusim.ReplyTo(file), feishusim.Thread(feishusim.NewThread)}
	first, _ := r.sim.Message(r.sim.Say(group, r.user, "总结一下", topic...))
	key := chat.FeishuChat(group)
	key.Thread = first.ThreadID
	r.awaitModel("the question of the topic", func(all []modelsim.Request) bool {
		return strings.Contains(all[len(all)-1].LastUser(), "总结一下")
	})
	req := r.lastRequest()
	path := filepath.Join(filepath.Dir(databaseOf(r.cfg)), "files", r.folder(key))
	if !strings.Contains(req.LastUser(), "> 引用 小红 的消息：\n> [文件 a.txt]") ||
		!strings.Contains(req.LastUser(), "引用的消息里的[文件 a.txt] "+path) {
		t.Errorf("in a topic the model was asked %q", req.LastUser())
	}
}

func TestTheAgentReadsWhatWasSent(t *testing.T) {
	r := newRig(t, withFiles)
	report := r.sim.Upload("a.txt", "text/plain", []byte("the secret word is heron"))
	// the folder of a chat's files before its agents had folders: the file is found and used
	dir := filepath.Join(filepath.Dir(databaseOf(r.cfg)), "files", chat.FeishuChat(r.chat).StableID(""))
	must(t, os.MkdirAll(dir, 0o700))
	path := filepath.Join(dir, "1-1-a.txt")
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Tool("Read", map[string]any{"file_path": path}),
	}})
	r.awaitReceived(r.sim.Send(r.chat, r.user, "file", mustJSON(map[string]string{
		"file_key": report, "file_name": "a.txt",
	})))
	r.answer(r.chat, r.sim.Say(r.chat, r.user, "里面写了什么？"))
	if req := r.lastRequest(); !bytes.Contains(req.Body, []byte("heron")) {
		t.Errorf("the file was not read: %s", req.AllText())
	}
}

// The app may not download files. The question is answered without the file, and people read which permission is
// missing; the operator finds it in the log.
func TestAFileThatTheAppMayNotDownload(t *testing.T) {
	r := newRig(t, withFiles)
	r.sim.TakeScopes("im:message", "im:message:readonly", "im:message.history:readonly")
	key := r.sim.Upload("a.txt", "text/plain", []byte("heron"))
	file := r.sim.Send(r.chat, r.user, "file", mustJSON(map[string]string{"file_key": key, "file_name": "a.txt"}))
	r.awaitReceived(file)
	r.sim.Say(r.chat, r.user, "数到 3")
	for _, want := range []string{"1 2 3", "[文件 a.txt]。应用缺少“获取单聊、群组消息”权限"} {
		r.await(want, func(*feishusim.View) bool {
			return slices.ContainsFunc(r.sim.Messages(r.chat), func(m feishusim.Message) bool {
				return m.FromBot && strings.Contains(m.Text(), want)
			})
		})
	}
	if log := r.logs.String(); !strings.Contains(log, "file not fetched") ||
		!strings.Contains(log, "a permission is missing") || !strings.Contains(log, "im:message:readonly") {
		t.Errorf("the log says %s", log)
	}
}

func TestARecalledQuestionIsForgotten(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明")
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("好"), modelsim.Hang()}})
	id := r.sim.Say(r.chat, r.user, "密码是苍鹭")
	r.awaitModel("the question", func(all []modelsim.Request) bool {
		return strings.Contains(all[len(all)-1].AllText(), "苍鹭")
	})
	r.sim.Recall(id)
	r.awaitModel("the end of the call", func(all []modelsim.Request) bool { return all[len(all)-1].Cancelled })
	r.until("the turn is over", func() bool { return strings.Contains(r.logs.String(), `"state":"cancelled"`) })
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	last := r.lastRequest()
	if text := last.AllText(); strings.Contains(text, "苍鹭") {
		t.Errorf("it reached the model again: %s", text)
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
		return len(list) == 2 && strings.Contains(list[1].Text(), "已编辑")
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

// form is a message of one type, and its form in the agent's prompt.
type form struct {
	name, content, prompt string
	files                 bool // with files, which in groups belong to the next question
}

// everyForm is a message of every type that can be read.
func everyForm(picture, file string) []form {
	return []form{
		{"text", `{"text":"你好"}`, "你好", false},
		{
			"post",
			fmt.Sprintf(`{"title":"计划","content":[[{"tag":"text","text":"看"},{"tag":"img","image_key":%q},`+
				`{"tag":"file","file_key":%q,"file_name":"p.txt"}]]}`, picture, file),
			"看[图片 1][文件 p.txt]", true,
		},
		{
			"post",
			`{"title":"","content":[
				[{"tag":"text","text":"重点","style":["bold"]},{"tag":"a","text":"链接","href":"https://a.example"},
				 {"tag":"at","user_id":"ou_x","user_name":"小刚"},{"tag":"emotion","emoji_type":"SMILE"}],
				[{"tag":"code_block","language":"GO","text":"x := 1"}],[{"tag":"hr"}]]}`,
			"**重点**[链接](https://a.example)@小刚[SMILE]\n```go\nx := 1\n```\n", false,
		},
		{
			"post",
			fmt.Sprintf(`{"title":"","content":[[{"tag":"text","text":"片子"},`+
				`{"tag":"media","file_key":%q,"image_key":"img_x"}]]}`, file),
			"片子[视频]", true,
		},
		{"image", fmt.Sprintf(`{"image_key":%q}`, picture), "[图片 1]\n", true},
		{"file", fmt.Sprintf(`{"file_key":%q,"file_name":"a.txt"}`, file), "[文件 a.txt]", true},
		{"folder", `{"file_key":"file_v3_x","file_name":"stuff"}`, "[文件夹 stuff]", false},
		{"audio", fmt.Sprintf(`{"file_key":%q,"duration":2000}`, file), "[语音 2 秒]", true},
		{
			"media", fmt.Sprintf(`{"file_key":%q,"image_key":"img_x","file_name":"a.mp4","duration":3000}`, file),
			"[视频 a.mp4 3 秒]", true,
		},
		{"sticker", `{"file_key":"file_v3_y"}`, "[表情包]", false},
		{"interactive", `{"title":"构建","elements":[[{"tag":"text","text":"失败"}]]}`, "[卡片 构建]\n失败", false},
		{"location", `{"name":"北京","longitude":"116","latitude":"39"}`, "[位置 北京]", false},
		{"share_user", `{"user_id":"ou_x"}`, "[名片]", false},
		{"share_chat", `{"chat_id":"oc_x"}`, "[群名片]", false},
		{"share_calendar_event", `{"summary":"例会","start_time":"0","end_time":"0"}`, "[日程 例会]", false},
		{"calendar", `{"summary":"周会","start_time":"0","end_time":"0"}`, "[日程 周会]", false},
		{"general_calendar", `{"summary":"月会","start_time":"0","end_time":"0"}`, "[日程 月会]", false},
		{"video_chat", `{"topic":"站会"}`, "[视频会议 站会]", false},
		{"todo", `{"summary":{"title":"写报告","content":[]}}`, "[任务 写报告]", false},
		{"vote", `{"topic":"吃什么","options":["面","饭"]}`, "[投票 吃什么]\n- 面", false},
	}
}

// venue is a place to talk: a private chat, a group or a topic.
type venue struct {
	name    string
	mention chat.MentionRule // of groups
}

var venues = []venue{{"private", ""}, {"group", chat.MentionOnly}, {"topic", chat.MentionOnly}}

// roomAt creates a room at a venue, and returns the options of its messages.
func (r *rig) roomAt(where venue) (room string, opts []feishusim.SendOption) {
	r.Helper()
	if where.name == "private" {
		return r.chat, nil
	}
	room = r.sim.Group("测试群", r.user)
	if where.name == "topic" {
		root, _ := r.sim.Message(r.sim.Say(room, r.user, "话题", feishusim.Thread(feishusim.NewThread)))
		r.awaitReceived(root.ID)
		if where.mention == chat.MentionNone {
			r.answer(room, root.ID)
			r.turns(1)
		}
		opts = append(opts, feishusim.Thread(root.ThreadID))
	}
	return room, opts
}

// turns waits until n turns have ended.
func (r *rig) turns(n int) {
	r.Helper()
	r.until("the ends of the turns", func() bool { return strings.Count(r.logs.String(), "turn ended") == n })
}

// with are the options of one message in addition to those of its venue.
func with(opts []feishusim.SendOption, more ...feishusim.SendOption) []feishusim.SendOption {
	return append(slices.Clone(opts), more...)
}

// prompts waits until a prompt contains the text, and returns all prompts until then.
func (r *rig) prompts(text string) string {
	r.Helper()
	var all strings.Builder
	for !strings.Contains(all.String(), text) {
		select {
		case b := <-r.built:
			overheard := contextmgr.Context{Overheard: b.Prompt.Overheard}
			all.WriteString(contextmgr.Prefix(overheard, b.Prompt.Kind, b.Prompt.Current) + "\n")
		case <-time.After(patience):
			r.Fatalf("the agent was not asked; visible:\n%s", r.transcript())
		}
	}
	return all.String()
}

// inOrder fails unless a text contains all of these parts in this order.
func (r *rig) inOrder(text string, parts ...string) {
	r.Helper()
	rest := text
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			r.Fatalf("%q is missing, or in another order:\n%s", part, text)
		}
		rest = after
	}
}

// Messages of each type, alone and mixed, reach the agent in the order in which they were sent: at once in private,
// with the next mention of the bot in groups and topics. There files belong to the question, and texts precede it.
func TestEveryMessageTypeReachesTheAgent(t *testing.T) {
	t.Parallel()
	for _, where := range venues {
		t.Run(where.name, func(t *testing.T) {
			r := newRig(t, withFiles, func(c *config.Config) {
				c.Claude = claudetest.ScriptedConfig(t)
				c.Chat.Topics, c.Context.AutoChatContext = true, 100
			})
			room, opts := r.roomAt(where)
			picture := r.sim.Upload("x.png", "image/png", aPicture(t))
			file := r.sim.Upload("a.txt", "text/plain", []byte("words"))
			forms := everyForm(picture, file)
			at := time.Now()
			for i, f := range forms {
				sent := feishusim.Time(at.Add(time.Duration(i) * time.Millisecond))
				r.awaitReceived(r.sim.Send(room, r.user, f.name, json.RawMessage(f.content), with(opts, sent)...))
			}
			sent := feishusim.Time(at.Add(50 * time.Millisecond))
			status := r.sim.Say(r.chat, r.user, "/status")
			r.awaitReceived(r.sim.Forward(room, r.user, []string{status}, with(opts, sent)...))
			sent = feishusim.Time(at.Add(time.Second))
			r.sim.Say(room, r.user, "都看到了吗？", with(opts, feishusim.Mention(), sent)...)
			prompt := r.prompts("都看到了吗？")
			var words, files, all []string
			for _, f := range append(forms, form{"merge_forward", "", "> /status", true}) {
				all = append(all, f.prompt)
				if f.files {
					files = append(files, f.prompt)
				} else {
					words = append(words, f.prompt)
				}
			}
			if where.name == "private" {
				r.inOrder(prompt, append(all, "都看到了吗？")...)
			} else {
				r.inOrder(prompt, slices.Concat(words, []string{"\n# 当前问题\n"}, files, []string{"都看到了吗？"})...)
			}
			if n := strings.Count(prompt, "没有取到"); n != 0 {
				t.Errorf("%d files were not fetched:\n%s", n, prompt)
			}
		})
	}
}

// A message type that cannot be read is not dropped silently: in private its author gets a reply at once, in groups and
// topics the agent sees a placeholder. System messages of the platform are ignored.
func TestMessageTypesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const polite = "暂时看不懂这种消息"
	for _, where := range venues {
		t.Run(where.name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) {
				c.Claude = claudetest.ScriptedConfig(t)
				c.Chat.Topics, c.Context.AutoChatContext = true, 100
			})
			room, opts := r.roomAt(where)
			var sent []string
			for _, f := range []form{
				{name: "hongbao", content: `{"text":"[红包]"}`},
				{name: "system", content: `{"template":"小明 改了群名"}`},
				{name: "hologram", content: `{"x":1}`},
			} {
				sent = append(sent, r.sim.Send(room, r.user, f.name, json.RawMessage(f.content), opts...))
				r.awaitReceived(sent[len(sent)-1])
			}
			r.sim.Say(room, r.user, "看到了吗？", with(opts, feishusim.Mention())...)
			prompt := r.prompts("看到了吗？")
			if where.name == "private" {
				for _, id := range []string{sent[0], sent[2]} {
					if got := visibleText(r.answer(room, id)); !strings.Contains(got, polite) {
						t.Errorf("answer %q", got)
					}
				}
			} else {
				r.inOrder(prompt, "[红包]", "[hologram]", "\n# 当前问题\n", "看到了吗？")
			}
			if strings.Contains(prompt, "群名") || strings.Contains(prompt, "[system]") {
				t.Errorf("a system message is in the prompt: %s", prompt)
			}
			for _, m := range r.sim.Messages(room) {
				if m.FromBot &&
					(m.ParentID == sent[1] || where.name != "private" && strings.Contains(m.Text(), polite)) {
					t.Errorf("the bot says %q", m.Text())
				}
			}
		})
	}
}

// While the bot is busy people send several messages in quick succession. In whatever order they arrive, the agent gets
// all of them in one prompt, in the order in which they were sent.
func TestABurstReachesTheAgentInOrder(t *testing.T) {
	t.Parallel()
	for _, where := range append(venues, venue{"group", chat.MentionNone}, venue{"topic", chat.MentionNone}) {
		t.Run(where.name+" "+string(where.mention), func(t *testing.T) {
			r := newRig(t, withFiles, func(c *config.Config) {
				c.Chat.Topics, c.Chat.GroupMention = true, where.mention
			})
			room, opts := r.roomAt(where)
			mute := where.mention == chat.MentionOnly // a message without a mention is not for the bot
			picture := r.sim.Upload("x.png", "image/png", aPicture(t))
			file := r.sim.Upload("a.txt", "text/plain", []byte("words"))
			free := make(chan struct{})
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Hold(free), modelsim.Text("好")}})
			asked := func(text string) bool { return r.agentRead(text) }
			r.sim.Say(room, r.user, "开始", with(opts, feishusim.Mention())...)
			r.awaitModel("the first question", func(all []modelsim.Request) bool {
				return len(all) > 0 && asked("开始")
			})
			before := len(r.model.Requests())

			at := time.Now()
			var sent []string
			send := func(form, content string, more ...feishusim.SendOption) string {
				when := at.Add(time.Duration(len(sent)) * time.Millisecond)
				more = append(more, feishusim.Mention(), feishusim.Time(when))
				sent = append(sent, r.sim.Send(room, r.user, form, json.RawMessage(content), with(opts, more...)...))
				return sent[len(sent)-1]
			}
			one := send("text", `{"text":"第一句"}`)
			want := []string{"第一句"}
			post := `{"title":"","content":[[{"tag":"text","text":"第二句"},{"tag":"img","image_key":%q}]]}`
			send("post", fmt.Sprintf(post, picture))
			want = append(want, "第二句[图片 1]")
			id := send("file", fmt.Sprintf(`{"file_key":%q,"file_name":"三.txt"}`, file))
			want = append(want, "[文件 三.txt]")
			if mute { // it belongs to the next question
				r.awaitReceived(id)
			}
			send("text", `{"text":"第四句"}`)
			want = append(want, "第四句")
			if where.name != "topic" {
				send("text", `{"text":"第五句"}`, feishusim.ReplyTo(one))
				want = append(want, "> 引用 小明 的消息：\n> 第一句", "第五句")
			}
			if !mute {
				send("sticker", `{"file_key":"file_v3_y"}`)
				send("audio", fmt.Sprintf(`{"file_key":%q,"duration":2000}`, file))
				want = append(want, "[表情包]", "[语音 2 秒]")
			}
			send("text", `{"text":"最后一句"}`)
			want = append(want, "最后一句")
			for _, id := range sent {
				r.awaitReceived(id)
			}
			close(free)
			r.awaitModel("the second question", func(all []modelsim.Request) bool {
				return len(all) > before && asked("最后一句")
			})
			all := r.model.Requests()[before:]
			_, current, ok := readPrompt(all[0].LastUser())
			if !ok {
				current = all[0].LastUser()
			}
			r.inOrder(current, want...)
			if len(all) != 1 || shownPictures(all[0]) != 1 {
				t.Errorf("the model was asked %d times, with %d pictures", len(all), shownPictures(all[0]))
			}
			r.turns(before + 1) // each turn makes one model request
		})
	}
}

// A huge or slow download only blocks its own chat: a file of a gigabyte is refused, which the user and the agent are
// told. During a slow one the card says so, other chats are answered, and /stop ends the wait.
func TestEndlessFilesDoNotBlockOthers(t *testing.T) {
	r := newRig(t, withFiles)
	huge := r.sim.UploadStream("huge.bin", "application/octet-stream", feishusim.Stream{Size: 1 << 30})
	drops := r.sim.UploadStream("drops.bin", "application/octet-stream", feishusim.Stream{
		Size: 1 << 30, Piece: 1, Pause: 20 * time.Millisecond,
	})
	send := func(room string, by feishusim.User, key, name string) {
		r.awaitReceived(r.sim.Send(room, by, "file", mustJSON(map[string]string{
			"file_key": key, "file_name": name,
		})))
	}
	send(r.chat, r.user, huge, "huge.bin")
	id := r.sim.Say(r.chat, r.user, "数到 3")
	r.await("the answer, and the refused file", func(v *feishusim.View) bool {
		var answered, refused bool
		for _, m := range v.Messages(r.chat) { // the file's turn has ended before the question, or answers both
			answered = answered ||
				m.ParentID == id && strings.Contains(m.Text(), "1 2 3") && !m.Last().Streaming && !running(m)
			refused = refused || m.Text() == "超过 30 MB，没有读取：[文件 huge.bin]"
		}
		return answered && refused
	})
	if !r.agentRead("[文件 huge.bin] 太大，没有取") {
		t.Errorf("the agent was asked %q", r.lastRequest().Body)
	}

	blue := r.sim.AddUser("小蓝") // in a chat where no turn has just ended, which would begin the next one without its words
	room := r.sim.PrivateChat(blue)
	send(room, blue, drops, "drops.bin")
	id = r.sim.Say(room, blue, "数到 4")
	r.shows(room, id, "正在接收文件")
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	if got := visibleText(r.answer(other, r.sim.Say(other, red, "数到 5"))); got != "1 2 3 4 5" {
		t.Errorf("meanwhile another chat gets %q", got)
	}
	if waiting := replies(r.sim.View(), room, id)[0]; !running(waiting) {
		t.Errorf("the turn has not waited for its file: %q", waiting.Text())
	}
	r.sim.Say(room, blue, "/stop")
	if got := r.turnDone(room, id).Text(); !strings.Contains(got, "已停止") {
		t.Errorf("stopped, the card says %q", got)
	}
}
