package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/tidwall/gjson"

	"magpie/bridge"
	"magpie/db"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// Requests outside of turns, as the model sees them.
func isSummary(q *modelsim.Request) bool { return strings.Contains(q.System, "写摘要") }
func isPoints(q *modelsim.Request) bool  { return strings.Contains(q.System, "要点") }
func isTitle(q *modelsim.Request) bool {
	return gjson.GetBytes(q.Body, "output_config.format.schema.properties.title").Exists()
}

func count(list []modelsim.Request, which func(*modelsim.Request) bool) (n int) {
	for i := range list {
		if which(&list[i]) {
			n++
		}
	}
	return n
}

// lastBuilt is the context that was built last.
func (r *rig) lastBuilt() (b bridge.BuiltContext) {
	r.Helper()
	for {
		select {
		case b = <-r.built:
		default:
			return b
		}
	}
}

// compact orders a summary and returns its result. A slow one is announced by a reply in between, which is skipped.
func (r *rig) compact() string {
	r.Helper()
	return r.outcome(r.sim.Say(r.chat, r.user, "/compact"))
}

// outcome is the reply with the result of an ordered summary.
func (r *rig) outcome(id string) (text string) {
	r.Helper()
	r.await("the result of the summary", func(v *feishusim.View) bool {
		list := slices.DeleteFunc(replies(v, r.chat, id), func(m feishusim.Message) bool {
			return strings.Contains(visibleText(m), "正在整理")
		})
		if len(list) > 0 {
			text = visibleText(list[0])
		}
		return len(list) > 0
	})
	return text
}

// After /compact the agent knows older messages only from the summary, in a new session.
func TestCompactKeepsTheHistory(t *testing.T) {
	r := newRig(t)
	if got := r.compact(); got != "对话还很短，不需要整理。" {
		t.Errorf("of nothing: %q", got)
	}
	r.ask("记住：暗号是芝麻开门")
	for range 3 {
		r.ask("数到 3")
	}
	before := r.chatNow()
	if got := r.compact(); !strings.Contains(got, "较早的 3 条消息") || !strings.Contains(got, "最近 5 条") {
		t.Errorf("/compact: %q", got)
	}
	after := r.chatNow()
	if !strings.Contains(after.Summary.Text, "芝麻开门") || after.Session.ID != "" || before.Session.ID == "" ||
		after.Compacting != "" {
		t.Errorf("chat %+v", after)
	}
	if got := r.ask("暗号是什么？"); got != "暗号是芝麻开门。" {
		t.Errorf("answer %q", got)
	}
	b := r.lastBuilt()
	if b.Prompt.UseResume || b.Live || prefixed(b) != 5 ||
		!strings.Contains(b.Prompt.Summary.Text, "芝麻开门") {
		t.Errorf("context %+v", b)
	}
	req := r.lastRequest()
	if slices.ContainsFunc(req.Messages, func(m modelsim.Message) bool { return m.Role == "assistant" }) ||
		!strings.Contains(req.LastUser(), "] 摘要 (") {
		t.Errorf("the model was asked %q after %d messages", req.LastUser(), len(req.Messages))
	}
	if got := r.chatNow(); got.Session.ID == before.Session.ID || got.Session.ID == "" {
		t.Errorf("session %q, before %q", got.Session.ID, before.Session.ID)
	}
	if got := r.compact(); !strings.Contains(got, "较早的 2 条消息") { // five of the seven messages since then are kept
		t.Errorf("a second time: %q", got)
	}
	if list := r.model.Requests(); !strings.Contains(list[len(list)-1].LastUser(), "芝麻开门") {
		t.Errorf("the second summary does not build on the first: %s", list[len(list)-1].LastUser())
	}
	r.ask("/new")
	if got := r.chatNow(); got.Summary.Text != "" || got.ContextAfter() != 0 {
		t.Errorf("after /new: %+v", got)
	}
	if got := r.ask("暗号是什么？"); got != "我不知道暗号是什么。" {
		t.Errorf("answer after /new %q", got)
	}
}

// /compact during an answer waits for its end.
func TestCompactWaitsForTheTurnThatRuns(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Context.KeepRecent = 1 })
	hold := make(chan struct{})
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Text("半"), modelsim.Hold(hold), modelsim.Text("句"),
	}})
	asked := r.sim.Say(r.chat, r.user, "说一句")
	r.awaitModel("the question", func(list []modelsim.Request) bool { return len(list) == 1 })
	id := r.sim.Say(r.chat, r.user, "/compact")
	r.until("the order", func() bool { return r.count(`SELECT COUNT(*) FROM chats WHERE compact_for <> ''`) == 1 })
	again := r.sim.Say(r.chat, r.user, "/compact")
	if got := visibleText(r.answer(r.chat, again)); !strings.Contains(got, "正在整理") {
		t.Errorf("the second: %q", got)
	}
	if n := count(r.model.Requests(), isSummary); n != 0 {
		t.Errorf("%d summaries before the end of the turn", n)
	}
	close(hold)
	if got := visibleText(r.answer(r.chat, asked)); got != "半句" {
		t.Errorf("answer %q", got)
	}
	if got := r.outcome(id); !strings.Contains(got, "较早的 1 条消息") {
		t.Errorf("/compact: %q", got)
	}
	if n := count(r.model.Requests(), isSummary); n != 1 {
		t.Errorf("%d summaries", n)
	}
}

func TestCompactReportsItsFailure(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Context.KeepRecent = 1 })
	r.model.Script(modelsim.Rule{Match: isSummary, Times: 1, Steps: []modelsim.Step{
		modelsim.Fail(403, "permission_error", "secret"),
	}})
	r.ask("我叫小明")
	before := r.chatNow()
	if got := r.compact(); !strings.Contains(got, "整理失败") || strings.Contains(got, "secret") {
		t.Errorf("/compact: %q", got)
	}
	if got := r.chatNow(); got.Summary.Text != "" || got.Session != before.Session {
		t.Errorf("chat %+v", got)
	}
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if got := r.compact(); !strings.Contains(got, "条消息") {
		t.Errorf("asked again: %q", got)
	}
}

// The session has 103,000 of 128,000 tokens: a summary replaces it before the next question, not before the answer.
func TestAFullSessionIsCompactedAutomatically(t *testing.T) {
	r := newRig(t, realCLI(t))
	r.ask("记住：暗号是芝麻开门")
	r.ask("数到 2")
	r.ask("数到 3")
	hold := make(chan struct{})
	r.model.Script(
		modelsim.Rule{Match: isSummary, Steps: []modelsim.Step{
			modelsim.Hold(hold), modelsim.Text("手机 13812345678\n记住：暗号是芝麻开门"),
		}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Usage(103_000), modelsim.Text("好")}})
	if got := r.ask("数到 4"); got != "好" {
		t.Errorf("answer %q", got)
	}
	full := r.chatNow()
	if full.Session.Tokens < 103_000 || full.Summary.Text != "" {
		t.Errorf("chat %+v", full)
	}
	id := r.sim.Say(r.chat, r.user, "暗号是什么？")
	r.shows(r.chat, id, "整理")
	close(hold)
	if got := visibleText(r.answer(r.chat, id)); got != "暗号是芝麻开门。" {
		t.Errorf("answer %q", got)
	}
	if b := r.lastBuilt(); b.Prompt.UseResume || b.Live || prefixed(b) != 5 || b.Prompt.Summary.Text == "" {
		t.Errorf("context %+v", b)
	}
	if got := r.chatNow(); got.Session.ID == full.Session.ID || got.Session.Tokens >= 103_000 || got.Summary.Seq != 3 {
		t.Errorf("chat %+v", got)
	} else if !strings.Contains(got.Summary.Text, "[REDACTED_PHONE]") || strings.Contains(got.Summary.Text, "138") {
		t.Errorf("summary %q", got.Summary.Text)
	}
	r.ask("数到 5")
	if n := count(r.model.Requests(), isSummary); n != 1 {
		t.Errorf("%d summaries", n)
	}
}

// A summary that fails does not delay turns, and is not retried with every question.
func TestAFailingSummaryDoesNotBlockTurns(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Context.KeepRecent = 1 })
	r.model.Script(
		modelsim.Rule{Match: isSummary, Steps: []modelsim.Step{modelsim.Fail(403, "permission_error", "no")}},
		modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Usage(103_000), modelsim.Text("好，小明")}})
	r.ask("我叫小明")
	for range 2 {
		if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
			t.Errorf("answer %q", got)
		}
		r.sql(`UPDATE chats SET session_tokens = 103000`)
	}
	r.awaitLog("chat not compacted")
	if n := count(r.model.Requests(), isSummary); n != 1 {
		t.Errorf("%d summaries were tried", n)
	}
	if b := r.lastBuilt(); !b.Live {
		t.Errorf("context %+v", b)
	}
}

// If every session is full after one turn, summaries do not help and become rarer.
func TestUselessSummariesAreMadeLessOften(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Context.KeepRecent = 1 })
	r.model.Script(
		modelsim.Rule{Match: isSummary, Steps: []modelsim.Step{modelsim.Text("小明在试")}},
		modelsim.Rule{Steps: []modelsim.Step{modelsim.Usage(103_000), modelsim.Text("好")}})
	for range 5 {
		r.ask("再来")
	}
	r.awaitLog("full after one turn")
	if n := count(r.model.Requests(), isSummary); n != 2 {
		t.Errorf("%d summaries", n)
	}
}

// A session full of tool output, in a chat too short for a summary, is dropped.
func TestAFullSessionOfAShortChatIsAbandoned(t *testing.T) {
	r := newRig(t)
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Usage(103_000), modelsim.Text("好的")}})
	r.ask("我叫小明")
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if b := r.lastBuilt(); b.Prompt.UseResume || b.Live || prefixed(b) != 2 {
		t.Errorf("context %+v", b)
	}
	if n := count(r.model.Requests(), isSummary); n != 0 {
		t.Errorf("%d summaries", n)
	}
}

// summarySteps are the steps of making a summary.
var summarySteps = regexp.MustCompile(`^summary: `)

// The program is killed while it makes a summary that somebody ordered. Afterwards the chat has the old session or the
// new summary, and the person who asked gets one reply.
func TestACrashInASummary(t *testing.T) {
	t.Parallel()
	for _, step := range append([]string{"while the agent thinks"}, crashSteps(t)...) {
		if !summarySteps.MatchString(step) && strings.Contains(step, ":") {
			continue
		}
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, func(c *config.Config) { c.Context.KeepRecent = 1 })
			if step == "while the agent thinks" {
				s.model.Script(modelsim.Rule{Match: isSummary, Times: 1, Steps: []modelsim.Step{modelsim.Hang()}})
			}
			s.run("MAGPIE_CRASH_AT=" + step)
			s.connected()
			s.answer(s.chat, s.sim.Say(s.chat, s.user, "我叫小明"))
			id := s.sim.Say(s.chat, s.user, "/compact")
			if step == "while the agent thinks" {
				s.until("the summary", func() bool { return count(s.model.Requests(), isSummary) == 1 })
				s.kill()
			} else if !s.died(patience) {
				t.Fatalf("the program did not come to this step: %s", s.logs)
			}
			const chats = `SELECT COUNT(*) FROM chats WHERE `
			before := s.count(chats + `summary = '' AND session_id <> '' AND compact_for <> ''`)
			after := s.count(chats + `summary <> '' AND session_id = '' AND compact_for = ''`)
			if before+after != 1 || (after == 1) != (step == "summary: stored") {
				t.Errorf("the chat is as before: %d, as after: %d", before, after)
			}
			s.run()
			s.connected()
			if got := s.outcome(id); !strings.Contains(got, "较早的 1 条消息") {
				t.Errorf("/compact: %q", got)
			}
			if got := visibleText(s.answer(s.chat, s.sim.Say(s.chat, s.user, "我叫什么名字？"))); got != "你叫小明。" {
				t.Errorf("answer %q", got)
			}
			if n := s.count(`SELECT COUNT(*) FROM chats WHERE summary <> '' AND session_id <> ''`); n != 1 {
				t.Error("the summary or the session is missing")
			}
			s.terminate()
			s.awaitNoAgents(2 * busy)
			s.clean()
		})
	}
}

// After more than two days a new conversation starts, and the points of the last one become a memory.
func TestAStaleChatStartsANewConversation(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	r.model.Script(modelsim.Rule{Match: isPoints, Steps: []modelsim.Step{
		modelsim.Hold(hold), modelsim.Text("- 用户叫小明\n- 手机 13812345678"),
	}})
	for range 5 {
		r.ask("数到 2")
	}
	r.ask("我叫小明")
	r.sql(`UPDATE chats SET turned_at = turned_at - ?1`, (47 * time.Hour).Milliseconds())
	r.ask("数到 3")
	if b := r.lastBuilt(); !b.Live {
		t.Errorf("after 47 hours: %+v", b)
	}
	r.sql(`UPDATE chats SET turned_at = turned_at - ?1`, (49 * time.Hour).Milliseconds())
	before := r.chatNow()
	if got := r.ask("数到 4"); got != "1 2 3 4" { // although the points are not stored yet
		t.Errorf("answer %q", got)
	}
	if b := r.lastBuilt(); b.Live || b.Prompt.UseResume || prefixed(b) != 0 {
		t.Errorf("after 49 hours: %+v", b)
	}
	close(hold)
	r.awaitModel("the points", func(list []modelsim.Request) bool {
		return count(list, func(q *modelsim.Request) bool { return isPoints(q) && !q.End.IsZero() }) == 1
	})
	var learnt []db.Memory
	r.until("a memory", func() bool {
		learnt = r.memories(r.chat)
		return len(learnt) > 0
	})
	if m := learnt[0]; m.Text != "- 用户叫小明\n- 手机 [REDACTED_PHONE]" || len(m.Sources) != 10 ||
		m.Scope != db.ChatScope || m.Proposed {
		t.Errorf("learnt %+v", m)
	}
	for _, q := range r.model.Requests() {
		if isPoints(&q) &&
			(strings.Count(q.LastUser(), "] 用户:") != 5 || !strings.Contains(q.LastUser(), "小明") ||
				strings.Contains(q.LastUser(), "数到 4")) {
			t.Errorf("the points were made from %q", q.LastUser())
		}
	}
	if got := r.ask("/status"); strings.Contains(got, "尚未开始") {
		t.Errorf("/status: %q", got)
	}
	if c := r.chatNow(); c.Session.ID == before.Session.ID || c.ContextStart == 0 {
		t.Errorf("chat %+v", c)
	}
	r.dropProcess()
	r.ask("我叫小红")
	if b := r.lastBuilt(); !b.Prompt.UseResume || prefixed(b) != 2 {
		t.Errorf("the next context contains messages of the old conversation: %+v", b)
	}
}

// A conversation gets a title once, from the agent, and keeps it across restarts. The next one gets another.
func TestAConversationGetsATitleOnce(t *testing.T) {
	r := newRig(t, func(c *config.Config) { c.Context.Titles = true })
	r.model.Script(modelsim.Rule{Match: isTitle, Steps: []modelsim.Step{
		modelsim.Text(`{"title": "**“认识小明 13812345678”**\n\n（新对话）"}`),
	}})
	r.ask("我叫小明")
	r.until("a title", func() bool { return r.chatNow().Topic != "" })
	if got := r.chatNow().Topic; got != "认识小明 [REDACTED_PHONE]" {
		t.Errorf("title %q", got)
	}
	r.ask("数到 3")
	r.stop()
	r.start()
	r.ask("数到 4")
	if n := count(r.model.Requests(), isTitle); n != 1 {
		t.Errorf("%d titles were requested", n)
	}
	for i, order := range []string{"/new", "/reset"} {
		r.ask(order)
		if got := r.chatNow().Topic; got != "" {
			t.Errorf("after %s the title is %q", order, got)
		}
		r.ask("数到 5")
		r.until("a title", func() bool { return r.chatNow().Topic != "" })
		r.ask("数到 6")
		if n := count(r.model.Requests(), isTitle); n != i+2 {
			t.Errorf("%d titles were requested", n)
		}
	}
	r.ask("/title 我们的事")
	r.ask("数到 7")
	if got := r.chatNow().Topic; got != "我们的事" {
		t.Errorf("title %q", got)
	}
	r.sim.Say(r.chat, r.user, "/new 数到 8") // two answers: to the command, and to the question
	r.until("a title", func() bool { return r.chatNow().Topic == "认识小明 [REDACTED_PHONE]" })
	if n := count(r.model.Requests(), isTitle); n != 4 {
		t.Errorf("%d titles were requested", n)
	}
}

func TestATitleFromTheQuestion(t *testing.T) {
	r := newRig(t, realCLI(t), func(c *config.Config) { c.Context.Titles = true })
	r.model.Script(modelsim.Rule{Match: isTitle, Steps: []modelsim.Step{modelsim.Fail(403, "permission_error", "no")}})
	r.ask("please count to 3, then tell me about the weather in Hangzhou")
	r.until("a title", func() bool { return r.chatNow().Topic != "" })
	for _, q := range r.model.Requests() {
		if isTitle(&q) && !strings.HasPrefix(strings.TrimPrefix(q.LastUser(), "<session>\n"), "please count to 3") ||
			isTitle(&q) && strings.ContainsFunc(q.LastUser(), func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			t.Errorf("the title was asked for with more than the talk: %q", q.LastUser())
		}
	}
	if got := r.chatNow().Topic; got != "please count to 3, then tell me about" {
		t.Errorf("title %q", got)
	}
	r.ask("count to 4")
	if n := count(r.model.Requests(), isTitle); n != 1 {
		t.Errorf("%d titles were requested", n)
	}
}
