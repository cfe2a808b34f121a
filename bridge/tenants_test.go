package bridge

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"magpie/bridge/access"
	"magpie/internal/chat"
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

// Two apps may have triggers of one name: that it is taken in one does not tell the people of another.
func TestTriggersOfAppsAreApart(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) {
		c.Access.Apps = map[string]access.Config{secondApp: {Owner: secondApp + ":ou_b"}}
		c.Apps = []access.App{{Channel: secondApp}}
	})
	w.open()
	first := place{chat.FeishuChat("oc_a"), chat.Private, "ou_boss"}
	made := func(key chat.Key, who, id string) string {
		t.Helper()
		w.must(w.bridge.HandleMessage(w.ctx, chat.Incoming{Key: key, Kind: chat.Private, ID: id, Text: "/trigger deploy 看日志", Time: time.Now(),
			ToBot: true, Actor: chat.Actor{ID: who}}))
		return w.delivered(place{key, chat.Private, who})
	}
	other := chat.Key{Channel: secondApp, Kind: "chat", ID: "oc_b"}
	w.expect(made(first.key, first.who, "om_1"), "deploy", "token new")
	w.expect(made(other, secondApp+":ou_b", secondApp+":om_1"), "deploy", "token new")
	w.expect(made(other, secondApp+":ou_b", secondApp+":om_2"), "deploy", "!token new")
}
