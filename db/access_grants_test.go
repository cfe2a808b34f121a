package db_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
)

func stranger(message string) db.Grant {
	return db.Grant{Subject: "ou_9", Name: "小红", Key: chat.FeishuChat("oc_9"), Message: message}
}

func allowed(t *testing.T, d *db.DB, user, chatID string) bool {
	t.Helper()
	key, err := chat.ParseRoom(chatID)
	if err != nil {
		t.Fatal(err)
	}
	yes, err := d.Access().Allow(t.Context(), user, key)
	if err != nil {
		t.Fatal(err)
	}
	return yes
}

func asks(t *testing.T, d *db.DB, message string) bool {
	t.Helper()
	fresh, err := d.Access().RequestAccess(t.Context(), stranger(message),
		db.Post{Key: chat.PersonKey("ou_boss"), Grant: "ou_9", Idem: message, Card: &chat.Card{}})
	if err != nil {
		t.Fatal(err)
	}
	forget(t, d, chat.PersonKey("ou_boss"))
	return fresh
}

// forget drops what is to be delivered in a chat, and returns the idempotency keys.
func forget(t *testing.T, d *db.DB, key chat.Key) (idems []string) {
	t.Helper()
	for {
		p, err := d.Outbox().Next(t.Context(), key)
		if errors.Is(err, db.ErrNotFound) {
			return idems
		}
		if err != nil || len(idems) > 100 || d.Outbox().MarkDelivered(t.Context(), p, "") != nil {
			t.Fatalf("%+v, %v", p, err)
		}
		idems = append(idems, strings.TrimPrefix(p.Idem, key.String()+" "))
	}
}

// A stranger is answered once a day, even if there is no owner to ask or no card reaches the owner.
func TestAStrangerIsAnsweredOnceADay(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cards bool
		asked int // requests within a day and a bit, at a message every 15 minutes
	}{"nobody to ask": {false, 2}, "no card arrives": {true, 101}} {
		d, now := fresh(t), time.UnixMilli(1_000_000_000)
		room := chat.FeishuChat("oc_9")
		asked := 0
		var told []string
		for n := range 101 {
			d.At(t, now.Add(time.Duration(n)*15*time.Minute))
			tell := []db.Post{{Key: room, Idem: fmt.Sprint("stranger:", n), Text: "not yet"}}
			if tc.cards {
				tell = append(tell, db.Post{Key: chat.PersonKey("ou_boss"), Grant: "ou_9", Idem: fmt.Sprint("request:", n),
					Card: &chat.Card{}})
			}
			yes, err := d.Access().RequestAccess(t.Context(), stranger("om_1"), tell...)
			if err != nil {
				t.Fatal(err)
			}
			if yes {
				asked++
			}
			forget(t, d, chat.PersonKey("ou_boss"))
			told = append(told, forget(t, d, room)...)
		}
		want := []string{"stranger:0", "stranger:96"}
		if tc.cards {
			want = want[:1] // the last request is never a day old
		}
		if !slices.Equal(told, want) || asked != tc.asked {
			t.Errorf("%s: answered %v, asked %d times", name, told, asked)
		}
	}
}

// At most one request is open, and there is at most one a day.
func TestAStrangerAsksOnceADay(t *testing.T) {
	t.Parallel()
	d, now := fresh(t), time.UnixMilli(1_000_000_000)
	d.At(t, now)
	if !asks(t, d, "om_1") || asks(t, d, "om_2") {
		t.Fatal("not asked once")
	}
	d.At(t, now.Add(11*time.Minute))
	if !asks(t, d, "om_3") {
		t.Error("a request without a card is not repeated")
	}
	if err := d.Outbox().SetCard(t.Context(), db.Post{Grant: "ou_9"}, "card-1"); err != nil {
		t.Fatal(err)
	}
	d.At(t, now.Add(48*time.Hour))
	if asks(t, d, "om_4") {
		t.Error("a second request is open")
	}
	if allowed(t, d, "ou_9", "oc_9") {
		t.Error("a stranger has access before the decision")
	}
	if err := d.Access().DecideGrant(t.Context(), "ou_9", false, "ou_boss"); err != nil {
		t.Fatal(err)
	}
	got, err := d.Access().Grant(t.Context(), "ou_9")
	if err != nil || got.Allowed || got.Decided.IsZero() || got.By != "ou_boss" || got.Message != "om_3" || got.Card != "card-1" ||
		got.Key.ID != "oc_9" || got.Name != "小红" {
		t.Fatalf("%+v, %v", got, err)
	}
	if err := d.Access().DecideGrant(t.Context(), "ou_9", true, "ou_boss"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("decided twice: %v", err)
	}
	if !asks(t, d, "om_5") { // more than a day after the last request
		t.Error("there is no further request after a day")
	}
	if err := d.Access().DecideGrant(t.Context(), "ou_9", false, "ou_boss"); err != nil {
		t.Fatal(err)
	}
	d.At(t, now.Add(71*time.Hour))
	if asks(t, d, "om_6") {
		t.Error("asked twice in a day")
	}
}

func TestGrantsComeAndGo(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	if allowed(t, d, "ou_9", "oc_9") || allowed(t, d, "", "oc_9") {
		t.Fatal("everybody has access")
	}
	if err := d.Access().DecideGrant(t.Context(), "ou_9", true, "ou_boss"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("nobody has asked: %v", err)
	}
	asks(t, d, "om_1")
	if err := d.Access().DecideGrant(t.Context(), "ou_9", true, "ou_boss"); err != nil {
		t.Fatal(err)
	}
	if !allowed(t, d, "ou_9", "oc_1") || allowed(t, d, "ou_8", "oc_9") || asks(t, d, "om_2") {
		t.Error("access is not that of exactly this user in all chats")
	}
	order := func(id string, change db.Effect) db.Inbound {
		e := say(id, "/admin")
		e.Class, e.Effects = chat.Command, []db.Effect{change}
		return e
	}
	accept(t, d, order("om_3", db.SetAccess{Subject: "oc_7", Allowed: true, Name: "产品群", By: "ou_boss"}))
	accept(t, d, order("om_4", db.SetAccess{Subject: "ou_9"}))
	accept(t, d, order("om_3", db.SetAccess{Subject: "ou_9", Allowed: true, By: "ou_boss"})) // the message is known
	if allowed(t, d, "ou_9", "oc_1") || !allowed(t, d, "ou_8", "oc_7") {
		t.Error("the effects of messages are lost, or applied twice")
	}
	list, err := d.Access().Grants(t.Context())
	if err != nil || len(list) != 1 || list[0].Subject != "oc_7" || list[0].Name != "产品群" || list[0].By != "ou_boss" ||
		!list[0].Allowed {
		t.Errorf("%+v, %v", list, err)
	}
}

// A request that waits to be delivered is not repeated. With the request and its decision, everything that was to be
// delivered about it is dropped.
func TestPostsOfARequestAreDropped(t *testing.T) {
	t.Parallel()
	d, now := fresh(t), time.UnixMilli(1_000_000_000)
	d.At(t, now)
	boss := chat.PersonKey("ou_boss")
	card := func(text string) db.Post {
		return db.Post{Key: boss, Grant: "ou_9", Idem: text, Card: &chat.Card{Body: text}}
	}
	// in an unknown chat
	words := db.Post{Key: chat.FeishuChat("oc_9"), Idem: "welcome", Text: "welcome"}
	for i, at := range []time.Duration{0, 11 * time.Minute, 48 * time.Hour} {
		d.At(t, now.Add(at))
		if fresh, err := d.Access().RequestAccess(t.Context(), stranger("om_1"), card("request"), words); err != nil ||
			fresh != (i == 0) {
			t.Fatalf("after %v: %v, %v", at, fresh, err)
		}
	}
	p, err := d.Outbox().Next(t.Context(), boss)
	if err != nil || p.Grant != "ou_9" || p.CardID != "" || p.Card.Body != "request" {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := d.Outbox().SetCard(t.Context(), db.Post{Grant: "ou_9"}, "card-1"); err != nil {
		t.Fatal(err)
	}
	if err := d.Access().DecideGrant(t.Context(), "ou_9", true, "ou_boss", card("decided")); err != nil {
		t.Fatal(err)
	}
	if err := d.Access().DecideGrant(t.Context(), "ou_9", false, "ou_boss", card("late")); !errors.Is(err,
		db.ErrNotFound) {
		t.Fatal(err)
	}
	var got []string
	for range 2 {
		p, err := d.Outbox().Next(t.Context(), boss)
		if err != nil || p.CardID != "card-1" || d.Outbox().MarkDelivered(t.Context(), p, "") != nil {
			t.Fatalf("%+v, %v", p, err)
		}
		got = append(got, p.Card.Body)
	}
	if _, err := d.Outbox().Next(t.Context(), boss); !errors.Is(err, db.ErrNotFound) || got[0] != "request" ||
		got[1] != "decided" {
		t.Errorf("delivered %q, %v", got, err)
	}
	if p, err = d.Outbox().Next(t.Context(), words.Key); err != nil ||
		d.Outbox().MarkDelivered(t.Context(), p, "om_2") != nil {
		t.Errorf("%+v, %v", p, err)
	}
}

// A private chat belongs to the author of its last question.
func TestThePrivateChatOfAUser(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	for i, kind := range []chat.Kind{chat.Group, chat.Private} {
		e := say("om_1", "hello")
		e.Key, e.Kind, e.Actor.ID = chat.FeishuChat([]string{"oc_group", "oc_private"}[i]), kind, "ou_9"
		accept(t, d, e)
	}
	if key, err := d.Chats().PrivateChat(t.Context(), "ou_9"); err != nil || key.ID != "oc_private" {
		t.Errorf("%v, %v", key, err)
	}
	if key, err := d.Chats().PrivateChat(t.Context(), "ou_8"); !errors.Is(err, db.ErrNotFound) {
		t.Errorf("%v, %v", key, err)
	}
	// What came through other doors makes it nobody else's.
	for i, who := range []string{"cli:1000", "http:1"} {
		e := say(fmt.Sprintf("cli:t.%d", i), "hello")
		e.Key, e.Kind, e.Actor.ID = chat.FeishuChat("oc_private"), chat.Private, who
		accept(t, d, e)
	}
	for user, want := range map[string]string{"ou_9": "oc_private", "cli:1000": "", "http:1": ""} {
		if key, err := d.Chats().PrivateChat(t.Context(), user); key.ID != want || (want == "") != errors.Is(err, db.ErrNotFound) {
			t.Errorf("of %s: %v, %v", user, key, err)
		}
	}
}
