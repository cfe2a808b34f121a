package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/bridge/delivery/deliverytest"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// flakyMessenger is a messenger whose calls fail for a while.
type flakyMessenger struct {
	deliverytest.Recorder
	down bool
}

func (p *flakyMessenger) check() error {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	if p.down {
		return errors.New("not now")
	}
	return nil
}

func (p *flakyMessenger) setDown(down bool) {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	p.down = down
}

func (p *flakyMessenger) Reply(ctx context.Context, to chat.Ref, text, idem string) (string, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	return p.Recorder.Reply(ctx, to, text, idem)
}

func (p *flakyMessenger) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	if err := p.check(); err != nil {
		return "", err
	}
	return p.Recorder.Post(ctx, to, card, idem)
}

func (p *flakyMessenger) Close(ctx context.Context, id string, card chat.Card) error {
	if err := p.check(); err != nil {
		return err
	}
	return p.Recorder.Close(ctx, id, card)
}

// Notices to the owner and to a stranger survive a failing platform and a restart.
func TestWhatIsSaidOfStrangersIsNotLost(t *testing.T) {
	t.Parallel()
	out := &flakyMessenger{down: true}
	l := newBridgeRig(t, out)
	l.bridge.SetAccess(access.Config{Owner: "ou_boss", UnauthorizedReply: "not yet"})
	boss := incoming("om_0", "/lang en")
	boss.Key, boss.Actor.ID = chat.FeishuChat("oc_boss"), "ou_boss"
	l.receive(boss)
	l.say("om_1", "你好")
	l.must(l.bridge.HandleMembership(t.Context(), chat.Change{
		Key: chat.FeishuChat("oc_2"), Kind: chat.Group, Did: chat.Added, Actor: chat.Actor{ID: "ou_1"}, Time: time.Now(),
	}))
	l.start()
	l.until("a failed try", func() bool { return l.count(`SELECT COUNT(*) FROM outbox WHERE attempts > 0`) > 0 })
	out.setDown(false)
	l.sent()
	l.stop()
	if len(out.Said) != 3 || len(out.Closed) != 1 || out.Closed[0].Summary != i18n.AccessRequestSummary.EN ||
		len(out.Closed[0].Buttons) != 2 {
		t.Fatalf("said %q, shown %+v", out.Said, out.Closed)
	}

	out.setDown(true)
	press := pressed("ev_1", access.DoLetIn, 0)
	press.Actor.ID, press.Action.ID = "ou_boss", "ou_1"
	if got, err := l.bridge.HandlePress(t.Context(), press); err != nil || !strings.Contains(got, "ou_1") {
		t.Fatalf("told %q, %v", got, err)
	}
	if got, err := l.bridge.HandlePress(t.Context(), press); err != nil || got != i18n.AccessDecidedBefore.ZH {
		t.Errorf("pressed again: told %q, %v", got, err)
	}
	if n := l.unsent(); n != 2 {
		t.Fatalf("%d messages wait, want the card and the welcome", n)
	}
	l.sql(`UPDATE outbox SET created_at = created_at - 7200000`) // the platform fails for hours
	out.Found = []chat.Sent{{ID: "om_not_yet", Time: time.Now()}}
	out.setDown(false)
	l.remake(func(*Config) {})
	l.start()
	l.sent()
	l.stop()
	if len(out.Closed) != 2 || len(out.Closed[1].Buttons) != 0 || out.Posts != 1 || len(out.Said) != 4 {
		t.Errorf("said %q, %d cards, shown %+v", out.Said, out.Posts, out.Closed)
	}
	if n := l.count(`SELECT COUNT(*) FROM messages WHERE chat_key LIKE '%oc_1'`); n != 0 {
		t.Errorf("%d messages of a stranger's chat are kept", n)
	}
}

// Names of groups and people in a list are not markup.
func TestTheNameOfAGroupIsNoMarkup(t *testing.T) {
	t.Parallel()
	const name = "[点此](https://evil.example)"
	w := testWorld(t)
	w.bridge.SetAccess(access.Config{Owner: "ou_boss"})
	added := changed(chat.Added, 1000)
	added.Actor, added.Title = chat.Actor{ID: "ou_x", Name: name}, "`](https://evil.example)"
	w.must(w.bridge.HandleMembership(w.ctx, added))
	want := "`" + name + "` 把我加进了群“`'](https://evil.example)`”，"
	if got := waiting(w, chat.PersonKey("ou_boss")); !strings.HasPrefix(got, want) {
		t.Errorf("of a group it says %q", got)
	}
	if got := budget.Entry(name, "ou_x"); got != "`"+name+"` `ou_x`" {
		t.Errorf("a list says %q", got)
	}
}
