package bridge

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// What comes from another organization than the chat's is about no chat, also in a topic. A chat of which that is not known
// belongs to that of its next event.
func TestAChatBelongsToItsOrganization(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.Access = access.Config{Allow: []string{"*"}} })
	w.open()
	said := 0
	say := func(key chat.Key, tenant string) (id string, err error) {
		said++
		id = fmt.Sprint("om_", said)
		return id, w.bridge.HandleMessage(w.ctx, chat.Incoming{Key: key, Tenant: tenant, Kind: chat.Group, ID: id, Text: "/whoami",
			Time: time.Now(), ToBot: true, Actor: chat.Actor{ID: "ou_1"}})
	}
	taken := func(key chat.Key, tenant string) bool {
		t.Helper()
		id, err := say(key, tenant)
		known, knownErr := w.store.Messages().Known(w.ctx, key, id)
		w.must(knownErr)
		if !known && !errors.Is(err, chat.ErrNoChat) {
			t.Errorf("%v of %q is not taken: %v", key, tenant, err)
		}
		return known
	}
	old, fresh := chat.FeishuChat("oc_old"), chat.FeishuChat("oc_fresh")
	topic := fresh
	topic.Thread = "omt_1"
	for _, step := range []struct {
		key    chat.Key
		tenant string
		want   bool
	}{
		{old, "", true}, {old, "t2", true}, {old, "t1", false}, {old, "", true}, // a list of messages does not tell it
		{fresh, "t1", true}, {fresh, "t2", false}, {topic, "t2", false}, {topic, "t1", true}, {topic, "t2", false},
		{fresh, "t1", true},
	} {
		if got := taken(step.key, step.tenant); got != step.want {
			t.Errorf("a message of %q in %v: taken %v", step.tenant, step.key, got)
		}
	}
	who := chat.Actor{ID: "ou_1"}
	toast, err := w.bridge.HandlePress(w.ctx, chat.Press{ID: "e", Key: fresh, Tenant: "t2", Card: "om_x", Actor: who,
		Action: chat.Action{Do: chat.DoCommand, ID: "/new"}})
	if !errors.Is(err, chat.ErrNoChat) || toast != i18n.NotForYou.In(i18n.Chinese) {
		t.Errorf("a press is answered %q, %v", toast, err)
	}
	if err := w.bridge.HandleEdit(w.ctx, chat.Incoming{Key: fresh, Tenant: "t2", ID: "om_1", Actor: who, Text: "x"}); !errors.Is(err, chat.ErrNoChat) {
		t.Errorf("an edit: %v", err)
	}
	joined := chat.FeishuChat("oc_joined")
	change := chat.Change{Key: joined, Tenant: "t1", Kind: chat.Group, Did: chat.Added, Actor: who, Time: time.Now()}
	w.must(w.bridge.HandleMembership(w.ctx, change))
	change.Tenant, change.Did = "t2", chat.Removed
	if err := w.bridge.HandleMembership(w.ctx, change); !errors.Is(err, chat.ErrNoChat) {
		t.Errorf("removed by another: %v", err)
	}
	c, err := w.store.Chats().Get(w.ctx, joined)
	if err != nil || c.Tenant != "t1" {
		t.Errorf("the chat belongs to %q, %v", c.Tenant, err)
	}
}

// twoApps has a further app that is owned by "ou_b".
func twoApps(t *testing.T) *memoryRig {
	w := testWorld(t, func(c *Config) {
		c.Version = "v9.9.9"
		c.Access.Apps = map[string]access.Config{secondApp: {Owner: secondApp + ":ou_b", Allow: []string{"*"}}}
		c.Apps = []access.App{{Channel: secondApp}}
	})
	w.open()
	return w
}

// ordered gives a command in a private chat of an app, whose people and messages are called what begins with the channel.
func (w *memoryRig) ordered(channel, room, who, id, text string) string {
	w.Helper()
	at := place{chat.Key{Channel: channel, Kind: "chat", ID: room}, chat.Private, chat.ID(channel, who)}
	w.must(w.bridge.HandleMessage(w.ctx, chat.Incoming{Key: at.key, Kind: at.kind, ID: chat.ID(channel, id), Text: text,
		Time: time.Now(), ToBot: true, Actor: chat.Actor{ID: at.who, Name: "N" + at.who}}))
	return w.delivered(at)
}

// Admins are told where the bot may not write in their app only, and what waits to be sent only those of the machine.
func TestStatusIsOfOneApp(t *testing.T) {
	t.Parallel()
	w := twoApps(t)
	for _, channel := range []string{"feishu", secondApp} {
		w.ordered(channel, "oc_muted", "ou_muted", "om_1", "/whoami")
		key := chat.Key{Channel: channel, Kind: "chat", ID: "oc_muted"}
		w.must(w.store.Outbox().Enqueue(w.ctx, db.Post{Key: key, Idem: "unsent " + channel, Text: "unsent"}))
		p, err := w.store.Outbox().Next(w.ctx, key)
		w.must(err)
		w.must(w.store.Outbox().Delay(w.ctx, p, time.Now(), db.Failure{Obstacle: chat.NoPermission, Why: "x"}, false))
		w.must(w.store.Chats().Silence(w.ctx, key, "muted"))
	}
	w.expect(w.ordered("feishu", "oc_a", "ou_boss", "om_2", "/status"), "Nou_muted", "!N"+secondApp, "等待发出的消息**：2")
	w.expect(w.ordered(secondApp, "oc_b", "ou_b", "om_2", "/status"), "N"+secondApp+":ou_muted", "!Nou_muted", "!等待发出的消息",
		"v9.9.9")
}

// An admin of a further app is not sent to /login, which is not for him.
func TestWhoMendsAFailureInAnApp(t *testing.T) {
	t.Parallel()
	w := twoApps(t)
	for channel, owner := range map[string]string{"feishu": "ou_boss", secondApp: "ou_b"} {
		var c db.Claim
		c.Turn.Key, c.Chat.Kind = chat.Key{Channel: channel, Kind: "chat", ID: "oc_a"}, chat.Private
		c.Asked = []chat.Message{{Actor: chat.Actor{ID: chat.ID(channel, owner)}}}
		end := w.runner().mendedBy(w.ctx, c, turncard.OutcomeOf(claude.FailAuth))
		first := channel == "feishu"
		if said := end.Notice.EN; end.LogIn != first || strings.Contains(said, "og in") != first ||
			strings.Contains(said, i18n.TellOperator.EN) == first {
			t.Errorf("the owner at %s is told %q, with a button: %v", channel, said, end.LogIn)
		}
	}
}

// Two apps may have triggers of one name: that it is taken in one does not tell the people of another.
func TestTriggersOfAppsAreApart(t *testing.T) {
	t.Parallel()
	w := twoApps(t)
	const order = "/trigger deploy 看日志"
	w.expect(w.ordered("feishu", "oc_a", "ou_boss", "om_1", order), "deploy", "token new")
	w.expect(w.ordered(secondApp, "oc_b", "ou_b", "om_1", order), "deploy", "token new")
	w.expect(w.ordered(secondApp, "oc_b", "ou_b", "om_2", order), "deploy", "!token new")
}
