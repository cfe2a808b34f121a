package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/bridge"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

func TestAPrivateMessageIsAnsweredByAGrowingCard(t *testing.T) {
	r := newRig(t)
	first, second := make(chan struct{}), make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("第一段。"), modelsim.Hold(first), modelsim.Text("第二段。"), modelsim.Hold(second), modelsim.Text("第三段。"),
	}})
	id := r.sim.Say(r.chat, r.user, "写三段")
	for _, step := range []struct {
		text string
		then chan struct{}
	}{{"第一段。", first}, {"第一段。第二段。", second}} {
		r.await(step.text, func(v *feishusim.View) bool {
			list := replies(v, r.chat, id)
			return len(list) == 1 && list[0].Last().Streaming && strings.Contains(list[0].Text(), step.text)
		})
		close(step.then)
	}
	m := r.answer(r.chat, id)
	if said(m) != "第一段。第二段。第三段。" || m.Type != "interactive" || m.CardID == "" {
		t.Errorf("answer %q as %s %s", said(m), m.Type, m.CardID)
	}
}

func TestAFollowUpNeedsTheFirstMessage(t *testing.T) {
	r := newRig(t)
	if got := r.ask("我叫小明"); got != "好的，小明，我记住了。" {
		t.Fatalf("answer %q", got)
	}
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if b := <-r.built; b.Live || b.Prompt.UseResume || b.Prompt.Stats.Messages != 0 {
		t.Errorf("first context: %+v", b)
	}
	if b := <-r.built; !b.Live || b.Prompt.Stats.Messages != 0 {
		t.Errorf("second context: %+v, want a living process and no prefix", b)
	}
}

// With --resume the request holds the session's messages and the prefix, both.
func TestANewProcessGetsBothContexts(t *testing.T) {
	r := newRig(t, func(c *config) { c.Claude.KeepAlive.Duration = 0 })
	r.ask("我叫小明")
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	<-r.built
	if b := <-r.built; b.Live || !b.Prompt.UseResume || b.Prompt.Stats.Messages != 2 || b.Prompt.Stats.UserMessages != 1 {
		t.Errorf("context: %+v", b)
	}
	req := r.lastRequest()
	if !slices.ContainsFunc(req.Messages, func(m modelsim.Message) bool {
		return m.Role == "user" && strings.HasSuffix(strings.TrimSpace(m.Text), "我叫小明")
	}) {
		t.Errorf("the session's messages did not reach the model: %s", req.AllText())
	}
	parsed, current, ok := contextmgr.ParsePrefix(req.LastUser())
	if !ok || current != "我叫什么名字？" || len(parsed) != 2 || parsed[0].Text != "我叫小明" || parsed[1].Text != "好的，小明，我记住了。" {
		t.Errorf("the prefix did not reach the model: %q", req.LastUser())
	}
	if strings.Contains(req.LastUser(), "## [3]") {
		t.Error("the question is part of its own history")
	}
}

func TestGroupsAnswerMentionsOnly(t *testing.T) {
	r := newRig(t)
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	r.sim.Say(group, r.user, "大家好，我叫小明")
	r.sim.Say(group, red, "请看公告", feishusim.MentionAll())
	r.sim.Say(group, red, "你看看", feishusim.MentionUsers(r.user))
	id := r.sim.Say(group, red, "我叫小红", feishusim.Mention())
	if got := said(r.answer(group, id)); !strings.Contains(got, "小红") {
		t.Errorf("answer %q", got)
	}
	req := r.lastRequest()
	background, current, ok := contextmgr.ParsePrefix(req.LastUser())
	if !ok || current != "小红：我叫小红" || len(background) != 3 || background[0].Part != contextmgr.Overheard || background[2].Text != "@小明 你看看" {
		t.Errorf("the model was asked %q", req.LastUser())
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	for _, m := range r.sim.Messages(group) {
		if m.FromBot && m.ParentID != id {
			t.Errorf("the bot said %q unasked", m.Text())
		}
	}
}

func TestAPostIsRead(t *testing.T) {
	r := newRig(t)
	id := r.sim.Post(r.chat, r.user, mustJSON(map[string]any{
		"title": "标题", "content": [][]any{{map[string]any{"tag": "text", "text": "我叫"}, map[string]any{"tag": "text", "text": "小明", "style": []string{"bold"}}},
			{map[string]any{"tag": "a", "text": "链接", "href": "https://example.com/"}}},
	}))
	r.answer(r.chat, id)
	got := r.lastRequest()
	for _, want := range []string{"标题", "小明", "https://example.com/"} {
		if !strings.Contains(got.LastUser(), want) {
			t.Errorf("the model was asked %q, without %q", got.LastUser(), want)
		}
	}
}

func TestNewAndResetForgetButKeepTheHistory(t *testing.T) {
	for _, tc := range []struct{ command, reply string }{
		{"/new", "已开始新会话。"},
		{"/reset", "已清空对话历史，下次对话将从零开始。"},
	} {
		t.Run(tc.command, func(t *testing.T) {
			r := newRig(t)
			r.ask("我叫小明")
			if got := r.ask(tc.command); got != tc.reply {
				t.Fatalf("reply %q, want %q", got, tc.reply)
			}
			if got := r.ask("我叫什么名字？"); got != "我不知道你的名字。" {
				t.Errorf("answer %q", got)
			}
			req := r.lastRequest()
			if strings.Contains(req.AllText(), "小明") {
				t.Errorf("something from before reached the model: %s", req.AllText())
			}
			kept := 0
			for m, err := range r.prog.store.History(t.Context(), chat.FeishuChat(r.chat), 0, 0, 1<<62) {
				if err != nil || !strings.Contains(m.Text, "小明") {
					t.Errorf("history: %+v, %v", m, err)
				}
				kept++
			}
			if kept != 2 {
				t.Errorf("%d messages kept", kept)
			}
		})
	}
}

func TestStopInTheMiddleOfAnAnswer(t *testing.T) {
	for _, how := range []string{"command", "button"} {
		t.Run(how, func(t *testing.T) {
			r := newRig(t)
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}})
			id := r.sim.Say(r.chat, r.user, "说点什么")
			var card feishusim.Message
			r.await("text", func(v *feishusim.View) bool {
				list := replies(v, r.chat, id)
				if len(list) != 1 || !strings.Contains(list[0].Text(), "说到一半") {
					return false
				}
				card = list[0]
				return true
			})
			if how == "command" {
				if got := said(r.answer(r.chat, r.sim.Say(r.chat, r.user, "/stop"))); got != "已停止" {
					t.Errorf("reply %q", got)
				}
			} else if got, err := r.sim.Press(t.Context(), card.ID, r.user, buttonOf(t, card)); err != nil || !strings.Contains(string(got), "正在停止") {
				t.Errorf("press: %s %v", got, err)
			}
			if got := said(r.answer(r.chat, id)); !strings.Contains(got, "说到一半") || !strings.Contains(got, "已停止") {
				t.Errorf("card %q", got)
			}
			if got := r.ask("数到 3"); got != "1 2 3" {
				t.Errorf("next answer %q", got)
			}
			if how == "button" {
				if got, err := r.sim.Press(t.Context(), card.ID, r.user, buttonOf(t, card)); err != nil || !strings.Contains(string(got), "已经结束") {
					t.Errorf("late press: %s %v", got, err)
				}
			}
		})
	}
}

// buttonOf finds the value of the card's only button.
func buttonOf(t *testing.T, m feishusim.Message) any {
	t.Helper()
	_, after, ok := strings.Cut(string(m.Last().Card), `"value":`)
	if !ok {
		t.Fatalf("no button in %s", m.Last().Card)
	}
	var v any
	if err := json.NewDecoder(strings.NewReader(after)).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTwoChatsAtOnce(t *testing.T) {
	r := newRig(t)
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	both := make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 2, Steps: []modelsim.Step{modelsim.Text("好"), modelsim.Hold(both), modelsim.Text("的")}})
	a, b := r.sim.Say(r.chat, r.user, "我叫小明"), r.sim.Say(other, red, "我叫小红")
	r.awaitModel("both at the model", func(list []modelsim.Request) bool { return len(list) == 2 })
	close(both)
	for _, q := range []struct{ chat, id string }{{r.chat, a}, {other, b}} {
		if got := said(r.answer(q.chat, q.id)); got != "好的" {
			t.Errorf("answer %q", got)
		}
	}
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if got := said(r.answer(other, r.sim.Say(other, red, "我叫什么名字？"))); got != "你叫小红。" {
		t.Errorf("answer %q", got)
	}
}

// What comes while a turn runs is answered together by the next, in order, each shown to the agent once, none refused.
func TestABurstIsAnsweredTogether(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("等"), modelsim.Hold(hold)}})
	now := time.Now()
	first := r.sim.Say(r.chat, r.user, "第 0 条", feishusim.Time(now))
	r.awaitModel("the first", func(list []modelsim.Request) bool { return len(list) == 1 })
	var want []string
	var sent []string
	for i := 1; i < 20; i++ {
		want = append(want, fmt.Sprintf("第 %d 条", i))
		sent = append(sent, r.sim.Say(r.chat, r.user, want[i-1], feishusim.Time(now.Add(time.Duration(i)*time.Millisecond))))
	}
	for _, id := range sent {
		r.heard(id)
	}
	close(hold)
	r.answer(r.chat, first)
	r.turns(2) // the second answers whichever arrived last
	reqs := r.model.Requests()
	if len(reqs) != 2 {
		t.Fatalf("%d model calls", len(reqs))
	}
	if got := reqs[1].LastUser(); got != strings.Join(want, "\n\n") {
		t.Errorf("the second turn asks %q", got)
	}
}

// Every way of losing a session: the name is known all the same, with one card, no error text, one model answer.
func TestTheUserDoesNotNoticeALostSession(t *testing.T) {
	for name, lose := range map[string]func(r *rig){
		"transcript deleted": func(r *rig) { r.dropProcess(); must(r, os.Remove(r.transcriptPath())) },
		"transcript emptied": func(r *rig) { r.dropProcess(); must(r, os.Truncate(r.transcriptPath(), 0)) },
		"transcript torn": func(r *rig) {
			r.dropProcess()
			info, err := os.Stat(r.transcriptPath())
			must(r, err)
			must(r, os.Truncate(r.transcriptPath(), info.Size()/3))
		},
		"other project path": func(r *rig) {
			must(r, r.prog.store.Chats().Set(r.Context(), chat.FeishuChat(r.chat), func(s *db.Settings) { s.Project = "other" }))
		},
		"unknown id": func(r *rig) {
			key := chat.FeishuChat(r.chat)
			c, err := r.prog.store.Chats().Get(r.Context(), key)
			must(r, err)
			r.dropProcess()
			r.replaceSession(c)
		},
		"process killed":        func(r *rig) { r.killProcess() },
		"config folder deleted": func(r *rig) { must(r, os.RemoveAll(r.configDir())) },
		"config folder deleted and process killed": func(r *rig) {
			r.killProcess()
			must(r, os.RemoveAll(r.configDir()))
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config) { c.Projects = map[string]bridge.Project{"other": {Path: t.TempDir()}} })
			r.ask("我叫小明")
			asked := len(r.model.Requests())
			lose(r)
			id := r.sim.Say(r.chat, r.user, "我的名字叫什么？")
			if got := said(r.answer(r.chat, id)); got != "你叫小明。" {
				t.Errorf("answer %q", got)
			}
			if n := len(r.model.Requests()) - asked; n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			// and the chat has a session again
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
				t.Errorf("next answer %q", got)
			}
		})
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r *rig) configDir() string {
	return filepath.Dir(filepath.Dir(filepath.Dir(r.transcriptPath())))
}

// dropProcess ends the chat's process in good order.
func (r *rig) dropProcess() { r.prog.pool.Drop(chat.FeishuChat(r.chat).String()) }

// replaceSession makes the chat's session an id that no CLI knows.
func (r *rig) replaceSession(c db.Chat) {
	r.Helper()
	r.sql(`UPDATE chats SET session_id = ?2, session_node = ?3 WHERE key = ?1`, c.Key.String(), uuid.NewString(), c.Session.Node)
}

// sql changes the database behind the program's back.
func (r *rig) sql(query string, args ...any) {
	r.Helper()
	raw, err := sql.Open("sqlite3", strings.TrimPrefix(r.cfg.DB.URL, "sqlite://")+"?_busy_timeout=5000")
	must(r, err)
	_, err = raw.ExecContext(r.Context(), query, args...)
	must(r, errors.Join(err, raw.Close()))
}

// count reads a number from the database.
func (r *rig) count(query string, args ...any) (n int) {
	r.Helper()
	raw, err := sql.Open("sqlite3", strings.TrimPrefix(r.cfg.DB.URL, "sqlite://")+"?_busy_timeout=5000")
	must(r, err)
	must(r, errors.Join(raw.QueryRowContext(r.Context(), query, args...).Scan(&n), raw.Close()))
	return n
}

func TestStrangersAreIgnoredAndTheOwnerIsNot(t *testing.T) {
	r := newRig(t, func(c *config) { c.Access = bridge.Access{} })
	id := r.sim.Say(r.chat, r.user, "你好")
	if got := said(r.answer(r.chat, id)); !strings.Contains(got, r.user.OpenID) {
		t.Errorf("while nobody owns the bot it says %q, want the user's id in it", got)
	}
	r.stop()
	r.cfg.Access.Owner = r.user.OpenID
	r.start()
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	r.sim.Say(other, red, "你好")
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	for _, m := range r.sim.Messages(other) {
		if m.FromBot {
			t.Errorf("a stranger was told %q", m.Text())
		}
	}
}

func TestCommandsSpeakTheChatsLanguage(t *testing.T) {
	r := newRig(t)
	if got := r.ask("/help"); !strings.Contains(got, "/reset") || !strings.Contains(got, "命令") {
		t.Errorf("/help: %q", got)
	}
	if got := r.ask("/status"); !strings.Contains(got, "空闲") || !strings.Contains(got, "hybrid") {
		t.Errorf("/status: %q", got)
	}
	if got := r.ask("/stop"); got != "现在没有正在运行的任务。" {
		t.Errorf("/stop: %q", got)
	}
	if got := r.ask("/hlep"); !strings.Contains(got, "/hlep") || !strings.Contains(got, "/help") {
		t.Errorf("/hlep: %q", got)
	}
	r.ask("please count to 3")
	if got := r.ask("/help"); !strings.Contains(got, "Commands") {
		t.Errorf("/help in English: %q", got)
	}
	if got := r.ask("/reset"); got != "The conversation is cleared; the next one starts from zero." {
		t.Errorf("/reset in English: %q", got)
	}
}

func TestARestartGoesOnWithTheConversation(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明")
	r.stop()
	r.start()
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	<-r.built
	if b := <-r.built; !b.Prompt.UseResume || b.Prompt.Stats.Messages != 2 {
		t.Errorf("context after the restart: %+v", b)
	}
}

// The end of the program in the middle of an answer is told on the card.
func TestTheEndOfTheProgramIsTold(t *testing.T) {
	r := newRig(t)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}})
	id := r.sim.Say(r.chat, r.user, "说点什么")
	r.await("text", func(v *feishusim.View) bool {
		list := replies(v, r.chat, id)
		return len(list) == 1 && strings.Contains(list[0].Text(), "说到一半")
	})
	r.stop()
	if got := said(r.answer(r.chat, id)); !strings.Contains(got, "说到一半") || !strings.Contains(got, "中断") {
		t.Errorf("card %q", got)
	}
}

func TestModelErrorsAreToldInFriendlyWords(t *testing.T) {
	r := newRig(t)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Fail(403, "permission_error", "secret internals")}})
	if got := r.ask("你好"); !strings.Contains(got, "登录") || strings.Contains(got, "secret") {
		t.Errorf("answer %q", got)
	}
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("next answer %q", got)
	}
}

func TestADeniedToolIsNamedOnTheCard(t *testing.T) {
	r := newRig(t)
	id := r.sim.Say(r.chat, r.user, "运行 `touch x.txt`")
	r.press(r.approval(r.chat, id, 1), doRefuse)
	if got := r.turnDone(r.chat, id).Text(); !strings.Contains(got, "Bash") || !strings.Contains(got, "授权") {
		t.Errorf("answer %q", got)
	}
}

// The modes, as a chat's second turn sees them when its process is gone.
func TestModes(t *testing.T) {
	for _, tc := range []struct {
		mode           contextmgr.Mode
		session        contextmgr.SessionMode
		resume, prefix bool
	}{
		{contextmgr.Hybrid, contextmgr.Stable, true, true},
		{contextmgr.Resume, contextmgr.Stable, true, false},
		{contextmgr.Database, contextmgr.Stable, false, true},
		{contextmgr.Economy, contextmgr.Stable, true, false},
		{contextmgr.Hybrid, contextmgr.Fresh, false, true},
	} {
		t.Run(string(tc.mode)+" "+string(tc.session), func(t *testing.T) {
			r := newRig(t, func(c *config) {
				c.Context.Mode, c.Context.SessionMode, c.Claude.KeepAlive.Duration = tc.mode, tc.session, 0
			})
			r.ask("我叫小明")
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
				t.Errorf("answer %q", got)
			}
			<-r.built
			b := <-r.built
			if b.Prompt.UseResume != tc.resume || (b.Prompt.Stats.Messages > 0) != tc.prefix {
				t.Errorf("resume %v, %d messages in the prefix", b.Prompt.UseResume, b.Prompt.Stats.Messages)
			}
			req := r.lastRequest()
			_, _, prefixed := contextmgr.ParsePrefix(req.LastUser())
			if prefixed != tc.prefix {
				t.Errorf("the model saw a prefix: %v", prefixed)
			}
		})
	}
}

// A process that dies before it has used a tool is replaced within the turn; after that, what it did may not happen twice.
func TestTheProcessDiesInTheMiddleOfATurn(t *testing.T) {
	t.Run("before a tool", func(t *testing.T) {
		r := newRig(t)
		r.ask("我叫小明")
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("半句"), modelsim.Hang()}})
		id := r.sim.Say(r.chat, r.user, "我叫什么名字？")
		r.await("text", func(v *feishusim.View) bool {
			list := replies(v, r.chat, id)
			return len(list) == 1 && strings.Contains(list[0].Text(), "半句")
		})
		r.killProcess()
		if got := said(r.answer(r.chat, id)); got != "你叫小明。" {
			t.Errorf("answer %q", got)
		}
	})
	t.Run("after a tool", func(t *testing.T) {
		r := newRig(t, func(c *config) { c.Claude.AllowedTools = []string{"Bash"} })
		r.ask("我叫小明")
		count := filepath.Join(r.cfg.Claude.Project, "count")
		used := modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Tool("Bash", map[string]any{"command": "echo x >> " + count, "description": "count"}),
		}}
		hang := modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("已经"), modelsim.Hang()}}
		r.model.Script(used, hang)
		id := r.sim.Say(r.chat, r.user, "数一下")
		r.await("text", func(v *feishusim.View) bool {
			list := replies(v, r.chat, id)
			return len(list) == 1 && strings.Contains(list[0].Text(), "已经")
		})
		r.killProcess()
		if got := said(r.answer(r.chat, id)); !strings.Contains(got, "已经") || !strings.Contains(got, "意外退出") {
			t.Errorf("answer %q", got)
		}
		if data, err := os.ReadFile(count); err != nil || string(data) != "x\n" {
			t.Errorf("the tool ran %q, %v", data, err)
		}
		if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
			t.Errorf("next answer %q", got)
		}
	})
}

func TestALongAnswerGoesOnInFurtherCards(t *testing.T) {
	r := newRig(t)
	var text strings.Builder
	for i := range 600 {
		fmt.Fprintf(&text, "第 %d 段：鹊桥相会，金风玉露一相逢，便胜却人间无数。\n\n", i)
	}
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Chunks(text.String(), 500, 0)}})
	id := r.sim.Say(r.chat, r.user, "写长一点")
	var got []feishusim.Message
	r.await("the answer", func(v *feishusim.View) bool {
		got = replies(v, r.chat, id)
		return len(got) > 1 && strings.Contains(got[len(got)-1].Text(), "第 599 段") && !slices.ContainsFunc(got, func(m feishusim.Message) bool { return m.Last().Streaming || running(m) })
	})
	var all strings.Builder
	for _, m := range got {
		all.WriteString(said(m) + "\n\n")
	}
	for i := range 600 {
		if want := fmt.Sprintf("第 %d 段：", i); strings.Count(all.String(), want) != 1 {
			t.Fatalf("%q is there %d times on %d cards", want, strings.Count(all.String(), want), len(got))
		}
	}
}

// When the platform takes no cards, the answer comes all the same.
func TestWithoutCardsTheAnswerComesAsText(t *testing.T) {
	r := newRig(t)
	r.sim.Inject(feishusim.Fault{Method: "POST", Path: "/open-apis/cardkit/v1/cards", Status: 400, Code: 99991672, Msg: "scope missing"})
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
}

// Every turn logs what its context consisted of, and no log tells what people said, or a secret.
func TestLogsHoldFiguresAndNoTexts(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明明明")
	r.dropProcess()
	r.ask("我叫什么名字？")
	r.dropProcess() // a process on its way out would write its transcript anew
	must(r, os.RemoveAll(r.configDir()))
	r.ask("我是谁？")
	r.ask("/status")
	logs := r.logs.String()
	var counts []string
	for line := range strings.Lines(logs) {
		var entry struct {
			Message, Chat, Session string
			Turn                   int
			Resume                 bool
			Context                struct {
				Messages, Chars, Tokens int
				UserMessages            int `json:"user_messages"`
			}
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			t.Errorf("not JSON: %s", line)
		}
		if entry.Message == "混合上下文统计" && entry.Chat != "" && entry.Turn > 0 && entry.Session != "" && entry.Context.Tokens > 0 {
			counts = append(counts, fmt.Sprint(entry.Resume, entry.Context.Messages, entry.Context.UserMessages))
		}
	}
	if want := "false 0 0,true 2 1,false 4 2"; strings.Join(counts, ",") != want {
		t.Errorf("statistics %q, want %q", strings.Join(counts, ","), want)
	}
	if !strings.Contains(logs, `"cause":"transcript missing"`) {
		t.Error("the lost session is not logged with its cause")
	}
	for _, secret := range []string{"小明明明", "什么名字", r.cfg.Feishu.AppSecret, "sk-test-dummy"} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// A question that waits for a free process when the program ends has not been run: it is answered after the restart.
func TestAWaitingQuestionSurvivesARestart(t *testing.T) {
	r := newRig(t, func(c *config) { c.Claude.MaxProcesses = 1 })
	red := r.sim.AddUser("小红")
	other := r.sim.PrivateChat(red)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("半"), modelsim.Hang()}})
	r.sim.Say(r.chat, r.user, "说点什么")
	r.awaitModel("the first", func(list []modelsim.Request) bool { return len(list) == 1 })
	id := r.sim.Say(other, red, "数到 3")
	r.await("the waiting card", func(v *feishusim.View) bool {
		list := replies(v, other, id)
		return len(list) == 1 && strings.Contains(list[0].Text(), "排队")
	})
	r.stop()
	if got := replies(r.sim.View(), other, id); len(got) != 1 || !strings.Contains(got[0].Text(), "重启") || got[0].Last().Streaming {
		t.Errorf("while the program is away the card says %q", got[0].Text())
	}
	r.start()
	r.await("the answer", func(v *feishusim.View) bool {
		list := replies(v, other, id)
		return len(list) == 1 && said(list[0]) == "1 2 3" && !list[0].Last().Streaming
	})
}

// The end of a turn cannot be stored for a while: the answer is on its card, and joins the History later.
func TestAnAnswerThatCouldNotBeStoredAtOnce(t *testing.T) {
	r := newRig(t)
	r.sql(`CREATE TRIGGER bad BEFORE UPDATE OF state ON turns WHEN NEW.state = 'done'
		BEGIN SELECT RAISE(ABORT, 'disk full'); END`)
	id := r.sim.Say(r.chat, r.user, "我叫小明")
	if got := said(r.answer(r.chat, id)); got != "好的，小明，我记住了。" {
		t.Fatalf("answer %q", got)
	}
	r.sql(`DROP TRIGGER bad`)
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("next answer %q", got)
	}
	r.stop()
	r.start()
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer after a restart %q", got)
	}
	if got := said(r.answer(r.chat, id)); got != "好的，小明，我记住了。" {
		t.Errorf("the first card now says %q", got)
	}
}

// What never reached the session, since it was stopped while it waited, comes with the next question.
func TestTheAgentIsToldWhatItsSessionHasNotSeen(t *testing.T) {
	for _, mode := range []contextmgr.Mode{contextmgr.Hybrid, contextmgr.Economy} {
		t.Run(string(mode), func(t *testing.T) {
			r := newRig(t, func(c *config) { c.Context.Mode, c.Claude.MaxProcesses = mode, 1 })
			red := r.sim.AddUser("小红")
			other := r.sim.PrivateChat(red)
			r.ask("数到 3")
			hold := make(chan struct{})
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("半"), modelsim.Hold(hold)}})
			busy := r.sim.Say(other, red, "等")
			r.awaitModel("the other", func(list []modelsim.Request) bool { return len(list) == 2 })
			id := r.sim.Say(r.chat, r.user, "我叫小明")
			r.await("the waiting card", func(v *feishusim.View) bool {
				list := replies(v, r.chat, id)
				return len(list) == 1 && strings.Contains(list[0].Text(), "排队")
			})
			r.ask("/stop")
			r.answer(r.chat, id)
			close(hold)
			r.answer(other, busy)
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
				t.Errorf("answer %q", got)
			}
		})
	}
}

// A chat has a project path and a permission mode of its own.
func TestAChatsOwnProjectAndPermissions(t *testing.T) {
	own := t.TempDir()
	r := newRig(t, func(c *config) { c.Projects = map[string]bridge.Project{"site": {Path: own, Mode: "acceptEdits"}} })
	r.ask("数到 3")
	if got := r.ask("/cd site"); !strings.Contains(got, "site") {
		t.Errorf("/cd: %q", got)
	}
	if got := r.ask("/mode acceptEdits"); !strings.Contains(got, "acceptEdits") {
		t.Errorf("/mode: %q", got)
	}
	r.ask("运行 `touch made.txt`")
	if _, err := os.Stat(filepath.Join(own, "made.txt")); err != nil {
		t.Errorf("not made in the chat's own project: %v", err)
	}
	if got := r.ask("/status"); !strings.Contains(got, "site") || strings.Contains(got, own) || !strings.Contains(got, "进程在线") {
		t.Errorf("/status: %q", got)
	}
}

// The session has grown too long for the model: the same turn is answered from the History, in a new session.
func TestASessionThatIsTooLongIsReplaced(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明")
	r.model.Script(modelsim.Rule{
		Match: func(q *modelsim.Request) bool { // whatever still holds the old session's messages
			return slices.ContainsFunc(q.Messages, func(m modelsim.Message) bool { return m.Role == "assistant" })
		},
		Steps: []modelsim.Step{modelsim.Fail(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")},
	})
	id := r.sim.Say(r.chat, r.user, "我叫什么名字？")
	if got := said(r.answer(r.chat, id)); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if !strings.Contains(r.logs.String(), `"cause":"too long for the model"`) {
		t.Error("the cause is not logged")
	}
}

// The chat's session was begun by a bridge on another machine.
func TestASessionOfAnotherMachineIsReplaced(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明")
	c, err := r.prog.store.Chats().Get(t.Context(), chat.FeishuChat(r.chat))
	must(r, err)
	r.dropProcess()
	c.Session.Node = "elsewhere"
	r.replaceSession(c)
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if !strings.Contains(r.logs.String(), `"cause":"transcript lies on another machine"`) {
		t.Error("the cause is not logged")
	}
}
