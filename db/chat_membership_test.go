package db_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

func change(did chat.ChangeKind, at int64) chat.Change {
	return chat.Change{Key: oc, Kind: chat.Group, Did: did, Title: "team", Time: time.UnixMilli(at)}
}

// Changes of the bot's membership count once and in the order of their timestamps, whenever they are reported.
func TestMembershipOfTheBot(t *testing.T) {
	d := fresh(t)
	topic := oc
	topic.Thread = "omt_1"
	join := func(at int64) bool {
		t.Helper()
		news, err := d.Chats().Join(t.Context(), change(chat.Added, at),
			&db.Post{Key: oc, Idem: fmt.Sprint("greeting", at), Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		return news
	}
	out := func(at int64) (bool, map[chat.Key][]int64) {
		t.Helper()
		running, fresh, err := d.Chats().Leave(t.Context(), change(chat.Removed, at))
		if err != nil {
			t.Fatal(err)
		}
		return fresh, running
	}
	if !join(1000) || join(1000) {
		t.Error("added once")
	}
	if p := nextPost(t, d); p.Text != "hello" || p.ReplyTo != "" {
		t.Errorf("greeting %+v", p)
	}
	accept(t, d, say("om_1", "begun"))
	c := claim(t, d, "s-1")
	leave(t, d, c, db.FileDelivery{Name: "a", Copy: "c-1"}, "file:1")
	accept(t, d, say("om_2", "waits"))
	inTopic := say("om_3", "waits in a topic")
	inTopic.Key = topic
	accept(t, d, inTopic)
	elsewhere := say("om_4", "elsewhere")
	elsewhere.Key = chat.FeishuChat(oc.ID + "2")
	accept(t, d, elsewhere)
	if fresh, _ := out(500); fresh {
		t.Error("an older removal was applied")
	}
	gone, running := out(2000)
	if !gone || !reflect.DeepEqual(running, map[chat.Key][]int64{oc: {c.Turn.ID}}) {
		t.Errorf("out: %v, running %v", gone, running)
	}
	if again, _ := out(2000); again {
		t.Error("removed twice")
	}
	if keys, err := d.Turns().Queued(t.Context()); err != nil || !slices.Equal(keys, []chat.Key{elsewhere.Key}) {
		t.Errorf("still queued: %v, %v", keys, err)
	}
	if p, err := d.Outbox().Next(t.Context(), oc); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("still to be shown: %+v, %v", p, err)
	}
	if names, err := d.Outbox().Copies(t.Context()); err != nil || len(names) != 0 {
		t.Errorf("copies %v, %v", names, err)
	}
	active := func() (keys []chat.Key) {
		t.Helper()
		list, err := d.Chats().Active(t.Context(), "", time.Time{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			keys = append(keys, a.Key)
		}
		return keys
	}
	if got := active(); !slices.Equal(got, []chat.Key{elsewhere.Key}) {
		t.Errorf("active %v", got)
	}
	if join(1500) {
		t.Error("an addition from before the removal was applied")
	}
	if !join(3000) || len(active()) != 3 {
		t.Errorf("added again: active %v", active())
	}
}

// The bot greets a private chat once, and only before the first message there.
func TestAPrivateChatIsGreetedOnce(t *testing.T) {
	d := fresh(t)
	open := func() bool {
		t.Helper()
		c := change(chat.Opened, 1000)
		c.Kind = chat.Private
		news, err := d.Chats().Join(t.Context(), c, &db.Post{Key: oc, Idem: "greeting", Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		return news
	}
	if !open() || open() {
		t.Error("greeted once")
	}
	other := fresh(t)
	accept(t, other, say("om_1", "hi"))
	greeted, err := other.Chats().Join(t.Context(), change(chat.Opened, 1000), &db.Post{Key: oc, Idem: "greeting", Text: "hello"})
	if err != nil || greeted {
		t.Errorf("greeted during a conversation: %v", err)
	}
}

func TestQuestionsOfOtherBotsAreCounted(t *testing.T) {
	d := fresh(t)
	for i, tt := range []struct {
		bot   bool
		class chat.Class
		want  int
	}{{true, chat.Talk, 1}, {true, chat.Overheard, 1}, {true, chat.Talk, 2}, {false, chat.Overheard, 0},
		{true, chat.Talk, 1}, {false, chat.Talk, 0}, {false, chat.Talk, 0}} {
		e := say(string(rune('a'+i)), "words")
		e.Actor.Bot, e.Class = tt.bot, tt.class
		accept(t, d, e)
		accept(t, d, e) // delivered again
		if got := chatOf(t, d).BotTurns; got != tt.want {
			t.Errorf("%d: %d questions of bots, want %d", i, got, tt.want)
		}
	}
}

// A topic starts with the settings of its chat and changes them independently.
func TestATopicInheritsSettings(t *testing.T) {
	d := fresh(t)
	accept(t, d, say("om_1", "hi"))
	if err := d.Chats().Set(t.Context(), oc, func(s *db.Settings) { s.Model, s.Mention = "opus", "all" }); err != nil {
		t.Fatal(err)
	}
	e := say("om_2", "in a topic")
	e.Key.Thread = "omt_1"
	accept(t, d, e)
	if err := d.Chats().Set(t.Context(), oc, func(s *db.Settings) { s.Model = "haiku" }); err != nil {
		t.Fatal(err)
	}
	e.ID = "om_3"
	accept(t, d, e)
	if c, err := d.Chats().Get(t.Context(), e.Key); err != nil || c.Settings.Model != "opus" ||
		c.Settings.Mention != "all" {
		t.Errorf("%+v, %v", c.Settings, err)
	}
}

// Bots that edit their messages could also continue forever.
func TestEditedQuestionsOfOtherBotsAreCounted(t *testing.T) {
	d := fresh(t)
	for i := range 3 {
		e := say(fmt.Sprint("om_", i), "hm")
		e.Kind, e.Class, e.Actor.Bot = chat.Group, chat.Overheard, true
		accept(t, d, e)
		e.Class, e.Text = chat.Talk, "and now?"
		e.Held = &chat.Card{Body: "again?"}
		if a, err := d.Messages().Edit(t.Context(), e); err != nil || a.Turn == 0 {
			t.Fatalf("%+v %v", a, err)
		}
		finish(t, d, db.TurnResult{Turn: claim(t, d, fmt.Sprint("s-", i)).Turn})
		if got := chatOf(t, d).BotTurns; got != i+1 {
			t.Errorf("%d questions of bots, want %d", got, i+1)
		}
	}
}

// A greeting may go to whoever has added the bot, and not to the chat.
func TestTheGreetingOfAChatGoesElsewhere(t *testing.T) {
	d := fresh(t)
	greeting := db.Post{Key: chat.PersonKey("ou_1"), Idem: "greeting", Text: "hello"}
	if _, err := d.Chats().Join(t.Context(), chat.Change{Key: oc, Kind: chat.Group, Did: chat.Added, Time: time.UnixMilli(1000)},
		&greeting); err != nil {
		t.Fatal(err)
	}
	if p, err := d.Outbox().Next(t.Context(), greeting.Key); err != nil || p.Text != "hello" {
		t.Errorf("%+v, %v", p, err)
	}
}
