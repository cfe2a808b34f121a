package bridge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

// Which messages are for the bot, by every rule.
func TestWhatIsForTheBot(t *testing.T) {
	t.Parallel()
	type said struct {
		name       string
		text       string
		mentioned  bool
		others     bool
		bot        bool
		byMention  bool
		byAll      bool
		byCommands bool
	}
	l, groups := newRig(t), 0
	for _, s := range []said{
		{"a question", "hello", true, false, false, true, true, true},
		{"talk", "hello", false, false, false, false, true, false},
		{"talk to somebody else, or to everybody", "@Bob hello", false, true, false, false, false, false},
		{"a command", "/status", false, false, false, false, true, true},
		{"a Chinese command", "／状态", false, false, false, false, true, true},
		{"a command to somebody else", "/status", false, true, false, false, false, false},
		{"a mention with a command", "/status", true, false, false, true, true, true},
		{"no command", "/nosuch", false, false, false, false, true, false},
		{"a path", "/etc/hosts", false, false, false, false, true, false},
		{"another bot", "hello", false, false, true, false, false, false},
		{"another bot's command", "/status", false, false, true, false, false, false},
		{"another bot that means this one", "hello", true, false, true, true, true, true},
	} {
		for rule, want := range map[chat.MentionRule]bool{
			"": s.byMention, chat.MentionOnly: s.byMention, chat.MentionNone: s.byAll, chat.MentionCommands: s.byCommands,
			"nonsense": s.byMention,
		} {
			for _, own := range []bool{false, true} {
				groups++
				in := chat.Incoming{
					Key: chat.FeishuChat(fmt.Sprint("oc_", groups)), Kind: chat.Group, ID: "om_1", Text: s.text, ToBot: s.mentioned,
					ToOthers: s.others,
					Time:     time.Now(), Actor: chat.Actor{ID: "ou_1", Bot: s.bot},
				}
				cfg := Config{Mention: rule}
				rc := receiver{cfg: &cfg, db: l.store.DB, log: l.bridge.log}
				if own { // of the group itself, over the configured one
					cfg.Mention = chat.MentionCommands
					before := incoming("om_0", "hi")
					before.Key = in.Key
					_, err := l.store.Messages().Accept(t.Context(), db.Inbound{Incoming: before, Class: chat.Command})
					l.must(err)
					l.must(l.store.Chats().Set(t.Context(), in.Key, func(set *db.Settings) { set.Mention = string(rule) }))
					if !rule.IsValid() {
						want = s.byCommands
					}
				}
				if got := rc.toBot(t.Context(), in); got != want {
					t.Errorf("%s, rule %q, own %v: for the bot %v", s.name, rule, own, got)
				}
			}
		}
	}
}

func TestMentionSetsTheRuleOfAGroup(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	group := place{key: chat.FeishuChat("oc_g"), kind: chat.Group, who: "ou_1"}
	for _, tt := range []struct{ order, reply string }{
		{"/mention", "只回答 @我 的消息"}, {"/mention 全部", "回答所有消息"}, {"/mention", "回答所有消息"},
		{"/mention nonsense", "用法"}, {"/提及 commands", "以 / 开头"}, {"/mention mention", "只回答 @我"},
	} {
		if got := w.order(group, tt.order); !strings.Contains(got, tt.reply) {
			t.Errorf("%s: %q", tt.order, got)
		}
	}
	if got := w.order(place{key: room, kind: chat.Private, who: "ou_1"}, "/mention all"); !strings.Contains(got, "私聊") {
		t.Errorf("in a private chat: %q", got)
	}
	if got, want := w.offered(group, "/mention"), []string{
		"@我才回答: /mention mention", "回答所有消息: /mention all", "命令不用 @: /mention commands",
	}; !slices.Equal(got, want) {
		t.Errorf("the buttons of /mention are %q, want %q", got, want)
	}
	w.receive(group, "/mention all", true)
	w.delivered(group)
	w.receive(group, "a question that mentions nobody", false)
	if c, err := w.store.Turns().Of(w.ctx, group.key); err != nil || len(c.In(convo.Queued)) == 0 {
		t.Errorf("not asked: %v", err)
	}
	topic := group // begins with the rule of its group
	topic.key.Thread = "omt_1"
	w.receive(topic, "overheard, since nothing was known of the topic", false)
	w.receive(topic, "asked", false)
	if c, err := w.store.Turns().Of(w.ctx, topic.key); err != nil || len(c.In(convo.Queued)) == 0 {
		t.Errorf("not asked in the topic: %v", err)
	}
}

// Two bots that answer each other stop after a while, until a person writes.
func TestBotsDoNotTalkForEver(t *testing.T) {
	t.Parallel()
	w := testWorld(t)
	key := chat.FeishuChat("oc_g")
	receive := func(id string, bot, mentions bool) {
		t.Helper()
		w.must(w.bridge.HandleMessage(w.ctx, chat.Incoming{
			Key: key, Kind: chat.Group, ID: id, Text: "and you?", ToBot: mentions, Time: time.Now(),
			Actor: chat.Actor{ID: "ou_bot", Bot: bot},
		}))
	}
	asked := func() (n int) {
		t.Helper()
		for m, err := range w.store.Messages().Range(w.ctx, key, 0, 0, 1<<40) {
			w.must(err)
			if m.Role == chat.User {
				n++
			}
		}
		return n
	}
	for i := range 2 * maxBotTurns {
		receive(fmt.Sprint("bot ", i), true, true)
		receive(fmt.Sprint("bot ", i), true, true) // told again
	}
	if n := asked(); n != maxBotTurns {
		t.Errorf("%d questions of the other bot", n)
	}
	receive("chatter", false, false)
	receive("one more", true, true)
	if n := asked(); n != maxBotTurns+1 {
		t.Errorf("%d questions after a person spoke", n)
	}
}
