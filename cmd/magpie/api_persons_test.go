package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/db/dbtest"
	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// The person of a program decides in his private chat what its agent may do, and nobody else does: not another user, and
// not the program.
func TestThePersonOfAProgramDecides(t *testing.T) {
	r := newRig(t, withPages)
	r.ask("你好") // the bot knows his private chat
	c := r.tokenOf(programs.Token{Name: "ci", Person: r.user.OpenID})
	for _, allows := range []bool{true, false} {
		r.calls(bash(appendLine("out.txt")), modelsim.Text("做完了"))
		done := c.later("动手吧")
		card := r.personsCard()
		if status := c.presses(card, "", r.button(card, doAllow)); status != http.StatusForbidden {
			t.Errorf("the program presses: %d", status)
		}
		if status := c.presses(card, ".x", r.button(card, doAllow)); status != http.StatusNotFound {
			t.Errorf("the program presses on a card that is not there: %d", status)
		}
		do, want := doAllow, "小明 已允许"
		if !allows {
			do, want = doRefuse, "小明 已拒绝"
		}
		r.press(card, do)
		if got := <-done; got != "做完了" {
			t.Errorf("answer %q", got)
		}
		r.closed(card, want)
	}
	r.checkRuns("out.txt", 1)
	// Whoever may not talk to the bot any more decides nothing.
	r.calls(bash(appendLine("out.txt")), modelsim.Text("做完了"))
	done := c.later("再来")
	card := r.personsCard()
	r.setAccess(access.Config{Owner: "ou_boss", Deny: []string{r.user.OpenID}, Allow: []string{"http:*"}})
	r.press(card, doAllow)
	if n := r.count(`SELECT COUNT(*) FROM approvals WHERE state = 'waiting'`); n != 1 {
		t.Error("somebody who is denied has decided")
	}
	r.setAccess(access.Config{Allow: []string{"*"}})
	r.press(card, doRefuse)
	<-done
}

// What takes several messages to show is decided by the buttons of the last one.
func TestALongRequestOfAProgramIsDecided(t *testing.T) {
	r := newRig(t, withPages)
	r.ask("你好")
	c := r.tokenOf(programs.Token{Name: "ci", Person: r.user.OpenID})
	r.calls(bash(strings.Repeat("echo a line of a long command; ", 800)+appendLine("out.txt")), modelsim.Text("做完了"))
	done := c.later("动手吧")
	card := r.personsCard()
	r.press(card, doAllow)
	if got := <-done; got != "做完了" {
		t.Errorf("answer %q", got)
	}
	r.checkRuns("out.txt", 1)
	if n := r.count(`SELECT COUNT(*) FROM persons_asked`); n != 2 {
		t.Errorf("%d messages", n)
	}
}

// presses has the program press a button of the card of which its person is shown a copy, or of one with another ID.
func (c client) presses(copied feishusim.Message, other string, action any) (status int) {
	c.Helper()
	var chat, card string
	must(c, c.side().QueryRowContext(c.Context(), dbtest.Statement(`SELECT chat_key, id FROM persons_asked WHERE message = ?1`), copied.ID).Scan(&chat, &card))
	data, err := json.Marshal(map[string]any{"card": card + other, "action": action})
	must(c, err)
	status, _ = c.do(http.MethodPost, "/api/chats/"+chat+"/presses", string(data))
	return status
}

// personsCard waits for the card that asks the user for a program.
func (r *rig) personsCard() (card feishusim.Message) {
	r.Helper()
	r.await("what the program's person is asked", func(v *feishusim.View) bool {
		for _, m := range v.Messages(r.chat) {
			if m.FromBot && strings.Contains(string(m.Last().Card), `"`+doAllow+`"`) {
				card = m
				return true
			}
		}
		return false
	})
	r.until("the card to be known", func() bool {
		return r.count(`SELECT COUNT(*) FROM persons_asked WHERE message = ?1`, card.ID) == 1
	})
	return card
}

// What an agent asks where the person of its program cannot be reached is refused at once.
func TestThePersonOfAProgramCannotBeReached(t *testing.T) {
	r := newRig(t, withPages)
	c := r.tokenOf(programs.Token{Name: "ci", Person: "elsewhere:ou_1"})
	r.writeFile("out.txt", nil)
	r.calls(bash(appendLine("out.txt")), modelsim.Text("做不了"))
	if got := c.answers("动手吧"); got != "做不了" {
		t.Errorf("answer %q", got)
	}
	r.checkRuns("out.txt", 0)
}

// A program to which a chat was given goes on with what people have said there: one session, and everybody sees it. Other
// programs, and this one in other chats, find nothing.
func TestAProgramGoesOnInAChatOfPeople(t *testing.T) {
	r := newRig(t, withPages, realCLI(t))
	r.ask("我叫阿明")
	key := chat.FeishuChat(r.chat)
	c, other := r.tokenOf(programs.Token{Name: "ci", Chat: key.Room()}), r.token("other")
	if got := c.answers("数到 3"); got != "1 2 3" {
		t.Errorf("answer %q", got)
	}
	if q := r.lastRequest(); !strings.Contains(q.AllText(), "我叫阿明") {
		t.Error("the program is in another conversation")
	}
	r.awaitMessage("ci", "数到 3") // what was asked, and the answer
	r.awaitMessage("1 2 3")
	r.ask("数到 2")
	if got, _ := c.streamed(c.post(t.Context(), true, "数到 4")); got != "1 2 3 4" {
		t.Errorf("streamed %q", got)
	}
	if n := r.count(`SELECT COUNT(DISTINCT session_id) FROM turns WHERE chat_key = ?1`, key.String()); n != 1 {
		t.Errorf("%d sessions", n)
	}
	if n := r.count(`SELECT COUNT(*) FROM messages WHERE chat_key = ?1 AND class = 'talk'`, key.String()); n != 8 {
		t.Errorf("%d questions and answers", n)
	}
	if status, _ := c.do(http.MethodGet, "/api/chats/"+key.String()+"/messages", ""); status != http.StatusOK {
		t.Errorf("its own chat: %d", status)
	}
	group := chat.FeishuChat(r.sim.Group("项目", r.user))
	for what, got := range map[string]func() (int, string){
		"another program": func() (int, string) { return other.do(http.MethodGet, "/api/chats/"+key.String()+"/messages", "") },
		"to say something": func() (int, string) {
			return other.do(http.MethodPost, "/api/chats/"+key.String()+"/messages", `{"text": "x"}`)
		},
		"another chat": func() (int, string) { return c.do(http.MethodGet, "/api/chats/"+group.String()+"/messages", "") },
		"to say something there": func() (int, string) {
			return c.do(http.MethodPost, "/api/chats/"+group.String()+"/messages", `{"text": "x"}`)
		},
	} {
		if status, body := got(); status != http.StatusNotFound {
			t.Errorf("%s: %d %s", what, status, body)
		}
	}
	must(t, r.store().Programs().Revoke(t.Context(), "ci"))
	if status, _ := c.gets("数到 3"); status != http.StatusUnauthorized {
		t.Errorf("revoked: %d", status)
	}
}

// do sends a request of the plain API.
func (c client) do(method, path, body string) (status int, text string) {
	c.Helper()
	q, err := http.NewRequestWithContext(c.Context(), method, "http://"+c.prog.http.Addr().String()+path, strings.NewReader(body))
	must(c, err)
	q.Header = c.header.Clone()
	q.Header.Set("Authorization", "Bearer "+c.secret)
	return c.read(http.DefaultClient.Do(q))
}
