package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"magpie/bridge/access"
	"magpie/db/programs"
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
		done := make(chan string, 1)
		go func() { done <- c.answers("动手吧") }()
		card := r.personsCard()
		if status := c.presses(r.button(card, doAllow)); status != http.StatusForbidden {
			t.Errorf("the program presses: %d", status)
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
	done := make(chan string, 1)
	go func() { done <- c.answers("再来") }()
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

// presses has the program press a button of the card of which its person is shown a copy.
func (c client) presses(action any) (status int) {
	c.Helper()
	var chat, card string
	must(c, c.side().QueryRowContext(c.Context(), `SELECT chat_key, id FROM persons_asked ORDER BY message DESC LIMIT 1`).Scan(&chat, &card))
	data, err := json.Marshal(map[string]any{"card": card, "action": action})
	must(c, err)
	q, err := http.NewRequestWithContext(c.Context(), http.MethodPost, "http://"+c.prog.http.Addr().String()+"/api/chats/"+chat+"/presses", bytes.NewReader(data))
	must(c, err)
	q.Header.Set("Authorization", "Bearer "+c.secret)
	status, _ = c.read(http.DefaultClient.Do(q))
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
