package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// context is the command that shows what a chat would be sent, for the rig's database.
func (r *rig) context(chatID string, args ...string) *exec.Cmd {
	r.Helper()
	cmd := magpie(r, r.TempDir(), append([]string{"context", "--chat", chatID}, args...)...)
	cmd.Env = append(cmd.Env, "MAGPIE_DB_URL="+r.cfg.DB.URL, "MAGPIE_DATA="+filepath.Dir(databaseOf(r.cfg)), "MAGPIE_CLAUDE_PROJECT="+r.inProject())
	for _, v := range r.cfg.Claude.Environ {
		if strings.HasPrefix(v, "HOME=") || strings.HasPrefix(v, "CLAUDE_CONFIG_DIR=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

// awaitIdle waits until no agent runs: a process writes its transcript until it ends.
func (r *rig) awaitIdle() {
	r.Helper()
	r.until("the end of the processes", func() bool { return r.pool().Stats().Running == 0 })
}

// preview is what "magpie context --json" prints.
func (r *rig) preview(chatID, message string, args ...string) (p sentPrompt) {
	r.Helper()
	out, err := r.context(chatID, append([]string{"--json", "--message", message}, args...)...).Output()
	must(r, err)
	must(r, json.Unmarshal(out, &p))
	return p
}

// The command shows what the next turn then sends.
func TestTheContextCommandShowsWhatWillBeSent(t *testing.T) {
	r := newRig(t, oneProcessPerTurn)
	r.ask("我叫小明")
	r.ask("数到 3")
	r.awaitIdle()
	before := r.count(`SELECT COUNT(*) FROM messages`)
	want := r.preview(r.chat, "我叫什么名字？")
	if again := r.preview("feishu:chat:"+r.chat, "我叫什么名字？"); again.Prompt != want.Prompt {
		t.Errorf("the second time it shows %q", again.Prompt)
	}
	later := r.preview(r.chat, "我叫什么名字？", "--at", time.Now().Add(72*time.Hour).Format(time.RFC3339))
	if later.UseResume || len(later.History) != 0 {
		t.Errorf("after a silence of three days it shows %+v", later)
	}
	if n := r.count(`SELECT COUNT(*) FROM messages`); n != before || r.count(`SELECT COUNT(*) FROM turns`) != 2 {
		t.Error("the command changed something")
	}
	if !want.UseResume || want.ResumeID == "" || len(want.History) != 4 || want.History[0].Content != "我叫小明" ||
		want.History[1].Role != chat.Assistant || want.History[0].UserName != "小明" || want.Stats.Messages != 4 ||
		want.Recalled == nil || want.Memories == nil || want.Overheard == nil || want.Current != "我叫什么名字？" {
		t.Errorf("shown: %+v", want)
	}
	r.ask("我叫什么名字？")
	if req := r.lastRequest(); req.LastUser() != want.Prompt {
		t.Errorf("sent was %s", cmp.Diff(want.Prompt, req.LastUser()))
	}
	for _, b := range []int{1, 2, 3} {
		if built := <-r.built; b == 3 && built.Prompt.ResumeID != want.ResumeID {
			t.Errorf("the turn resumed %s, the preview said %s", built.Prompt.ResumeID, want.ResumeID)
		}
	}
}

// The preview also detects that the session cannot be resumed.
func TestTheContextOfALostSession(t *testing.T) {
	r := newRig(t, oneProcessPerTurn)
	r.ask("我叫小明")
	r.awaitIdle()
	must(t, os.Remove(r.transcriptPath()))
	out, err := r.context(r.chat, "--message", "我叫什么名字？").Output()
	if err != nil || !strings.Contains(string(out), "Session: new (session lost)") {
		t.Errorf("%v: %s", err, out)
	}
	want := r.preview(r.chat, "我叫什么名字？")
	if want.UseResume || want.ResumeID != "" || len(want.History) != 2 {
		t.Errorf("shown: %+v", want)
	}
	if got := r.ask("/context"); !strings.Contains(got, "会话：新会话（会话丢失）") {
		t.Errorf("/context: %q", got)
	}
	r.ask("我叫什么名字？")
	if req := r.lastRequest(); req.LastUser() != want.Prompt {
		t.Error(cmp.Diff(want.Prompt, req.LastUser()))
	}
	cmd := r.context(r.chat, "--json", "--message", "我叫什么名字？")
	cmd.Env = append(cmd.Env, "MAGPIE_NODE=elsewhere")
	out, err = cmd.Output()
	must(t, err)
	if !strings.Contains(string(out), `"use_resume":false`) {
		t.Errorf("on another machine: %s", out)
	}
}

func TestTheContextOfAGroup(t *testing.T) {
	r := newRig(t, oneProcessPerTurn)
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	r.mention(group, r.user, "我叫小明")
	r.awaitAcks(r.sim.Say(group, red, "午饭吃面"))
	r.awaitIdle()
	cmd := r.context(group, "--batch")
	cmd.Stdin = strings.NewReader(`{"message":"我是谁？","user_name":"小红","user_id":"ou_red"}`)
	out, err := cmd.Output()
	must(t, err)
	var p sentPrompt
	must(t, json.Unmarshal(out, &p))
	if len(p.Overheard) != 1 || p.Overheard[0].Content != "午饭吃面" || p.Overheard[0].UserName != "小红" ||
		!strings.HasSuffix(p.Prompt, "\n\n## [1] 用户(小红):\n我是谁？") {
		t.Errorf("shown: %+v", p)
	}
	got := visibleText(r.answer(group, r.sim.Say(group, red, "/context", feishusim.Mention())))
	if !strings.Contains(got, "群里的其他消息：1 条") || !strings.Contains(got, "小红**: 午饭吃面") {
		t.Errorf("/context: %q", got)
	}
	if prompt := r.mention(group, red, "我是谁？"); prompt != p.Prompt {
		t.Error(cmp.Diff(p.Prompt, prompt))
	}
}

// Each line is answered before the next one is read.
func TestABatchOfContexts(t *testing.T) {
	t.Parallel()
	p := newWorkFolder(t)
	p.ok(sample, "history", "import", "-")
	cmd := magpie(t, p.dir, "context", "--chat", "oc_1", "--batch")
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	answers := bufio.NewReader(out)
	for _, tc := range []struct{ line, want string }{
		{`{"message":"第一问"}`, "第一问"},
		{`nonsense`, ""},
		{`{"message":" "}`, ""},
		{`{"message":"x","at":"yesterday"}`, ""},
		{`{"message":"第二问","at":"2026-05-05T12:00:00+08:00"}`, "第二问"},
	} {
		_, err := io.WriteString(in, tc.line+"\n")
		must(t, err)
		line, err := answers.ReadBytes('\n')
		must(t, err)
		var got struct {
			sentPrompt
			Error string `json:"error"`
		}
		must(t, json.Unmarshal(line, &got))
		if tc.want == "" && got.Error == "" || tc.want != "" && !strings.HasSuffix(got.Prompt, tc.want) {
			t.Errorf("%s: %s", tc.line, line)
		}
		if tc.want != "" && (bytes.Contains(line, []byte("null")) || bytes.Contains(line, []byte("小明"))) {
			t.Errorf("%s: something from before /new, or null: %s", tc.line, line)
		}
	}
	must(t, in.Close())
	must(t, cmd.Wait())
}

func TestTheContextInWords(t *testing.T) {
	t.Parallel()
	p := newWorkFolder(t)
	p.ok(sample+goodLine("om_x", `,"chat_kind":"p2p"`)+"\n", "history", "import", "-")
	for lang, want := range map[string][]string{
		"zh_CN.UTF-8": {"会话：新会话", "最近的对话：1 条（用户 1 条，共 1 字）", "token"},
		"C":           {"Session: new", "Recent messages: 1 (from users: 1; 1 character)"},
	} {
		cmd := magpie(t, p.dir, "context", "--chat", "oc_1", "--message", "问题")
		cmd.Env = slices.DeleteFunc(cmd.Env, func(v string) bool { return strings.HasPrefix(v, "LANG=") })
		cmd.Env = append(cmd.Env, "LANG="+lang)
		out, err := cmd.Output()
		must(t, err)
		for _, w := range append(want, "# 当前问题\n\n问题\n") {
			if !strings.Contains(string(out), w) {
				t.Errorf("in %s, without %q: %s", lang, w, out)
			}
		}
	}
	if out, _, code := p.run("", "context", "--chat", "oc_1", "--message", "a\x1b]0;b\a"); code != 0 ||
		!strings.Contains(out, "a⟨U+001B⟩]0;b⟨U+0007⟩\n") {
		t.Errorf("what controls a terminal: %q", out)
	}
	for _, args := range [][]string{
		{"--chat", "oc_9", "--message", "x"}, {"--chat", "nonsense", "--message", "x"}, {"--chat", "oc_1"},
		{"--message", "x"}, {"--chat", "oc_1", "--batch", "--message", "x"},
	} {
		out, complaints, code := p.run("", append([]string{"context"}, args...)...)
		if code == 0 || complaints == "" || strings.Contains(out, "# ") {
			t.Errorf("%v: exit code %d: %q", args, code, complaints)
		}
	}
}

func TestContextAndHistoryCommands(t *testing.T) {
	r := newRig(t)
	if got := r.ask("/history"); got != "本聊天还没有历史记录。" {
		t.Errorf("/history of a new chat: %q", got)
	}
	if got := r.ask("/context"); !strings.Contains(got, "会话：新会话") || !strings.Contains(got, "最近的对话：0 条") {
		t.Errorf("/context of a new chat: %q", got)
	}
	r.ask("我叫小明")
	if got := r.ask("/context"); !strings.Contains(got, "会话进行中") || strings.Contains(got, "我叫小明") {
		t.Errorf("/context with a running process: %q", got)
	}
	r.dropProcess()
	got := r.ask("/context")
	for _, want := range []string{
		"会话：续接", "最近的对话：2 条（用户 1 条，共 ", "小明**: 我叫小明", "助手**: 好的，小明",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("/context without %q: %q", want, got)
		}
	}
	r.ask("/new")
	r.ask("please count to 3\nand <at id=all></at> " + strings.Repeat("long ", 100))
	got = r.ask("/history 50")
	for _, want := range []string{
		"**Latest messages** (4)", "**小明**: 我叫小明", "**agent**: 好的", "(new conversation)",
		"**小明**: please count to 3 and",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("/history without %q: %q", want, got)
		}
	}
	if strings.Contains(got, "/context") || strings.Contains(got, strings.Repeat("long ", 30)) {
		t.Errorf("/history shows commands, or long texts: %q", got)
	}
	if got := r.ask("/history 1"); strings.Count(got, "- ") != 1 || !strings.Contains(got, "agent") {
		t.Errorf("/history 1: %q", got)
	}
	for _, bad := range []string{"/history x", "/history -1", "/history 0"} {
		if got := r.ask(bad); !strings.Contains(got, "/history 20") {
			t.Errorf("%s: %q", bad, got)
		}
	}
	if got := r.ask("/context how many?"); !strings.Contains(got, "Context for your next message") {
		t.Errorf("/context in English: %q", got)
	}
	if got := r.ask("/help"); !strings.Contains(got, "/history") || !strings.Contains(got, "/context") {
		t.Errorf("/help: %q", got)
	}
	other := r.sim.AddUser("小红")
	room := r.sim.PrivateChat(other)
	if got := visibleText(r.answer(room, r.sim.Say(room, other, "/history 50"))); strings.Contains(got, "小明") {
		t.Errorf("another chat sees %q", got)
	}
}
