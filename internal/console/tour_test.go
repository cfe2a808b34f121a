package console

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"magpie/internal/console/consoletest"
)

const messages = "/open-apis/im/v1/messages/"

// works puts the mark on a message that the bot works on it, and returns how to take it off.
func (b *bot) works(message string) (done func() error, err error) {
	path := messages + message + "/reactions"
	id, err := b.call("POST", path, obj{"reaction_type": obj{"emoji_type": "Typing"}}, "reaction_id")
	return func() error {
		_, err := b.call("DELETE", path+"/"+id, nil, "")
		return err
	}, err
}

// The tour goes on, or offers its step again, whatever becomes of what it has asked.
func TestNothingKeepsAVisitorInTheTour(t *testing.T) {
	lost := false
	s := serve(t, PlaygroundConfig{Simulated: true, LoseSession: func(context.Context, string) (string, error) {
		if !lost {
			return "", fmt.Errorf("no session yet")
		}
		return "0c5e", nil
	}})
	connect(t, s.sim)
	bot := newBot(t, s.sim)
	chat, ming := s.sim.Chats()[0].ID, s.sim.Users()[0].OpenID
	b := consoletest.Browse(t, s.url)
	at := func(step string, act int, label string) {
		t.Helper()
		b.Until(fmt.Sprintf(`document.querySelector('#tour[data-step=%q][data-act="%d"]:not([hidden])') &&
			document.querySelector('#tour-do').textContent === %q`, step, act, label))
	}
	// ask presses the button, and is the message that this sends.
	ask := func() (message string) {
		t.Helper()
		n := len(s.sim.Messages(chat))
		b.Press("#tour-do")
		b.Until(fmt.Sprintf(`document.querySelectorAll('.message').length === %d`, n+1))
		return s.sim.Messages(chat)[n].ID
	}
	// asked asks. The bot begins to work on it.
	asked := func() (message string, done func() error) {
		t.Helper()
		m := ask()
		done, err := bot.works(m)
		must(t, err)
		b.Until(`[...document.querySelectorAll('.message.mine')].at(-1).querySelector('[data-emoji=Typing]')`)
		return m, done
	}
	answer := func(question string, elements ...any) (card string) {
		t.Helper()
		_, card, err := bot.card(question, false, elements...)
		must(t, err)
		return card
	}

	at("1", 1, "问：测试为什么不通过？")
	recalled := ask()
	_, err := bot.call("POST", "/open-apis/im/v1/messages?receive_id_type=chat_id", obj{"receive_id": chat,
		"msg_type": "text", "content": text(obj{"text": "欢迎"}), "uuid": "welcome"}, "message_id")
	must(t, err)
	b.Until(`document.querySelector('.message[data-bot]').textContent.includes('欢迎')`)
	at("1", 1, "跳过") // this is no answer
	_, err = bot.works(recalled)
	must(t, err)
	s.post("/api/recall", messageRequest{Message: recalled, User: ming})
	at("1", 1, "问：测试为什么不通过？") // it may be asked again

	// It is answered without a request: what it would ask is allowed already.
	again, done := asked()
	answer(again, markdown("body", "修好了"))
	b.Until(`document.querySelectorAll('.message[data-bot]').length === 2`)
	at("1", 1, "跳过") // the bot is still working
	must(t, done())
	at("3", 1, "弄丢会话")

	b.Press("#tour-do") // this fails, and is offered again
	b.Until(`document.querySelector('#toast.shown').textContent.includes('没有成功')`)
	at("3", 1, "弄丢会话")
	lost = true
	b.Press("#tour-do")
	at("3", 2, "问：我第一句话说了什么？")

	// A request that was left open comes first.
	n := len(s.sim.Messages(chat))
	open := answer(again, markdown("body", "改文件"), buttons("允许一次", "allow"))
	at("3", 2, "带我去看")
	b.Press("#tour-do")
	b.Until(`document.activeElement.dataset.do === 'allow'`)
	if got := len(s.sim.Messages(chat)); got != n+1 {
		t.Errorf("%d messages were sent meanwhile", got-n-1)
	}
	_, err = bot.call("DELETE", messages+open, nil, "")
	must(t, err)
	at("3", 2, "问：我第一句话说了什么？")

	// Nobody answers.
	asked()
	at("3", 2, "跳过")
	b.Press("#tour-do")
	at("4", 1, "让它讲个故事")
	b.RefuteBarriers("the tour")
}

// must fails the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// heldFiles serves a playground, but holds each file back until it is released.
func heldFiles(s *playgroundRig) (url string, release func()) {
	files := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/file/") {
			select {
			case <-files:
			case <-r.Context().Done():
			}
		}
		s.ServeHTTP(w, r)
	}))
	s.t.Cleanup(srv.Close)
	return srv.URL, func() { files <- struct{}{} }
}

// What is seen at the end of a chat stays there when a picture has loaded; whoever reads further up stays there.
func TestThePageFollowsWhatLoadsLate(t *testing.T) {
	s := serve(t, PlaygroundConfig{Simulated: true})
	var tall bytes.Buffer
	must(t, png.Encode(&tall, image.NewGray(image.Rect(0, 0, 300, 500))))
	url, release := heldFiles(s)
	c := s.snapshot().Chats[0]
	for n := range 30 {
		s.sim.Say(c.ID, s.sim.Users()[0], fmt.Sprint("message ", n))
	}
	b := consoletest.Browse(t, url)
	const (
		box   = `document.querySelector('#messages')`
		atEnd = `(m => m.scrollHeight - m.scrollTop - m.clientHeight < 2)(` + box + `)`
	)
	loaded := func(pictures int) {
		t.Helper()
		b.Until(fmt.Sprintf(`document.querySelectorAll('img.shot').length === %d`, pictures))
		before := b.Eval(box + `.scrollHeight`)
		release()
		b.Until(`[...document.querySelectorAll('img.shot')].every(i => i.complete && i.naturalHeight === 500)`)
		b.Until(box + `.scrollHeight > ` + before)
	}
	b.Until(`document.querySelectorAll('.message').length === 30 && ` + atEnd)
	s.uploads(c, "a.png", tall.Bytes(), nil)
	loaded(1)
	b.Until(atEnd)

	b.Eval(box + `.scrollTop = 100`)
	s.uploads(c, "b.png", tall.Bytes(), nil)
	loaded(2)
	b.Eval(`new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))`)
	if top := b.Eval(box + `.scrollTop`); top != "100" {
		t.Errorf("who reads at 100 is taken to %s", top)
	}
	b.RefuteComplaints()
}

// A name that is written in full is that command, though it begins another one.
func TestACommandWrittenInFullIsSent(t *testing.T) {
	s := serve(t, PlaygroundConfig{Commands: []Command{{"/model", "模型", "model"}, {"/mode", "模式", "mode"}}})
	c := composing{consoletest.Browse(t, s.url), s}
	c.Until(`document.querySelector('#chat-1[aria-current=true]')`)
	// press is an event without the character that the test keyboard would type.
	press := func(keys ...string) {
		for _, key := range keys {
			c.Eval(fmt.Sprintf(`document.querySelector('#composer').dispatchEvent(
				new KeyboardEvent('keydown', { key: %q, cancelable: true }))`, key))
		}
	}
	for _, tc := range []struct{ first, then, sent string }{
		{"/mode", "", "/mode"}, {"/model", "", "/model"}, {"／MODE", "", "／MODE"}, {"/mo", "del", "/model"},
	} {
		c.key(tc.first)
		if tc.then != "" {
			press("ArrowDown") // to /mode, which is not what is written then
			c.key(tc.then)
		}
		press("Enter")
		c.Until(fmt.Sprintf(`document.querySelector('#composer').value === '' &&
			[...document.querySelectorAll('.message.mine .bubble')].at(-1).textContent === %q`, tc.sent))
	}
	// What is chosen with the keys goes before what is written.
	c.key("/mode")
	press("ArrowUp", "Enter")
	c.Until(`document.querySelector('#composer').value === '/model '`)
	c.RefuteComplaints()
}
