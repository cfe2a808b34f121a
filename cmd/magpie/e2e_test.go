package main

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/contextmgr"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

func TestGroupsAnswerMentionsOnly(t *testing.T) {
	r := newRig(t)
	red := r.sim.AddUser("小红")
	group := r.sim.Group("测试群", r.user, red)
	r.awaitReceived(r.sim.Say(group, r.user, "大家好，我叫小明"))
	r.awaitReceived(r.sim.Say(group, red, "请看公告", feishusim.MentionAll()))
	r.awaitReceived(r.sim.Say(group, red, "你看看", feishusim.MentionUsers(r.user)))
	id := r.sim.Say(group, red, "我叫小红", feishusim.Mention())
	if got := visibleText(r.answer(group, id)); !strings.Contains(got, "小红") {
		t.Errorf("answer %q", got)
	}
	req := r.lastRequest()
	background, current, ok := readPrompt(req.LastUser())
	if !ok || current != "## [1] 用户(小红):\n我叫小红" || len(background) != 3 ||
		background[0].Part != contextmgr.Overheard || background[2].Text != "@小明 你看看" {
		t.Errorf("the model was asked %q", req.LastUser())
	}
	if n := len(r.model.Requests()); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	for _, m := range r.sim.Messages(group) {
		if m.FromBot && m.ParentID != id {
			t.Errorf("the bot sent %q without a question", m.Text())
		}
	}
}

func TestAPostIsRead(t *testing.T) {
	r := newRig(t)
	id := r.sim.Post(r.chat, r.user, mustJSON(map[string]any{
		"title": "标题", "content": [][]any{
			{
				map[string]any{"tag": "text", "text": "我叫"},
				map[string]any{"tag": "text", "text": "小明", "style": []string{"bold"}},
			},
			{map[string]any{"tag": "a", "text": "链接", "href": "https://example.com/"}},
		},
	}))
	r.answer(r.chat, id)
	got := r.lastRequest()
	for _, want := range []string{"标题", "小明", "https://example.com/"} {
		if !strings.Contains(got.LastUser(), want) {
			t.Errorf("the model was asked %q, without %q", got.LastUser(), want)
		}
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
	r.model.Script(modelsim.Rule{Times: 2, Steps: []modelsim.Step{
		modelsim.Text("好"), modelsim.Hold(both), modelsim.Text("的"),
	}})
	a, b := r.sim.Say(r.chat, r.user, "我叫小明"), r.sim.Say(other, red, "我叫小红")
	r.awaitModel("both at the model", func(list []modelsim.Request) bool { return len(list) == 2 })
	close(both)
	for _, q := range []struct{ chat, id string }{{r.chat, a}, {other, b}} {
		if got := visibleText(r.answer(q.chat, q.id)); got != "好的" {
			t.Errorf("answer %q", got)
		}
	}
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if got := visibleText(r.answer(other, r.sim.Say(other, red, "我叫什么名字？"))); got != "你叫小红。" {
		t.Errorf("answer %q", got)
	}
}

// Messages that arrive during a turn are answered together by the next turn, in order, each in the prompt once.
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
		sent = append(sent, r.sim.Say(
			r.chat, r.user, want[i-1], feishusim.Time(now.Add(time.Duration(i)*time.Millisecond)),
		))
	}
	for _, id := range sent {
		r.awaitReceived(id)
	}
	close(hold)
	r.answer(r.chat, first)
	r.turns(2) // the second turn answers the message that arrived last
	reqs := r.model.Requests()
	if len(reqs) != 2 {
		t.Fatalf("%d model calls", len(reqs))
	}
	if got := reqs[1].LastUser(); got != strings.Join(want, "\n\n") {
		t.Errorf("the second turn asks %q", got)
	}
}

// askLong asks for an answer of 600 paragraphs, and returns its cards when they are finished.
func (r *rig) askLong() (cards []feishusim.Message) {
	r.Helper()
	var text strings.Builder
	for i := range 600 {
		fmt.Fprintf(&text, "第 %d 段：鹊桥相会，金风玉露一相逢，便胜却人间无数。\n\n", i)
	}
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Chunks(text.String(), 500, 0)}})
	id := r.sim.Say(r.chat, r.user, "写长一点")
	r.await("the answer", func(v *feishusim.View) bool {
		cards = replies(v, r.chat, id)
		return len(cards) > 1 && strings.Contains(cards[len(cards)-1].Text(), "第 599 段") &&
			!slices.ContainsFunc(cards, func(m feishusim.Message) bool { return m.Last().Streaming || running(m) })
	})
	return cards
}

// Any message of a long answer can be quoted: what it shows is known without asking the platform, also after a restart.
func TestEachCardOfALongAnswerCanBeQuoted(t *testing.T) {
	r := newRig(t)
	cards := r.askLong()
	r.until("the answer to be delivered", func() bool {
		b, err := r.store().Outbox().Backlog(r.Context())
		return err == nil && b.Posts == 0
	})
	paragraph := regexp.MustCompile(`第 \d+ 段`)
	for i, question := range []string{"一？", "二？", "末？", "重启：一？", "重启：二？", "重启：末？"} {
		if i == 3 {
			r.stop()
			r.start()
		}
		m := cards[[]int{0, 1, len(cards) - 1}[i%3]]
		r.answer(r.chat, r.sim.Say(r.chat, r.user, question, feishusim.ReplyTo(m.ID)))
		var current string
		for !strings.HasSuffix(current, question) {
			current = (<-r.built).Prompt.Current
		}
		shown, quoted := paragraph.FindAllString(visibleText(m), -1), paragraph.FindAllString(current, -1)
		if len(quoted) == 0 || len(quoted) > len(shown) || !slices.Equal(quoted, shown[:len(quoted)]) {
			t.Errorf("%s: quoted %v of %v", question, quoted, shown)
		}
	}
	for _, call := range r.sim.Calls() {
		if call.Method == "GET" && strings.HasPrefix(call.Path, "/open-apis/im/v1/messages/") {
			t.Errorf("the platform was asked: %s", call.Path)
		}
	}
}

// When the platform accepts no cards, the answer is sent as text.
func TestWithoutCardsTheAnswerComesAsText(t *testing.T) {
	r := newRig(t)
	r.sim.Inject(feishusim.Fault{
		Method: "POST", Path: "/open-apis/cardkit/v1/cards", Status: 400, Code: 99991672, Msg: "scope missing",
	})
	if got := r.ask("数到 3"); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
}

// Each turn logs what its context consisted of, and no line contains a message or a secret.
func TestLogsContainFiguresAndNoTexts(t *testing.T) {
	r := newRig(t)
	r.ask("我叫小明明明")
	r.dropProcess()
	r.ask("我叫什么名字？")
	r.dropProcess() // a process would still write its transcript when it ends
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
		if entry.Message == "混合上下文统计" && entry.Chat != "" && entry.Turn > 0 && entry.Session != "" &&
			entry.Context.Tokens > 0 {
			counts = append(counts, fmt.Sprint(entry.Resume, entry.Context.Messages, entry.Context.UserMessages))
		}
	}
	if want := "false 0 0,true 2 1,false 4 2"; strings.Join(counts, ",") != want {
		t.Errorf("statistics %q, want %q", strings.Join(counts, ","), want)
	}
	if !strings.Contains(logs, `"cause":"transcript missing"`) {
		t.Error("the cause of the lost session is not logged")
	}
	for _, secret := range []string{"小明明明", "什么名字", r.cfg.Feishu.AppSecret, "sk-test-dummy"} {
		if strings.Contains(logs, secret) {
			t.Errorf("the log contains %q", secret)
		}
	}
}
