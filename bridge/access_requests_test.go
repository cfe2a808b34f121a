package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// porch is a messenger of which the calls fail for a while.
type porch struct {
	recorder
	shut bool
}

func (p *porch) reached() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut {
		return errors.New("not now")
	}
	return nil
}

func (p *porch) open(yes bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut = !yes
}

func (p *porch) Reply(ctx context.Context, to chat.Ref, text, idem string) (string, error) {
	if err := p.reached(); err != nil {
		return "", err
	}
	return p.recorder.Reply(ctx, to, text, idem)
}

func (p *porch) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	if err := p.reached(); err != nil {
		return "", err
	}
	return p.recorder.Post(ctx, to, card, idem)
}

func (p *porch) Close(ctx context.Context, id string, card chat.Card) error {
	if err := p.reached(); err != nil {
		return err
	}
	return p.recorder.Close(ctx, id, card)
}

func (l *line) unsent() int { return l.count(`SELECT COUNT(*) FROM outbox`) }

// What the owner and a stranger are to be told survives a platform that fails, and the end of the program.
func TestWhatIsSaidOfStrangersIsNotLost(t *testing.T) {
	out := &porch{shut: true}
	l := newLine(t, out)
	l.bridge.SetAccess(access.Config{Owner: "ou_boss", StrangerReply: "not yet"})
	boss := heard("om_0", "/lang en")
	boss.Key, boss.Actor.ID = chat.FeishuChat("oc_boss"), "ou_boss"
	l.must(l.bridge.Message(t.Context(), boss))
	l.say("om_1", "你好")
	l.must(l.bridge.Change(t.Context(), chat.Change{Key: chat.FeishuChat("oc_2"), Kind: chat.Group, Did: chat.Added, Actor: chat.Actor{ID: "ou_1"}, Time: time.Now()}))
	l.start()
	l.until("a failed try", func() bool { return l.count(`SELECT COUNT(*) FROM outbox WHERE attempts > 0`) > 0 })
	out.open(true)
	l.until("the request", func() bool { return l.unsent() == 0 })
	l.stop()
	if len(out.said) != 3 || len(out.closed) != 1 || out.closed[0].Summary != i18n.AccessRequestSummary.EN || len(out.closed[0].Buttons) != 2 {
		t.Fatalf("said %q, shown %+v", out.said, out.closed)
	}

	out.open(false)
	press := pressed("ev_1", doLetIn, 0)
	press.Actor.ID, press.Action.ID = "ou_boss", "ou_1"
	if got, err := l.bridge.Press(t.Context(), press); err != nil || !strings.Contains(got, "ou_1") {
		t.Fatalf("told %q, %v", got, err)
	}
	if got, err := l.bridge.Press(t.Context(), press); err != nil || got != i18n.AccessDecidedBefore.ZH {
		t.Errorf("pressed again: told %q, %v", got, err)
	}
	if n := l.unsent(); n != 2 {
		t.Fatalf("%d messages wait, want the card and the welcome", n)
	}
	l.sql(`UPDATE outbox SET created_at = created_at - 7200000`) // the platform fails for hours
	out.found = []chat.Sent{{ID: "om_not_yet", Time: time.Now()}}
	out.open(true)
	again := New(l.bridge.cfg, l.bridge.db, l.pool, out, l.bridge.log)
	l.bridge = again
	l.start()
	l.until("the decision", func() bool { return l.unsent() == 0 })
	l.stop()
	if len(out.closed) != 2 || len(out.closed[1].Buttons) != 0 || out.posts != 1 || len(out.said) != 4 {
		t.Errorf("said %q, %d cards, shown %+v", out.said, out.posts, out.closed)
	}
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE chat_key LIKE '%oc_1'`); n != 0 {
		t.Errorf("%d messages of a stranger's chat are kept", n)
	}
}

// The card of an approval that was posted just before the end of the program is taken up, however late. Those of its
// turn and of the turn's other approvals are not it, nor is what its turn has shown before.
func TestTheCardOfAnApprovalIsTakenUp(t *testing.T) {
	out := &recorder{}
	l := newLine(t, out)
	l.left("om_1", "hello")
	ask := func(id string) db.Post {
		a := askingFor("Bash", `{"command": "make"}`)
		a.ID, a.Key, a.Turn = id, room, 1
		l.must(l.bridge.db.Approvals().Ask(t.Context(), a, approval.Card(a, i18n.English), "om_1"))
		l.sql(`UPDATE approvals SET created_at = created_at - 7200000`)
		p, err := l.bridge.db.Outbox().Next(t.Context(), room)
		l.must(err)
		return p
	}
	first := ask("a1")
	at := first.Begun
	l.must(l.bridge.db.Turns().SetCard(t.Context(), 1, "om_turn/card"))
	out.found = []chat.Sent{
		{ID: "om_turn", Card: "om_turn/card", Time: at}, {ID: "om_page", Card: "om_page/card", Time: at.Add(-2 * askedAt)}, {ID: "om_ask", Card: "om_ask/card", Time: at},
	}
	if id, err := l.bridge.outbox.card(t.Context(), chat.Ref{Key: room, ID: "om_1"}, first); err != nil || id != "om_ask/card" || out.posts != 0 {
		t.Errorf("drawn on %s, %d posts, %v", id, out.posts, err)
	}
	l.must(l.bridge.db.Outbox().Delivered(t.Context(), first, ""))
	second := ask("a2")
	if id, err := l.bridge.outbox.card(t.Context(), chat.Ref{Key: room, ID: "om_1"}, second); err != nil || id != "card" || out.posts != 1 {
		t.Errorf("another one is drawn on %s, %d posts, %v", id, out.posts, err)
	}
}

// What a stranger is called and writes, and what a group is called, is no markup in what the owner reads.
func TestAStrangersNameIsNoMarkup(t *testing.T) {
	const name = "[点此](https://evil.example)"
	m := heard("om_1", "**急** "+name+"\n```\n<at id=all></at>")
	m.Actor = chat.Actor{ID: "ou_x", Name: name}
	want := "**`" + name + "`**（ou_x）想和我对话。允许吗？\n\n````\n**急** " + name + " ``` <at id=all></at>\n````\n"
	if got := requestCard(m, i18n.Chinese).Body; got != want {
		t.Errorf("the request says %q", got)
	}
	for name, want := range map[string]string{"张三-研发": "张三-研发", "Tom (PM)": "Tom (PM)", "O'Neil": "O'Neil", "- a": "`- a`", "a_b": "`a_b`", "evil.example": "`evil.example`"} {
		if got := i18n.SafeName(name); got != want {
			t.Errorf("nameText(%q) = %q, want %q", name, got, want)
		}
	}
	w := testWorld(t)
	w.bridge.SetAccess(access.Config{Owner: "ou_boss"})
	who := db.Grant{Subject: "ou_x", Name: name, State: db.Allowed}
	if got := w.bridge.accessRequests.outcome(w.ctx, who, i18n.Chinese)[0].Card.Body; got != "已允许 `"+name+"` 使用（编号 ou_x）" {
		t.Errorf("the decision says %q", got)
	}
	added := changed(chat.Added, 1000)
	added.Actor, added.Title = m.Actor, "`](https://evil.example)"
	w.must(w.bridge.Change(w.ctx, added))
	if got := waiting(w, chat.FeishuUser("ou_boss")); !strings.HasPrefix(got, "`"+name+"` 把我加进了群“`'](https://evil.example)`”。") {
		t.Errorf("of a group it says %q", got)
	}
	a := askingFor("Bash", `{"command": "make"}`)
	a.Settlement = db.Settlement{State: db.Approved, By: m.Actor}
	if got := approval.Card(a, i18n.Chinese).Status; got != "✅ `"+name+"` 已允许" {
		t.Errorf("an approval says %q", got)
	}
	if got := listed(name, "ou_x"); got != "`"+name+"` `ou_x`" {
		t.Errorf("a list says %q", got)
	}
	for _, plain := range []string{"小明", "Ann Lee 2", "Zoë"} {
		if got := i18n.SafeName(plain); got != plain {
			t.Errorf("%q is written %q", plain, got)
		}
	}
}

func askingFor(tool, input string) db.Approval {
	now := time.UnixMilli(1000)
	return db.Approval{
		ID: "3f0b5a52-7f3c-4d52-9a52-4b1c1a1a1a1a", Turn: 7, Tool: tool, Input: json.RawMessage(input), Project: "/p",
		Created: now, Expires: now.Add(30 * time.Minute), Settlement: db.Settlement{State: db.Waiting},
	}
}
