package db_test

import (
	"maps"
	"testing"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
)

func TestTheLedgerSumsUp(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	topic := oc
	topic.Thread = "omt_1"
	book := func(at time.Time, key chat.Key, user string, usd float64) {
		t.Helper()
		d.At(t, at)
		err := d.Access().Book(t.Context(), db.Expense{Key: key, User: user, Purpose: "summary",
			Usage: db.Usage{Model: "m", Input: 1, Output: 2, CacheRead: 3, CacheNew: 4, CostUSD: usd}})
		if err != nil {
			t.Fatal(err)
		}
	}
	book(noon.Add(-25*time.Hour), oc, "ou_1", 8)
	book(noon, oc, "ou_1", 0.5)
	book(noon.Add(time.Minute), topic, "ou_2", 0.25)
	book(noon.Add(time.Hour), chat.FeishuChat("oc_12"), "ou_1", 4) // the other chat's key is a prefix of this key
	book(noon.Add(time.Hour), oc, "", 0.125)
	since := noon.Add(-time.Hour)
	want := func(what string, got db.Spending, err error, times int, usd float64) {
		t.Helper()
		if err != nil || got != (db.Spending{Tokens: int64(times) * 10, USD: usd}) {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
	s, err := d.Access().Spent(t.Context(), "ou_1", chat.Key{}, since)
	want("a user", s, err, 2, 4.5)
	s, err = d.Access().Spent(t.Context(), "", oc, since)
	want("a chat", s, err, 3, 0.875)
	s, err = d.Access().Spent(t.Context(), "", topic, since)
	want("a topic counts as its chat", s, err, 3, 0.875)
	s, err = d.Access().Spent(t.Context(), "", chat.FeishuChat("oc_3"), since)
	want("another chat", s, err, 0, 0)

	list, err := d.Access().SpendingIntervals(t.Context(), oc, since)
	if err != nil || len(list) != 2 || !list[0].At.Equal(noon) ||
		list[0].Spending != (db.Spending{Tokens: 20, USD: 0.75}) || !list[1].At.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v, %v", list, err)
	}
	if list[0].Answers != 0 || list[0].Background != list[0].Spending {
		t.Errorf("requests outside of turns count as %d answers, and cost %+v", list[0].Answers, list[0].Background)
	}
	if list, err := d.Access().SpendingIntervals(t.Context(), chat.Key{}, noon.Add(-48*time.Hour)); err != nil ||
		len(list) != 3 ||
		list[2].USD != 4.125 {
		t.Errorf("%+v, %v", list, err)
	}
	users, err := d.Access().Spenders(t.Context(), "user", chat.Key{}, since, 2)
	if err != nil || len(users) != 2 || users[0].ID != "ou_1" || users[0].USD != 4.5 || users[1].ID != "ou_2" {
		t.Errorf("%+v, %v", users, err)
	}
	chats, err := d.Access().Spenders(t.Context(), "chat", chat.Key{}, since, 10)
	if err != nil || len(chats) != 3 || chats[0].ID != "feishu:chat:oc_12" || chats[1].ID != oc.String() {
		t.Errorf("%+v, %v", chats, err)
	}
}

// A quarter of an hour, or a day, that ends while an expense is booked contains all of it or nothing.
func TestAnExpenseIsBookedAtOneTime(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	first, second := say("om_1", "hi"), say("om_2", "and more")
	second.Actor.ID = "ou_2"
	accept(t, d, first)
	accept(t, d, second)
	c := claim(t, d, "s")
	d.Hurry(t, time.UnixMilli(1_000_000_000), 15*time.Minute)
	finish(t, d, db.TurnResult{Turn: c.Turn, Usage: &db.Usage{Model: "m", Input: 100, CostUSD: 0.5}})
	if list, err := d.Access().SpendingIntervals(t.Context(), oc, time.Time{}); err != nil || len(list) != 1 ||
		list[0].Tokens != 100 {
		t.Errorf("%+v, %v", list, err)
	}
}

// The cost of a turn is booked once, in equal parts for all who asked, under their names.
func TestTurnsAreBooked(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	first := say("om_1", "hi")
	second := say("om_2", "and more")
	second.Actor, second.Time = chat.Actor{ID: "ou_2", Name: "小红"}, first.Time.Add(time.Second)
	third := say("om_3", "and still more")
	third.Time = second.Time.Add(time.Second)
	for _, m := range []db.Inbound{first, second, third} {
		accept(t, d, m)
	}
	c := claim(t, d, "s")
	end := db.TurnResult{Turn: c.Turn, State: convo.Done, Usage: &db.Usage{Model: "m", Input: 101, Output: 20, CostUSD: 0.5}}
	finish(t, d, end)
	if err := d.Turns().Finish(t.Context(), end); err == nil {
		t.Error("finished twice")
	}
	users, err := d.Access().Spenders(t.Context(), "user", chat.Key{}, time.Time{}, 10)
	if err != nil || len(users) != 2 || users[0] != (db.Spender{ID: "ou_1", Name: "小明",
		Spending: db.Spending{Tokens: 61, USD: 0.25}}) ||
		users[1] != (db.Spender{ID: "ou_2", Name: "小红", Spending: db.Spending{Tokens: 60, USD: 0.25}}) {
		t.Errorf("%+v, %v", users, err)
	}
	if s, err := d.Access().Spent(t.Context(), "", oc, time.Time{}); err != nil ||
		s != (db.Spending{Tokens: 121, USD: 0.5}) {
		t.Errorf("the chat: %+v, %v", s, err)
	}
	if list, err := d.Access().SpendingIntervals(t.Context(), oc, time.Time{}); err != nil || len(list) != 1 ||
		list[0].Answers != 1 || list[0].Background.Tokens != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if list, err := d.Access().Spenders(t.Context(), "chat", chat.Key{}, time.Time{}, 10); err != nil || len(list) != 1 ||
		list[0].Tokens != 121 {
		t.Errorf("%+v, %v", list, err)
	}
	if user, err := d.Access().LastAsker(t.Context(), oc); err != nil || user != "ou_1" {
		t.Errorf("the last to ask was %q, %v", user, err)
	}
	if user, err := d.Access().LastAsker(t.Context(), chat.FeishuChat("oc_none")); err != nil || user != "" {
		t.Errorf("%q asked in an empty chat, %v", user, err)
	}
	for model, want := range map[string]float64{"m": 0.5 / 121, "other": 0} {
		if usd, err := d.Access().Price(t.Context(), model, time.Time{}); err != nil || usd != want {
			t.Errorf("a token of %s costs %v, %v", model, usd, err)
		}
	}
}

// Who has taken a question back before it was asked pays for none of the others. Who does so while the agent works pays
// for what it has done until then, and so does the only one who has asked.
func TestWhoPaysForATurnOfWhichAQuestionIsRecalled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		waiting, running []string // what is recalled then
		want             map[string]float64
	}{
		"while it waits":    {[]string{"om_1"}, nil, map[string]float64{"ou_2": 0.5}},
		"while it runs":     {nil, []string{"om_1"}, map[string]float64{"ou_1": 0.25, "ou_2": 0.25}},
		"all while it runs": {nil, []string{"om_1", "om_2"}, map[string]float64{"ou_1": 0.25, "ou_2": 0.25}},
	} {
		d := fresh(t)
		first, second := say("om_1", "hi"), say("om_2", "and more")
		second.Actor = chat.Actor{ID: "ou_2", Name: "小红"}
		accept(t, d, first)
		accept(t, d, second)
		for _, id := range tc.waiting {
			recall(t, d, id)
		}
		c := claim(t, d, "s")
		if _, err := d.Turns().Happens(t.Context(), oc, convo.Acts{Turn: c.Turn.ID, Acted: true}); err != nil {
			t.Fatal(err)
		}
		for _, id := range tc.running {
			recall(t, d, id)
		}
		finish(t, d, db.TurnResult{Turn: c.Turn, State: convo.Done, Usage: &db.Usage{Model: "m", Input: 2, CostUSD: 0.5}})
		users, err := d.Access().Spenders(t.Context(), "user", chat.Key{}, time.Time{}, 10)
		got := map[string]float64{}
		for _, u := range users {
			got[u.ID] = u.USD
		}
		if err != nil || !maps.Equal(got, tc.want) {
			t.Errorf("recalled %s: %v pay, want %v, %v", name, got, tc.want, err)
		}
	}
}

// The process of a session reports all that it has used. Other processes do not, and neither does a title whose cost
// was left to the next turn.
func TestWhatIsBookedLast(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for i, tc := range []struct {
		purpose string
		tokens  int64
		counts  bool
	}{
		{"turn", 0, true}, {"summary", 1, false}, {db.ForTitle, 1, true}, {"separate title", 1, false},
		{db.ForSuggestion, 1, true}, {db.ForTitle, 0, false},
	} {
		at := noon.Add(time.Duration(i) * time.Minute)
		d.At(t, at)
		before, err := d.Access().LastBooked(t.Context(), oc)
		if err == nil {
			err = d.Access().Book(t.Context(), db.Expense{Key: oc, Purpose: tc.purpose, Usage: db.Usage{Input: tc.tokens}})
		}
		want := before
		if tc.counts {
			want = at
		}
		if got, lastErr := d.Access().LastBooked(t.Context(), oc); err != nil || lastErr != nil || !got.Equal(want) {
			t.Errorf("after %s with %d tokens: %v, %v, %v", tc.purpose, tc.tokens, got, err, lastErr)
		}
	}
}
