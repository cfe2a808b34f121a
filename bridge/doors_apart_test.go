package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/door"
)

// somebody is a person, or with a kind a room, as people know it: what a door calls it. The test knows by itself how
// rules write that.
type somebody struct{ door, kind, own string }

func (s somebody) id() string {
	switch {
	case s.door == "feishu":
		return s.own
	case s.kind == "":
		return s.door + ":" + s.own
	}
	return s.door + ":" + s.kind + ":" + s.own
}

func (s somebody) key() chat.Key { return chat.Key{Channel: s.door, Kind: s.kind, ID: s.own} }

// Feishu chooses its own ids, and may choose the same in two tenants. The clients of the other doors choose anything.
var (
	confusable  = []string{"ou_boss", "oc_team", "od_1", "1000", "main", "feishu", "cli", "老板", "OU_boss", strings.Repeat("o", 200)}
	peopleThere = []string{"ou_boss", "ou_team", "ou_1000"}
	roomsThere  = []string{"oc_team", "oc_main"}
)

func drawDoor(t *rapid.T) string {
	return rapid.SampledFrom([]string{"cli", "http"}).Draw(t, "another door")
}

// secondApp is a further app of Feishu, of another tenant, with rules of its own.
const secondApp = "feishu-sales"

func drawApp(t *rapid.T) string {
	return rapid.SampledFrom([]string{"feishu", secondApp}).Draw(t, "app")
}

func drawPerson(t *rapid.T) somebody {
	if rapid.Bool().Draw(t, "person of Feishu") {
		return somebody{drawApp(t), "", rapid.SampledFrom(peopleThere).Draw(t, "person")}
	}
	return somebody{drawDoor(t), "", rapid.SampledFrom(confusable).Draw(t, "person")}
}

func drawRoom(t *rapid.T) somebody {
	if rapid.Bool().Draw(t, "room of Feishu") {
		return somebody{drawApp(t), "chat", rapid.SampledFrom(roomsThere).Draw(t, "room")}
	}
	kind := rapid.SampledFrom([]string{"chat", "room", "user"}).Draw(t, "kind")
	return somebody{drawDoor(t), kind, rapid.SampledFrom(confusable).Draw(t, "room")}
}

// sameDepartment knows everybody of Feishu as a member of a department, of the same id in each app.
type sameDepartment struct{}

func (sameDepartment) Departments(_ context.Context, user string) ([]string, error) {
	return []string{chat.ID(chat.ChannelOf(user), "od_1")}, nil
}

// ruleSet is what a test knows of rules.
type ruleSet struct {
	access.Config
	owner                                  somebody
	admins, friends, enemies, open, closed []somebody
	department                             bool
}

// However the clients of one door call rooms and people, nothing of it gives access, admin, budget, language or History
// of what another door calls so.
func TestNothingOfADoorIsOfAnother(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) {
		c.Departments, c.DoorName = sameDepartment{}, door.Doors(nil).Name
		c.Apps = []access.App{{Channel: secondApp}}
	})
	w.open()
	said, paid := 0, map[somebody]int64{}
	granted := []somebody{{"feishu", "", "ou_team"}, {"feishu", "chat", "oc_main"}, {"cli", "", "od_1"}, {"cli", "chat", "feishu"},
		{secondApp, "", "ou_1000"}, {secondApp, "chat", "oc_team"},
		{"http", "", "1000"}, {"http", "room", "main"}}
	for i, g := range granted {
		_, err := w.store.Messages().Accept(w.ctx, db.Inbound{
			Incoming: chat.Incoming{Key: chat.FeishuChat("oc_boss"), Kind: chat.Group, ID: fmt.Sprint("om_grant", i), Time: time.Now(),
				Actor: chat.Actor{ID: "ou_x"}},
			Class: chat.Command, Effects: []db.Effect{db.SetAccess{Subject: g.id(), Allowed: true, By: "ou_x"}},
		})
		w.must(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		people := rapid.SliceOfN(rapid.Custom(drawPerson), 0, 3)
		rooms := rapid.SliceOfN(rapid.Custom(drawRoom), 0, 2)
		ids := func(list []somebody) (out []string) {
			for _, s := range list {
				out = append(out, s.id())
			}
			return out
		}
		ownIDs := people.Draw(t, "ids of the owner")
		draw := func(app string) (r ruleSet) {
			r.owner = drawPerson(t)
			r.admins, r.friends, r.enemies = people.Draw(t, "admins"), people.Draw(t, "allowed"), people.Draw(t, "denied")
			r.open, r.closed = rooms.Draw(t, "allowed rooms"), rooms.Draw(t, "denied rooms")
			r.Config = access.Config{
				Owner: r.owner.id(), Admins: ids(r.admins),
				Allow: slices.Concat(ids(r.friends), ids(r.open)), Deny: slices.Concat(ids(r.enemies), ids(r.closed)),
			}
			if r.department = rapid.Bool().Draw(t, "department"); r.department {
				r.Allow = append(r.Allow, chat.ID(app, "od_1"))
			}
			return r
		}
		first, second := draw("feishu"), draw(secondApp)
		first.OwnerIDs, first.Apps = append([]string{}, ids(ownIDs)...), map[string]access.Config{secondApp: second.Config}
		w.bridge.SetAccess(first.Config)

		who, at, from := drawPerson(t), drawRoom(t), rapid.SampledFrom([]string{"feishu", secondApp, "cli", "http"}).Draw(t, "door")
		rules, app := first, "feishu"
		if at.door == secondApp {
			rules, app = second, secondApp
		}
		platform := from == "feishu" || from == secondApp
		said++
		message := map[string]string{"feishu": "om_", secondApp: secondApp + ":om_", "cli": "cli:", "http": "http:"}[from] + fmt.Sprint(said)
		m := chat.Incoming{Key: at.key(), Kind: chat.Private, ID: message, Text: "hello", Time: time.Now(), ToBot: true}
		m.Actor = chat.Actor{ID: who.id(), Name: "x"}
		forged := who.door != from
		if from != "feishu" && rapid.IntRange(0, 3).Draw(t, "forge") == 0 {
			forged = true
			m.Actor.ID = rapid.SampledFrom([]string{"", "feishu:", "cli:chat:", "CLI:", "HTTP:", "feishu-other:", secondApp + ":chat:"}).Draw(t, "prefix") + who.own
			// What is bare in every way in a room of Feishu is an event of Feishu.
			if at.door != "feishu" && rapid.Bool().Draw(t, "a bare message") {
				m.ID = "om_" + fmt.Sprint(said)
			}
		}
		known := false
		if at.door != from {
			_, err := w.store.Chats().Get(w.ctx, at.key())
			known = err == nil
		}
		owns := who == rules.owner || slices.Contains(ownIDs, who)
		admin := (owns || slices.Contains(rules.admins, who)) && !slices.Contains(rules.enemies, who)
		admitted := !forged && !slices.Contains(rules.enemies, who) && !slices.Contains(rules.closed, at)
		if at.door == from {
			admitted = admitted && (owns || admin || slices.Contains(rules.friends, who) || slices.Contains(rules.open, at) ||
				rules.department && who.door == app || slices.Contains(granted, who) || slices.Contains(granted, at))
		} else { // through the door of the owner to a chat of another
			admitted = admitted && owns && known && !platform
		}

		err := w.bridge.HandleMessage(w.ctx, m)
		if forged != errors.Is(err, chat.ErrOtherDoor) && (at.door == from || !platform) {
			t.Fatalf("%q of %+v: %v", m.Actor.ID, m, err)
		}
		if got, err := w.store.Messages().Known(w.ctx, at.key(), m.ID); err != nil || got != admitted {
			t.Fatalf("%q with %q in %v by %+v: taken %v, want %v; %v", m.Actor.ID, m.ID, m.Key, rules.Config, got, admitted, err)
		}
		if got := w.bridge.access.At(at.key()).IsAdmin(chat.Actor{ID: who.id()}); got != admin {
			t.Fatalf("%q is an admin by %+v: %v", who.id(), rules.Config, got)
		}
		if admitted {
			e := db.Expense{Key: at.key(), User: who.id(), Purpose: db.ForTitle, Usage: db.Usage{Input: 1, CostUSD: 1}}
			w.must(w.store.Access().Book(w.ctx, e))
			paid[who]++
		}
		if got, err := w.store.Access().Spent(w.ctx, who.id(), chat.Key{}, time.Time{}); err != nil || got.Tokens != paid[who] {
			t.Fatalf("%q has paid %+v, %v, want %d", who.id(), got, err, paid[who])
		}

		// What admins of an app are told of costs is that of its own people and chats.
		for _, by := range []string{"user", "chat"} {
			list, err := w.store.Access().Spenders(w.ctx, by, w.bridge.access.Part(at.key()), time.Time{}, 1000)
			w.must(err)
			for _, one := range list {
				of := chat.ChannelOf(one.ID) // the owner may ask at a terminal in chats of all doors
				if (of == "feishu" || of == secondApp) && !access.Shares(at.key(), one.ID) {
					t.Fatalf("in %v it is told that %q has spent %+v", at.key(), one.ID, one.Spending)
				}
			}
		}

		// What was imported may name anybody anywhere.
		_, err = w.store.Messages().Accept(w.ctx, db.Inbound{Incoming: chat.Incoming{
			Key: drawRoom(t).key(), Kind: chat.Private, ID: fmt.Sprint("import", said), Actor: m.Actor, Time: time.Now(),
		}, Class: chat.Talk})
		w.must(err)
		key, err := w.store.Chats().PrivateChat(w.ctx, who.id())
		if err == nil && key.Channel != who.door || err != nil && !errors.Is(err, db.ErrNotFound) {
			t.Fatalf("the private chat with %q is %v, %v", who.id(), key, err)
		}
		if reached := w.bridge.languages.PrivateChat(w.ctx, who.id()); reached.Channel != who.door {
			t.Fatalf("%q is reached in %v", who.id(), reached)
		}
		list, err := w.bridge.ActiveChats(w.ctx, who.door)
		w.must(err)
		for _, a := range list {
			if a.Key.Channel != who.door {
				t.Fatalf("%v is active at %s", a.Key, who.door)
			}
		}
	})
}

// The cases that every bare comparison would get wrong, whatever is drawn above.
func TestRulesAndGrantsAreOfOneDoor(t *testing.T) {
	t.Parallel()
	w := testWorld(t, func(c *Config) { c.DoorName, c.Apps = door.Doors(nil).Name, []access.App{{Channel: secondApp}} })
	w.open()
	for i, g := range []string{"oc_main", "ou_boss"} {
		_, err := w.store.Messages().Accept(w.ctx, db.Inbound{
			Incoming: chat.Incoming{Key: chat.FeishuChat("oc_admins"), Kind: chat.Group, ID: fmt.Sprint("om_g", i), Time: time.Now(),
				Actor: chat.Actor{ID: "ou_x"}},
			Class: chat.Command, Effects: []db.Effect{db.SetAccess{Subject: g, Allowed: true, By: "ou_x"}},
		})
		w.must(err)
	}
	for name, tc := range map[string]struct {
		rules access.Config
		door  string // default: cli
		room  string
		who   string
		taken bool
	}{
		"an owner of another app":         {rules: access.Config{Owner: "ou_ann"}, door: secondApp, room: "oc_1", who: secondApp + ":ou_ann"},
		"the other app lets in everybody": {rules: access.Config{Allow: []string{"*"}}, door: secondApp, room: "oc_1", who: secondApp + ":ou_ann"},
		"a room of another app":           {rules: access.Config{Allow: []string{"oc_team"}}, door: secondApp, room: "oc_team", who: secondApp + ":ou_ann"},
		"an app that is gone":             {rules: access.Config{Admins: []string{"feishu-gone:ou_ann"}}, door: "feishu-gone", room: "oc_1", who: "feishu-gone:ou_ann"},
		"rules of another app":            {rules: access.Config{Allow: []string{secondApp + ":ou_ann"}}, door: secondApp, room: "oc_1", who: secondApp + ":ou_ann"},
		"rules of its own": {rules: access.Config{Apps: map[string]access.Config{secondApp: {Allow: []string{secondApp + ":ou_ann"}}}},
			door: secondApp, room: "oc_1", who: secondApp + ":ou_ann", taken: true},
		"a granted room":      {room: "oc_main", who: "cli:1"},
		"a granted person":    {room: "x", who: "cli:ou_boss"},
		"an allowed room":     {rules: access.Config{Allow: []string{"oc_team"}}, room: "oc_team", who: "cli:1"},
		"an allowed person":   {rules: access.Config{Allow: []string{"ou_ann"}}, room: "x", who: "cli:ou_ann"},
		"an owner":            {rules: access.Config{Owner: "ou_ann"}, room: "x", who: "cli:ou_ann"},
		"a denied room":       {rules: access.Config{Allow: []string{"cli:1"}, Deny: []string{"oc_team"}}, room: "oc_team", who: "cli:1", taken: true},
		"a room of its own":   {rules: access.Config{Allow: []string{"cli:chat:oc_team"}}, room: "oc_team", who: "cli:1", taken: true},
		"a person of its own": {rules: access.Config{Allow: []string{"cli:1"}}, room: "x", who: "cli:1", taken: true},
	} {
		w.bridge.SetAccess(tc.rules)
		door := cmp.Or(tc.door, "cli")
		m := chat.Incoming{Key: chat.Key{Channel: door, Kind: "chat", ID: tc.room}, Kind: chat.Private, ID: door + ":t." + name,
			Text: "hello", Time: time.Now(), ToBot: true, Actor: chat.Actor{ID: tc.who}}
		if err := w.bridge.HandleMessage(w.ctx, m); errors.Is(err, chat.ErrDenied) == tc.taken {
			t.Errorf("%s: told %v", name, err)
		}
		if got, err := w.store.Messages().Known(w.ctx, m.Key, m.ID); err != nil || got != tc.taken {
			t.Errorf("%s: taken %v, want %v; %v", name, got, tc.taken, err)
		}
	}
}
