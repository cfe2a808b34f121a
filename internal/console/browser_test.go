package console

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"magpie/internal/console/consoletest"
	"magpie/internal/feishusim"
)

// hostile is Markdown that a page must show and not execute.
const hostile = "# 长文\n\n一段 **粗体** 和 `行内`，<img src=x onerror=\"window.hacked=1\"> &lt;b&gt;\n\n" +
	"[坏](javascript:window.hacked=1) [好](https://example.com/a?b=1)\n\n" +
	"| 列 | 数 |\n|---|--:|\n| a | 1 |\n\n1. 一\n2. 二\n   - 内\n\n```go\nfunc main() { println(\"<script>\") }\n```\n"

// writer answers the next message of a chat with a card, and adds each text that it receives.
func writer(b *bot, sim *feishusim.Server, chatID string, texts <-chan string) error {
	var asked string
	if err := sim.Await(b.ctx, func(v *feishusim.View) bool {
		for _, m := range v.Messages(chatID) {
			asked = m.ID
		}
		return asked != ""
	}); err != nil {
		return fmt.Errorf("await the question: %w", err)
	}
	card, _, err := b.card(asked, true, markdown("body", "…"), buttons("停止", "stop"))
	if err != nil {
		return err
	}
	last := ""
	for last = range texts {
		if err := b.stream(card, "body", last); err != nil {
			return err
		}
	}
	return b.finish(card, markdown("body", last), buttons("再来", "again"), obj{"tag": "collapsible_panel",
		"header": obj{"title": obj{"tag": "plain_text", "content": "细节"}}, "elements": []any{markdown("more", "*里面*")}})
}

func TestCardGrowsInThePageAndStaysText(t *testing.T) {
	s := serve(t, PlaygroundConfig{Simulated: true, LoseSession: func(context.Context, string) (string, error) {
		return "0c5e", nil
	}})
	connect(t, s.sim)
	chat := s.sim.Chats()[0].ID
	texts := make(chan string)
	written := make(chan error, 1)
	go func() { written <- writer(newBot(t, s.sim), s.sim, chat, texts) }()

	b := consoletest.Browse(t, s.url)
	b.Until(`document.querySelector('#chat-1[aria-current=true]') && document.querySelector('#bridge[data-state=up]')`)
	keepToasts(b)
	b.Until(`(v => v.dataset.count === '0' && !v.checkVisibility())(document.querySelector('#violations'))`)
	b.Type("#composer", "写一篇长文\r")
	b.Until(`document.querySelector('.message.mine .bubble').textContent === '写一篇长文'`)
	b.Until(`document.querySelector('.card .body .cursor')`)

	half, _, _ := strings.Cut(hostile, "[坏]")
	length := 0
	for _, step := range []struct{ text, see string }{
		{"# 长文", "长文"}, {half, "onerror"}, {hostile, "println"},
	} {
		texts <- step.text
		now := len(b.Until(`document.querySelector('.card.live .body').textContent.includes('` + step.see +
			`') && document.querySelector('.card .body').textContent`))
		if now <= length {
			t.Errorf("the card has %d bytes after %d", now, length)
		}
		length = now
	}
	checkMarkdown(t, b)
	b.Do(chromedp.Click(chromedp.CSS(`.card button[data-do="stop"]`)))
	b.Until(`toasts.some(t => t.startsWith('success stop ou_'))`)

	close(texts)
	b.Until(`!document.querySelector('.card.live') && document.querySelector('.card button[data-do="again"]')`)
	b.Until(`document.querySelector('.card details em').textContent === '里面'`)
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	checkPanel(t, b, s, chat)
	checkForm(t, b, s, chat)
	b.RefuteComplaints()

	s.cut() // the page must reconnect
	s.sim.Say(s.sim.Chats()[3].ID, s.sim.Users()[0], "back again")
	b.Until(`[...document.querySelectorAll('.message .bubble')].at(-1).textContent === 'back again'`)
	for _, v := range s.sim.Violations() {
		if v.Rule != feishusim.RuleHref { // the hostile text contains a link to something else than the web
			t.Errorf("violation %+v", v)
		}
	}
}

// TestAClickOutlivesARepaint presses the mouse on each part of a chat's row, repaints the page, and releases the mouse.
func TestAClickOutlivesARepaint(t *testing.T) {
	s := serve(t, PlaygroundConfig{Simulated: true})
	b := consoletest.Browse(t, s.url)
	group, speaker := s.sim.Chats()[3].ID, s.sim.Users()[0]
	for i, part := range []string{
		"#chat-2 .avatar", "#chat-3 .chat-name span", "#chat-2 .chat-name small", "#chat-3 .chat-brief",
	} {
		b.Until(`document.querySelector('` + part + `')`)
		var x, y float64
		if _, err := fmt.Sscan(b.Eval(`(r => (r.x + r.width / 2) + ' ' + (r.y + r.height / 2))(document.querySelector('`+
			part+`').getBoundingClientRect())`), &x, &y); err != nil {
			t.Fatal(err)
		}
		b.Do(chromedp.MouseEvent(chromedp.MousePressed, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
		s.sim.Say(group, speaker, fmt.Sprint("meanwhile ", i))
		b.Until(`document.querySelector('#chat-4 .chat-brief').textContent.endsWith('meanwhile ` + fmt.Sprint(i) + `')`)
		b.Do(chromedp.MouseEvent(chromedp.MouseReleased, x, y, chromedp.ButtonLeft, chromedp.ClickCount(1)))
		b.Until(`document.querySelector('` + strings.Fields(part)[0] + `[aria-current=true]')`)
	}
	b.RefuteComplaints()
}

// keepToasts collects toasts, which the page only shows for a few seconds, as "kind text".
func keepToasts(b *consoletest.Browser) {
	b.Eval(`(window.toasts = [], new MutationObserver(() => {
		const toast = document.querySelector('#toast.shown');
		if (toast) toasts.push(toast.dataset.kind + ' ' + toast.textContent);
	}).observe(document.querySelector('#toast'), { attributes: true, childList: true }))`)
}

func checkMarkdown(t *testing.T, b *consoletest.Browser) {
	t.Helper()
	for expression, want := range map[string]string{
		`document.querySelectorAll('.card img, .card script').length`: "0",
		`window.hacked`: "undefined",
		`document.querySelector('.card .md p').textContent.includes('<img src=x onerror="window')`: "true",
		`document.querySelector('.card .md p').textContent.includes('<b>')`:                        "true",
		`[...document.querySelectorAll('.card a')].map(a => a.href)`:                               "https://example.com/a?b=1",
		`document.querySelector('.card .md').textContent.includes('[坏](javascript:')`:              "true",
		`document.querySelector('.card .h1').textContent`:                                          "长文",
		`document.querySelector('.card strong').textContent`:                                       "粗体",
		`document.querySelector('.card p code').textContent`:                                       "行内",
		`document.querySelector('.card td[data-align=right]').textContent`:                         "1",
		`document.querySelector('.card ol > li > ul > li').textContent`:                            "内",
		`document.querySelector('.card pre code').textContent`:                                     `func main() { println("<script>") }`,
	} {
		if got := b.Eval(expression); got != want {
			t.Errorf("%s = %q, want %q", expression, got, want)
		}
	}
}

// checkPanel tests the context panel, the other language and the group.
func checkPanel(t *testing.T, b *consoletest.Browser, s *playgroundRig, chat string) {
	t.Helper()
	s.Record(Turn{ChatID: chat, Turn: 6, At: time.Now(), Prefix: "记忆"}) // no messages, so nothing to count
	s.Record(Turn{
		ChatID: chat, Turn: 7, At: time.Now(), Lost: "会话文件不见了", Prefix: "<b>小明</b>：你好", Messages: 2,
	})
	b.Until(`document.querySelector('.turn[data-turn="7"][data-lost] pre').textContent === '<b>小明</b>：你好'`)
	refuteFigures(t, b)
	if agent := b.Eval(`document.querySelector('#agent').textContent`); agent != "助手：真实的 Claude Code，模型是模拟的，不产生费用" {
		t.Errorf("agent %q", agent)
	}
	b.Do(chromedp.Click(chromedp.CSS("#lose-session")))
	b.Until(`document.querySelector('#lost-line').textContent.includes('已删除会话 0c5e')`)
	b.Do(chromedp.Click(chromedp.CSS("#lang")))
	b.Until(`document.documentElement.lang === 'en' && document.querySelector('#agent').textContent.includes('simulated model') && localStorage.getItem('magpie.lang') === '"en"'`)

	b.Do(chromedp.Click(chromedp.CSS("#chat-4")), chromedp.SetValue(chromedp.CSS("#speaker"), s.sim.Users()[2].OpenID))
	b.Type("#composer", "hi all\r")
	b.Until(`document.querySelector('.message .mention').textContent === '@Magpie'`)
	b.Do(chromedp.Click(chromedp.CSS("#lang")))
	b.Until(`document.querySelector('.message .mention').textContent === '@鹊桥'`)
	b.Do(chromedp.Click(chromedp.CSS("#lang")))
	group := s.sim.Chats()[3].ID
	if all := s.sim.Messages(group); len(all) != 1 || all[0].Sender.Name != "Alex" ||
		all[0].Text() != "@Magpie hi all" {
		t.Errorf("group %+v", all)
	}
}

// refuteFigures fails if a turn backstage shows what only developers read, or the box about broken rules of the platform
// does not tell of the hostile link. The bot has its Chinese name.
func refuteFigures(t *testing.T, b *consoletest.Browser) {
	t.Helper()
	for expression, want := range map[string]string{
		`document.querySelectorAll('.turn[data-turn="6"] dl').length`:                              "0",
		`document.querySelector('.turn[data-turn="6"]').innerText.includes('false')`:               "false",
		`document.querySelector('.turn[data-turn="7"] .badge:not(.healed)').textContent`:           "新会话",
		`[...document.querySelectorAll('.turn[data-turn="7"] dt')].map(e => e.textContent).join()`: "消息,用户消息,字符,Token 数",
		`(v => v.dataset.count > 0 && v.checkVisibility())(document.querySelector('#violations'))`: "true",
		`document.querySelector('.message[data-bot] .who b').textContent`:                          "鹊桥",
		`document.querySelector('#mention-box span').textContent`:                                  "@鹊桥",
	} {
		if got := b.Eval(expression); got != want {
			t.Errorf("%s = %q, want %q", expression, got, want)
		}
	}
}

// checkForm fills in a form and submits it; the bot's toast says what it received.
func checkForm(t *testing.T, b *consoletest.Browser, s *playgroundRig, chat string) {
	t.Helper()
	options := []any{}
	for _, v := range []string{"a", "b"} {
		options = append(options, obj{"text": obj{"tag": "plain_text", "content": "option " + v}, "value": v})
	}
	send := buttons("Send", "send")
	button := send["columns"].([]any)[0].(obj)["elements"].([]any)[0].(obj)
	button["name"], button["form_action_type"] = "send", "submit"
	form := obj{"tag": "form", "name": "f", "elements": []any{
		obj{"tag": "select_static", "name": "one", "required": true, "options": options},
		obj{"tag": "multi_select_static", "name": "many", "options": options},
		obj{"tag": "input", "name": "words", "input_type": "multiline_text", "max_length": 50}, send}}
	if _, _, err := newBot(t, s.sim).card(s.sim.Say(chat, s.sim.Users()[0], "ask me"), false, form); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.Click(chromedp.CSS("#chat-1")))
	b.Until(`document.querySelector('.form [data-name="words"]')`)
	b.Do(chromedp.Click(chromedp.CSS(`.form button[data-do="send"]`)))
	b.Until(`toasts.includes('error The form is not complete')`)
	b.Do(chromedp.SetValue(chromedp.CSS(`.form [data-name="one"]`), "b"),
		chromedp.Click(chromedp.CSS(`.form .choices input[value="a"]`)))
	b.Type(`.form [data-name="words"]`, "why")
	b.Do(chromedp.Click(chromedp.CSS(`.form button[data-do="send"]`)))
	b.Until(`toasts.some(t => t.includes('map[many:[a] one:b words:why]'))`)
	b.Do(chromedp.Click(chromedp.CSS("#chat-4")))
}
