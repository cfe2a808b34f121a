package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/bridge"
	"magpie/bridge/access"
	"magpie/db/dbtest"
	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// awaitMessage waits until the bot has sent a message to the private chat that contains all the words, and returns it.
func (r *rig) awaitMessage(words ...string) feishusim.Message {
	r.Helper()
	var found feishusim.Message
	r.await(strings.Join(words, ", "), func(v *feishusim.View) bool {
		for _, m := range v.Messages(r.chat) {
			text := m.Text()
			has := m.FromBot
			for _, w := range words {
				has = has && strings.Contains(text, w)
			}
			if has {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// click presses a button that sends a command.
func (r *rig) click(on feishusim.Message, line string) {
	r.Helper()
	_, err := r.sim.Press(r.Context(), on.ID, r.user, json.RawMessage(`{"do":"order","id":"`+line+`"}`))
	if err != nil {
		r.Fatal(err)
	}
}

// The list of commands is a card whose buttons do what typing the commands does.
func TestTheListOfCommandsCanBePressed(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明")
	help := r.answer(r.chat, r.sim.Say(r.chat, r.user, "/帮助"))
	if !strings.Contains(string(help.Last().Card), `"id":"/status"`) {
		t.Errorf("card %s", help.Last().Card)
	}
	r.click(help, "/status")
	if got := r.awaitMessage("**状态**：空闲"); got.ParentID != help.ID {
		t.Errorf("it answers %q", got.ParentID)
	}
	r.click(help, "/new")
	r.awaitMessage("已开始新对话")
	if got := r.ask("我叫什么名字？"); strings.Contains(got, "小明") {
		t.Errorf("after /new: %q", got)
	}
	list := r.answer(r.chat, r.sim.Say(r.chat, r.user, "/resume"))
	if !strings.Contains(list.Text(), "我叫小明") {
		t.Fatalf("sessions: %q", list.Text())
	}
	r.sim.Say(r.chat, r.user, "/resume 2")
	r.awaitMessage("已回到会话：我叫小明")
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("back in the first session: %q", got)
	}
	if b := r.lastBuilt(); !b.Prompt.UseResume || prefixed(b) != 2 {
		t.Errorf("context: %+v", b.Prompt.Stats)
	}
}

// buttonsOf are the commands that the buttons of a card send.
func buttonsOf(m feishusim.Message) (lines []string) {
	for _, part := range strings.Split(string(m.Last().Card), `"value":`)[1:] {
		var v struct{ Do, ID string }
		if json.NewDecoder(strings.NewReader(part)).Decode(&v) == nil && v.Do == "order" {
			lines = append(lines, v.ID)
		}
	}
	return lines
}

// Each button in the list of commands is answered in a message after the list, and so is the next question.
func TestEveryButtonInTheListOfCommandsIsAnswered(t *testing.T) {
	want := map[string]string{
		"/new": "已开始新对话", "/stop": "没有正在进行", "/retry": "另一个回答",
		"/status": "**状态**", "/help all": "`/compact`", "/projects": "项目", "/model": "模型",
		"/resume": "以前的会话", "/context": "下一条消息会附上", "/memory": "还没有记忆", "/cost": "$",
	}
	r := newRig(t)
	r.ask("我叫小明")
	help := r.answer(r.chat, r.sim.Say(r.chat, r.user, "/帮助"))
	lines := buttonsOf(help)
	if len(lines) < 6 {
		t.Errorf("buttons: %q", lines)
	}
	slices.Reverse(lines) // /new comes last: after it nothing can be answered again
	for _, line := range lines {
		words := want[line]
		if words == "" {
			t.Errorf("the test has no expectation for %s", line)
			continue
		}
		if line == "/retry" {
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text(words)}})
		}
		r.click(help, line)
		r.await("what "+line+" says", func(v *feishusim.View) bool {
			return slices.ContainsFunc(replies(v, r.chat, help.ID), func(m feishusim.Message) bool {
				return strings.Contains(visibleText(m), words) && !running(m)
			})
		})
	}
	if got := r.ask("/状态"); !strings.Contains(got, "**状态**") {
		t.Errorf("afterwards: %q", got)
	}
}

// A summary that was ordered with a button is announced and reported in answer to the button's card, also after a
// restart in between.
func TestASummaryIsOrderedByAButton(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Context.KeepRecent = 1 })
	for _, text := range []string{"我叫小明", "数到 3", "数到 4"} {
		r.ask(text)
	}
	help := r.answer(r.chat, r.sim.Say(r.chat, r.user, "/compcat")) // the reply suggests the right command
	r.model.Script(modelsim.Rule{Match: isSummary, Times: 1, Steps: []modelsim.Step{modelsim.Hang()}})
	r.click(help, "/compact")
	r.await("the announcement", func(v *feishusim.View) bool {
		list := replies(v, r.chat, help.ID)
		return len(list) == 1 && strings.Contains(visibleText(list[0]), "正在整理")
	})
	r.stop()
	r.start()
	r.await("the result", func(v *feishusim.View) bool {
		list := replies(v, r.chat, help.ID)
		return len(list) > 1 && strings.Contains(visibleText(list[len(list)-1]), "条消息")
	})
	if got := r.ask("/状态"); !strings.Contains(got, "**状态**") {
		t.Errorf("afterwards: %q", got)
	}
}

// The chat's model and effort reach the CLI, and the CLI's own slash commands are run by it.
func TestChoicesAndTheCLIsOwnCommands(t *testing.T) {
	r := newRig(t, realCLI(t))
	if got := r.ask("/model claude-sonnet-5"); !strings.Contains(got, "claude-sonnet-5") {
		t.Errorf("/model: %q", got)
	}
	r.ask("我叫小明")
	if got := r.lastRequest().Model; got != "claude-sonnet-5" {
		t.Errorf("the model asked is %q", got)
	}
	calls := len(r.model.Requests())
	if got := r.ask("//context"); !strings.Contains(got, "Context") || len(r.model.Requests()) != calls {
		t.Errorf("//context: %q, %d calls", got, len(r.model.Requests())-calls)
	}
	if got := r.ask("//config theme=dark"); !strings.Contains(got, "不能交给") || len(r.model.Requests()) != calls {
		t.Errorf("//config: %q", got)
	}
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("after a slash command of the CLI: %q", got)
	}
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("另一个回答")}})
	if got := r.ask("/retry"); got != "另一个回答" {
		t.Errorf("/retry: %q", got)
	}
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("afterwards: %q", got)
	}
}

// Login with the scripted CLI: the user gets the link and pastes the code, which is not stored.
func TestLoginThroughTheChat(t *testing.T) {
	r := makeRig(t, feishusim.Config{}, func(c *config.Config) {
		c.Claude = claudetest.ScriptedConfig(t)
		c.Claude.MaxProcesses = 2
	})
	t.Parallel()
	r.cfg.Access = access.Config{Owner: r.user.OpenID}
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	r.sim.Say(r.chat, r.user, "/login")
	r.awaitMessage("https://claude.example/oauth/authorize?code=true&state=scripted")
	r.sim.Say(r.chat, r.user, "good#scripted")
	r.awaitMessage("登录成功")
	r.sim.Say(r.chat, r.user, "/doctor")
	r.awaitMessage("正在检查")
	r.awaitMessage("与飞书（Lark）的连接", "✅ 数据存储")
	r.stop()
	if strings.Contains(r.everything(), "good#scripted") {
		t.Error("the code was stored")
	}
}

// everything is all that the program has in its folder and has logged.
func (r *rig) everything() string {
	r.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(databaseOf(r.cfg)), "*"))
	must(r, err)
	all := r.logs.String() + dbtest.Content(r, databaseOf(r.cfg))
	for _, path := range files {
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			r.Fatal(err)
		}
		all += string(data)
	}
	return all
}

// A login code that is not meant for a waiting login is neither stored nor sent to the model, whichever way it arrives:
// in the group before the bot ran, in a quote, in forwarded messages, or by the backfill.
func TestALoginCodeIsStoredNowhere(t *testing.T) {
	const code = "Wr0ngCanaryOfAnybody-01#Wr0ngCanaryOfAnybody_02"
	t.Parallel()
	r := makeRig(t, feishusim.Config{Redeliver: []time.Duration{}})
	r.cfg.Waits.Words = time.Second // the forwarded messages come without any
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	before := time.Now().Add(-time.Minute)
	r.sim.Say(group, red, code, feishusim.Time(before))
	message := r.sim.Say(group, red, "你们看：“"+code+"”", feishusim.Time(before.Add(time.Second)))
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	prompt := r.mention(group, r.user, "引用的是什么？", feishusim.ReplyTo(message))
	if n := strings.Count(prompt, "[login code]"); n != 3 { // overheard messages and the quote
		t.Errorf("the prompt masks %d codes: %s", n, prompt)
	}
	r.answer(r.chat, r.sim.Forward(r.chat, r.user, []string{message, message}))
	if req := r.lastRequest(); !strings.Contains(req.LastUser(), "[login code]") {
		t.Errorf("the forwarded messages: %s", req.LastUser())
	}
	r.stop()
	missed := r.sim.Say(r.chat, r.user, code)
	among := r.sim.Say(r.chat, r.user, "代码是 "+code+" 对吗？")
	r.start()
	if got := r.answer(r.chat, missed); !strings.Contains(got.Text(), "没有被保存") {
		t.Errorf("%q", got.Text())
	}
	r.answer(r.chat, among)
	r.stop()
	all := r.everything()
	for _, req := range r.model.Requests() {
		all += string(req.Body)
	}
	for part := range strings.SplitSeq(code, "#") {
		if strings.Contains(all, part) {
			t.Errorf("%q was stored or sent to the model", part)
		}
	}
}

// /doctor in a chat detects each kind of problem.
func TestChecksOfTheRunningProgram(t *testing.T) {
	r := newRig(t)
	verdicts := func() map[string]bridge.CheckState {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		all := map[string]bridge.CheckState{}
		for _, c := range r.prog.checks() {
			all[c.What] = c.Look(ctx)
		}
		return all
	}
	if got := verdicts(); got["cli"] == bridge.Fail || got["login"] != bridge.OK || got["platform"] != bridge.OK ||
		got["database"] != bridge.OK {
		t.Errorf("%v", got)
	}
	r.prog.cfg.Claude.Command = "/no/such/claude"
	if got := verdicts(); got["cli"] != bridge.Fail || got["login"] != bridge.Fail {
		t.Errorf("without a CLI: %v", got)
	}
}

// The History of a chat is exported to files that people can read, and that another Magpie can import.
func TestTheHistoryIsExportedToTheChat(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明")
	r.sim.Say(r.chat, r.user, "/export")
	var data [][]byte
	r.await("two files", func(v *feishusim.View) bool {
		_, data = r.files(v, r.chat)
		return len(data) == 2
	})
	if text := string(data[0]); !strings.Contains(text, "我叫小明") || !strings.Contains(text, "**助手**") {
		t.Errorf("for people: %s", text)
	}
	lines := bytes.Split(bytes.TrimSpace(data[1]), []byte("\n"))
	for _, line := range lines {
		if _, err := parseRecord(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if len(lines) < 3 {
		t.Errorf("%d lines", len(lines))
	}
}
