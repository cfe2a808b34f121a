package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// output enables the optional features of agents and groups.
func output(c *config.Config) {
	on := config.Defaults().Chat
	c.Chat.Topics, c.Chat.SendFiles = on.Topics, on.SendFiles
	c.Chat.LongAnswer, c.Chat.GroupMention = on.LongAnswer, on.GroupMention
}

// writeFile writes a file of the project.
func (r *rig) writeFile(name string, data []byte) {
	r.Helper()
	path := r.inProject(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		r.Fatal(err)
	}
}

// fileKey finds the platform's key in the content of a message.
var fileKey = regexp.MustCompile(`"(?:image_key|file_key)":"([^"]+)"`)

// files are the file messages that answer in a chat or topic, by message type, with their content.
func (r *rig) files(v *feishusim.View, chatID string) (list []feishusim.Message, data [][]byte) {
	for _, m := range v.Messages(chatID) {
		key := fileKey.FindStringSubmatch(m.Content)
		if !m.FromBot || key == nil {
			continue
		}
		_, content, _ := r.sim.File(key[1])
		list, data = append(list, m), append(data, content)
	}
	return list, data
}

// ended counts the cards of a topic whose turns have ended.
func ended(v *feishusim.View, chatID, topic string) (n int) {
	for _, m := range v.Messages(chatID) {
		if m.FromBot && m.Type == "interactive" && m.ThreadID == topic && !m.Last().Streaming && !running(m) {
			n++
		}
	}
	return n
}

// awaitText waits for the card that answers a message in a chat, and returns its text.
func (r *rig) awaitText(chatID, id string) string {
	r.Helper()
	var text string
	r.await("the answer", func(v *feishusim.View) bool {
		for _, m := range v.Messages(chatID) {
			if m.FromBot && m.Type == "interactive" && m.ParentID == id && !m.Last().Streaming && !running(m) {
				text = visibleText(m)
				return true
			}
		}
		return false
	})
	return text
}

func TestTheAgentSendsFilesOfItsProjectOnly(t *testing.T) {
	r := newRig(t, output)
	var plot bytes.Buffer
	if err := png.Encode(&plot, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	r.writeFile("out/plot.png", plot.Bytes())
	r.writeFile("报告.pdf", []byte("%PDF-1.7 words"))
	project, data := r.cfg.Claude.Project, filepath.Dir(databaseOf(r.cfg))
	secret := filepath.Join(filepath.Dir(project), "secret")
	must(t, errors.Join(
		os.WriteFile(secret, []byte("secret"), 0o600),
		os.Symlink(secret, filepath.Join(project, "link")),
		os.Symlink(data, filepath.Join(project, "data")),
	))
	t.Cleanup(func() { _ = os.Remove(secret) })
	send := func(path, caption string) string {
		t.Helper()
		question := "发送 " + path
		r.scriptTool(question, "send_file", map[string]any{"path": path, "caption": caption})
		return r.awaitText(r.chat, r.sim.Say(r.chat, r.user, question))
	}
	if got := send("out/plot.png", "这是图"); !strings.Contains(got, "see the picture") {
		t.Errorf("the answer is %q", got)
	}
	if got := send("报告.pdf", ""); !strings.Contains(got, "can open") {
		t.Errorf("the answer is %q", got)
	}
	for _, path := range []string{
		"../secret", secret, "link", "/etc/passwd", "data/magpie.db", filepath.Join(data, "magpie.db"),
		"/proc/self/environ",
	} {
		if got := send(path, ""); !strings.Contains(got, "Not sent") {
			t.Errorf("%s: the answer is %q", path, got)
		}
	}
	shown, contents := r.files(r.sim.View(), r.chat)
	if len(shown) != 2 || shown[0].Type != "post" || shown[0].Text() != "这是图\n" || shown[1].Type != "file" ||
		!bytes.Equal(contents[0], plot.Bytes()) || string(contents[1]) != "%PDF-1.7 words" {
		t.Errorf("shown %+v", shown)
	}
	if left, err := os.ReadDir(filepath.Join(data, "outgoing")); err != nil || len(left) != 0 {
		t.Errorf("copies remain: %v, %v", left, err)
	}
}

// A topic knows nothing of its group or of other topics. Answers, files and commands stay in it.
func TestTopicsAreChatsOfTheirOwn(t *testing.T) {
	r := newRig(t, output, oneProcessPerTurn)
	room := r.sim.Group("team", r.user)
	r.writeFile("a.txt", []byte("words"))
	r.awaitText(room, r.sim.Say(room, r.user, "我叫小明", feishusim.Mention()))
	root := r.sim.Say(room, r.user, "发布清单在这里", feishusim.Mention())
	r.awaitText(room, root)
	first := r.sim.Say(room, r.user, "话题里：我住在杭州",
		feishusim.Mention(), feishusim.ReplyTo(root), feishusim.Thread(feishusim.NewThread))
	topic, _ := r.sim.Message(first)
	r.await("the answer in the topic", func(v *feishusim.View) bool { return ended(v, room, topic.ThreadID) == 1 })
	if q := r.lastRequest(); strings.Contains(q.AllText(), "我叫小明") || !strings.Contains(q.AllText(), "发布清单") {
		t.Errorf("the topic knows messages of its group: %s", q.AllText())
	}
	r.scriptTool("发送", "send_file", map[string]any{"path": "a.txt"})
	r.sim.Say(room, r.user, "发送它，我住在哪？", feishusim.Mention(), feishusim.Thread(topic.ThreadID))
	r.await("the file and the answer", func(v *feishusim.View) bool {
		shown, _ := r.files(v, room)
		return len(shown) == 1 && shown[0].ThreadID == topic.ThreadID && ended(v, room, topic.ThreadID) == 2
	})
	if q := r.lastRequest(); !strings.Contains(q.AllText(), "杭州") {
		t.Errorf("the topic does not know its own messages: %s", q.AllText())
	}
	r.awaitText(room, r.sim.Say(room, r.user, "群里继续", feishusim.Mention()))
	if q := r.lastRequest(); strings.Contains(q.AllText(), "杭州") || !strings.Contains(q.AllText(), "小明") {
		t.Errorf("the group: %s", q.AllText())
	}
	for _, key := range []chat.Key{
		chat.FeishuChat(room), {Channel: "feishu", Kind: "chat", ID: room, Thread: topic.ThreadID},
	} {
		if c, err := r.store().Chats().Get(t.Context(), key); err != nil || c.Session.ID == "" {
			t.Errorf("%v: %+v, %v", key, c.Session, err)
		}
	}
	// The event of a press does not name the topic; it is that of the card's turn.
	rest := make(chan struct{})
	defer close(rest)
	r.model.Script(modelsim.Rule{Match: asksFor("等一下"), Times: 1, Steps: []modelsim.Step{
		modelsim.Text("好"), modelsim.Hold(rest),
	}})
	r.sim.Say(room, r.user, "等一下", feishusim.Mention(), feishusim.Thread(topic.ThreadID))
	var card feishusim.Message
	r.await("a running card", func(v *feishusim.View) bool {
		i := slices.IndexFunc(v.Messages(room), func(m feishusim.Message) bool {
			return m.FromBot && running(m) && strings.Contains(m.Text(), "好")
		})
		if i >= 0 {
			card = v.Messages(room)[i]
		}
		return i >= 0
	})
	turn, err := r.store().Turns().Running(t.Context())
	if err != nil || len(turn) != 1 {
		t.Fatalf("running %+v, %v", turn, err)
	}
	_, err = r.sim.Press(t.Context(), card.ID, r.user, map[string]any{"do": "stop", "turn": turn[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	r.await("the stopped card", func(v *feishusim.View) bool {
		m, _ := v.Message(card.ID)
		return !running(m) && strings.Contains(m.Text(), "已停止")
	})
}

// Each message of a group is answered where the rule says so. The bot stops where it is removed, and answers where it
// is added again.
func TestAGroupFromTheFirstToTheLastDay(t *testing.T) {
	r := newRig(t, output)
	bob := r.sim.AddUser("Bob")
	room := r.sim.Group("team", r.user, bob)
	r.sim.AddBot(room, r.user)
	texts := func(part string) func(v *feishusim.View) bool {
		return func(v *feishusim.View) bool {
			return slices.ContainsFunc(v.Messages(room), func(m feishusim.Message) bool {
				return m.FromBot && strings.Contains(m.Text(), part)
			})
		}
	}
	r.await("a greeting", texts("@我"))
	r.sim.Say(room, r.user, "/mention all", feishusim.Mention())
	r.await("the rule", texts("回答所有消息"))
	asked := r.sim.Say(room, r.user, "我叫小明")
	r.awaitText(room, asked)
	r.sim.Redeliver(asked, true)
	r.sim.Say(room, r.user, "你说呢", feishusim.MentionUsers(bob))
	r.sim.Say(room, r.user, "大家好", feishusim.MentionAll())
	last := r.sim.Say(room, r.user, "我叫什么？")
	if got := r.awaitText(room, last); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if n := len(r.model.Requests()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
	rest := make(chan struct{})
	r.model.Script(modelsim.Rule{Match: asksFor("慢慢来"), Times: 1, Steps: []modelsim.Step{
		modelsim.Text("好"), modelsim.Hold(rest),
	}})
	r.sim.Say(room, r.user, "慢慢来")
	r.awaitModel("the question", func(list []modelsim.Request) bool { return len(list) == 3 })
	r.sim.Say(room, r.user, "还有一个问题")
	r.until("the next question", func() bool {
		c, err := r.store().Turns().Of(t.Context(), chat.FeishuChat(room))
		return err == nil && len(c.In(convo.Queued)) > 0
	})
	r.sim.RemoveBot(room, r.user)
	r.until("silence", func() bool {
		running, err := r.store().Turns().Running(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		left, err := r.store().Outbox().Backlog(t.Context())
		return err == nil && len(running) == 0 && left.Turns == 0 && left.Posts == 0
	})
	close(rest)
	before := len(r.model.Requests())
	r.sim.AddBot(room, r.user)
	r.await("the greeting for a group with another rule", texts("直接提问就可以"))
	if got := r.awaitText(room, r.sim.Say(room, r.user, "我叫什么名字？")); got != "你叫小明。" {
		t.Errorf("after it was added again: %q", got)
	}
	if n := len(r.model.Requests()); n != before+1 {
		t.Errorf("the model was asked %d more times", n-before)
	}
}

// fileSteps are the steps of delivering a file.
var fileSteps = regexp.MustCompile(`^file: `)

// A long answer is delivered as a card and as a file, each once, wherever the program is killed.
func TestACrashWhileAFileIsDelivered(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat("很长的回答。", 30)
	for _, step := range append([]string{"delivery: noted"}, crashSteps(t)...) {
		if !fileSteps.MatchString(step) && step != "delivery: noted" {
			continue
		}
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{})
			s.model.Script(modelsim.Rule{Match: asksFor("讲讲"), Steps: []modelsim.Step{modelsim.Text(answer)}})
			const long = "MAGPIE_CHAT_ANSWER_FILE_CHARS=100"
			s.run(long, "MAGPIE_CRASH_AT="+step)
			s.connected()
			id := s.sim.Say(s.chat, s.user, "讲讲")
			if !s.died(patience) {
				t.Fatalf("the program did not come to this step: %s", s.logs)
			}
			s.run(long)
			s.connected()
			s.until("an empty outbox", func() bool {
				return s.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 1 &&
					s.count(`SELECT COUNT(*) FROM outbox`) == 0
			})
			var types []string
			for _, m := range replies(s.sim.View(), s.chat, id) {
				types = append(types, m.Type)
			}
			shown, data := s.files(s.sim.View(), s.chat)
			if !slices.Equal(types, []string{"interactive", "file"}) || len(shown) != 1 || string(data[0]) != answer {
				t.Errorf("shown %v", types)
			}
			var content struct {
				Key string `json:"file_key"`
			}
			must(t, json.Unmarshal([]byte(shown[0].Content), &content))
			if name, _, _ := s.sim.File(content.Key); !strings.HasPrefix(name, "回答-") ||
				!strings.HasSuffix(name, ".md") {
				t.Errorf("its name is %q", name)
			}
			s.terminate()
			s.awaitNoAgents(2 * busy)
			s.clean()
		})
	}
}

// Two bots that answer each other stop after ten turns, until a person writes.
func TestABotLoopEnds(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Chat.AnswerBots = true })
	other := r.sim.AddApp("别的机器人")
	group := r.sim.Group("测试群", r.user)
	asked := func() int { return len(r.model.Requests()) }
	talk := func(answered int) {
		t.Helper()
		for n := range answered {
			got := visibleText(r.answer(group, r.sim.Say(group, other, "数到 3", feishusim.Mention())))
			if got != "1 2 3" {
				t.Fatalf("answer %d is %q", n+1, got)
			}
		}
		before := asked()
		for range 3 {
			id := r.sim.Say(group, other, "数到 3", feishusim.Mention())
			r.awaitReceived(id)
			if list := replies(r.sim.View(), group, id); len(list) != 0 {
				t.Errorf("after %d turns of bots the answer is %q", answered, list[0].Text())
			}
		}
		r.ask("/status") // the chat still works
		if n := asked() - before; n != 0 {
			t.Errorf("the model was asked %d more times", n)
		}
	}
	talk(10)
	if got := visibleText(r.answer(group, r.sim.Say(group, r.user, "数到 4", feishusim.Mention()))); got != "1 2 3 4" {
		t.Errorf("a person gets %q", got)
	}
	talk(10)
	if got := asked(); got != 21 {
		t.Errorf("the model was asked %d times, want 21", got)
	}
}
