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
	"magpie/bridge/delivery/deliverytest"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// porch is a messenger of which the calls fail for a while.
type porch struct {
	deliverytest.Recorder
	shut bool
}

func (p *porch) reached() error {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.shut {
		return errors.New("not now")
	}
	return nil
}

func (p *porch) open(yes bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.shut = !yes
}

func (p *porch) Reply(ctx context.Context, to chat.Ref, text, idem string) (string, error) {
	if err := p.reached(); err != nil {
		return "", err
	}
	return p.Recorder.Reply(ctx, to, text, idem)
}

func (p *porch) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	if err := p.reached(); err != nil {
		return "", err
	}
	return p.Recorder.Post(ctx, to, card, idem)
}

func (p *porch) Close(ctx context.Context, id string, card chat.Card) error {
	if err := p.reached(); err != nil {
		return err
	}
	return p.Recorder.Close(ctx, id, card)
}

func (l *bridgeRig) unsent() int { return l.count(`SELECT COUNT(*) FROM outbox`) }

// What the owner and a stranger are to be told survives a platform that fails, and the end of the program.
func TestWhatIsSaidOfStrangersIsNotLost(t *testing.T) {
	t.Parallel()
	out := &porch{shut: true}
	l := newBridgeRig(t, out)
	l.bridge.SetAccess(access.Config{Owner: "ou_boss", UnauthorizedReply: "not yet"})
	boss := heard("om_0", "/lang en")
	boss.Key, boss.Actor.ID = chat.FeishuChat("oc_boss"), "ou_boss"
	l.must(l.bridge.Message(t.Context(), boss))
	l.say("om_1", "你好")
	l.must(l.bridge.Change(t.Context(), chat.Change{Key: chat.FeishuChat("oc_2"), Kind: chat.Group, Did: chat.Added,
		Actor: chat.Actor{ID: "ou_1"}, Time: time.Now()}))
	l.start()
	l.until("a failed try", func() bool { return l.count(`SELECT COUNT(*) FROM outbox WHERE attempts > 0`) > 0 })
	out.open(true)
	l.until("the request", func() bool { return l.unsent() == 0 })
	l.stop()
	if len(out.Said) != 3 || len(out.Closed) != 1 || out.Closed[0].Summary != i18n.AccessRequestSummary.EN ||
		len(out.Closed[0].Buttons) != 2 {
		t.Fatalf("said %q, shown %+v", out.Said, out.Closed)
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
	out.Found = []chat.Sent{{ID: "om_not_yet", Time: time.Now()}}
	out.open(true)
	l.remake(func(*Config) {})
	l.start()
	l.until("the decision", func() bool { return l.unsent() == 0 })
	l.stop()
	if len(out.Closed) != 2 || len(out.Closed[1].Buttons) != 0 || out.Posts != 1 || len(out.Said) != 4 {
		t.Errorf("said %q, %d cards, shown %+v", out.Said, out.Posts, out.Closed)
	}
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE chat_key LIKE '%oc_1'`); n != 0 {
		t.Errorf("%d messages of a stranger's chat are kept", n)
	}
}

// What a stranger is called and writes, and what a group is called, is no markup in what the owner reads.
func TestAStrangersNameIsNoMarkup(t *testing.T) {
	t.Parallel()
	const name = "[点此](https://evil.example)"
	m := heard("om_1", "**急** "+name+"\n```\n<at id=all></at>")
	m.Actor = chat.Actor{ID: "ou_x", Name: name}
	want := "**`" + name + "`**（ou_x）想和我对话。允许吗？\n\n````\n**急** " + name + " ``` <at id=all></at>\n````\n"
	if got := requestCard(m, i18n.Chinese).Body; got != want {
		t.Errorf("the request says %q", got)
	}
	for name, want := range map[string]string{"张三-研发": "张三-研发", "Tom (PM)": "Tom (PM)", "O'Neil": "O'Neil",
		"- a": "`- a`", "a_b": "`a_b`", "evil.example": "`evil.example`"} {
		if got := i18n.SafeName(name); got != want {
			t.Errorf("nameText(%q) = %q, want %q", name, got, want)
		}
	}
	w := testWorld(t)
	w.bridge.SetAccess(access.Config{Owner: "ou_boss"})
	who := db.Grant{Subject: "ou_x", Name: name, State: db.Allowed}
	if got := w.bridge.access.requests.outcome(w.ctx, who, i18n.Chinese)[0].Card.Body; got != "已允许 `"+name+
		"` 使用（编号 ou_x）" {
		t.Errorf("the decision says %q", got)
	}
	added := changed(chat.Added, 1000)
	added.Actor, added.Title = m.Actor, "`](https://evil.example)"
	w.must(w.bridge.Change(w.ctx, added))
	if got := waiting(w, chat.FeishuUser("ou_boss")); !strings.HasPrefix(got,
		"`"+name+"` 把我加进了群“`'](https://evil.example)`”。") {
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
