package budget

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery/deliverytest"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// room is the chat of the tests.
var room = chat.FeishuChat("oc_1")

func spend(t *testing.T, l db.Access, key chat.Key, user string, usd float64) {
	t.Helper()
	if err := l.Book(t.Context(), db.Expense{Key: key, User: user, Purpose: "test",
		Usage: db.Usage{Input: 1000, CostUSD: usd}}); err != nil {
		t.Fatal(err)
	}
}

// Running turns reserve their maximum, so that several cannot all be admitted by the same remainder of a limit.
func TestWhatRunsCounts(t *testing.T) {
	t.Parallel()
	store := deliverytest.NewStore(t)
	p, no := New(nil, store.Access(), time.UTC, zerolog.Nop()), int64(0)
	spend(t, p.ledger, room, "ou_1", 1)
	store.SQL(`UPDATE ledger SET at = at + 3600000`) // also past midnight
	begin := func(key chat.Key, users ...string) error {
		no++
		claim := db.Claim{Turn: db.Turn{ID: no, Key: key}}
		for _, who := range users {
			claim.Asked = append(claim.Asked, chat.Message{Actor: chat.Actor{ID: who}})
		}
		return p.Check(t.Context(), claim)
	}
	topic, other := room, chat.FeishuChat("oc_9")
	topic.Thread = "omt_1"
	p.Store(&Limits{TurnUSD: 0.5, ChatDayUSD: 2})
	must(t, begin(room, "ou_1"))
	must(t, begin(topic, "ou_2"))
	must(t, begin(other, "ou_1"))
	err := begin(room, "ou_3")
	if over, ok := errors.AsType[*SpentError](err); !ok || !strings.Contains(over.Notice.ZH, "$1.00") ||
		!strings.Contains(over.Notice.ZH, "正在进行") {
		t.Errorf("a third answer in a chat with money for two: %v", err)
	}
	p.Release(2)
	must(t, begin(room, "ou_3"))
	p.Store(&Limits{TurnUSD: 0.5, UserDayUSD: 2})
	if begin(chat.FeishuChat("oc_8"), "ou_4", "ou_1") == nil {
		t.Error("a third answer of a user with money for two")
	}
	must(t, begin(chat.FeishuChat("oc_8"), "ou_4"))
	p.Store(&Limits{ChatDayTokens: 1000 + 2*turnFloorTokens})
	if begin(topic, "ou_5") == nil {
		t.Error("a third answer of a chat with tokens for two")
	}
	p.Release(1)
	must(t, begin(topic, "ou_5"))
	p.Store(&Limits{ChatDayUSD: 1 + 2*turnFloorUSD})
	if begin(room, "ou_5") == nil {
		t.Error("without a limit of one answer what runs costs nothing")
	}
}

// A message for a running turn needs no money besides what the turn has reserved, from where also its author's other
// turns are charged.
func TestAnAdditionCounts(t *testing.T) {
	t.Parallel()
	p := New(nil, dbtest.New(t).Access(), time.UTC, zerolog.Nop())
	begin := func(turn int64, user string) error {
		return p.Check(t.Context(), db.Claim{
			Turn: db.Turn{ID: turn, Key: room}, Asked: []chat.Message{{Actor: chat.Actor{ID: user}}},
		})
	}
	add := func(turn int64, user string) error {
		return p.CheckAddition(t.Context(), turn, chat.Incoming{Key: room, Actor: chat.Actor{ID: user}})
	}
	p.Store(&Limits{TurnUSD: 1, UserDayUSD: 1})
	must(t, begin(1, "ou_1"))
	must(t, add(1, "ou_1"))
	must(t, add(1, "ou_2"))
	for _, err := range []error{begin(2, "ou_1"), begin(2, "ou_2"), add(3, "ou_2")} {
		if _, over := errors.AsType[*SpentError](err); !over {
			t.Errorf("beside a turn that may use up the limit: %v", err)
		}
	}
	p.Release(1)
	must(t, begin(2, "ou_2"))
}

// A day begins at midnight in the configured time zone, even if it has 23 or 25 hours.
func TestADayIsThatOfTheTimeZone(t *testing.T) {
	t.Parallel()
	for zone, hours := range map[string]map[string]float64{
		"Asia/Shanghai": {"2026-05-04T03:00:00Z": 24},
		"Europe/Berlin": {"2026-03-29T12:00:00Z": 23, "2026-10-25T12:00:00Z": 25},
	} {
		z, err := time.LoadLocation(zone)
		must(t, err)
		p := New(nil, db.Access{}, z, zerolog.Nop())
		for at, want := range hours {
			now, err := time.Parse(time.RFC3339, at)
			must(t, err)
			begin, end := p.midnight(now, 0), p.midnight(now, 1)
			if h, m, _ := begin.In(z).Clock(); h != 0 || m != 0 || now.Before(begin) || !now.Before(end) ||
				end.Sub(begin).Hours() != want {
				t.Errorf("%s in %s: from %v to %v", at, zone, begin, end)
			}
		}
	}
}

func TestBudgetsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	err := Limits{TurnUSD: -1, UserDayUSD: math.NaN(), ChatDayUSD: math.Inf(1), UserDayTokens: -1,
		ChatDayTokens: -5}.Validate()
	for _, key := range []string{"turn_usd", "user_day_usd", "chat_day_usd", "user_day_tokens", "chat_day_tokens"} {
		if err == nil || !strings.Contains(err.Error(), "[budget] "+key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
	if err := (Limits{TurnUSD: 0.5, ChatDayTokens: 1000}).Validate(); err != nil {
		t.Error(err)
	}
}

// An answer that was stopped before the model said anything has no model and no cost, so that there is nothing to list.
func TestModelsThatCostNothingAreNotListed(t *testing.T) {
	store := dbtest.New(t)
	p := New(nil, store.Access(), time.UTC, zerolog.Nop())
	for turn, used := range []db.Usage{{}, {Model: "opus", Input: 1000, CostUSD: 0.25}} {
		e := db.Expense{Key: room, User: "ou_1", Purpose: "test", Turn: int64(turn + 1), Usage: used}
		must(t, p.ledger.Book(t.Context(), e))
	}
	card, err := p.ChatCard(t.Context(), room, "", 1, i18n.Chinese)
	if err != nil || card == nil || len(card.Panels) != 2 ||
		card.Panels[1].Body != "- `opus` $0.25 · 1.0k token\n" {
		t.Errorf("%+v, %v", card, err)
	}
}

// The chart has a bar for each period, and a line at the daily limit; the card lists amounts, times and models in
// words.
func TestCostsAreShownByDay(t *testing.T) {
	synctest.Test(t, costsByDay) // where no day ends
}

func costsByDay(t *testing.T) {
	store := dbtest.New(t)
	zone := time.FixedZone("here", 8*3600)
	p := New(nil, store.Access(), zone, zerolog.Nop())
	now := time.Now()
	spend(t, p.ledger, room, "ou_1", 0.5)
	answer := db.Expense{Key: room, User: "ou_1", Purpose: "test", Turn: 1,
		Usage: db.Usage{Model: "opus", Input: 1000, CostUSD: 0.25}}
	must(t, p.ledger.Book(t.Context(), answer))
	for name, label := range map[string]string{"": now.In(zone).Format("15") + ":00",
		"week": now.In(zone).Format("01-02"), "月": now.In(zone).Format("01-02")} {
		days := Days(name)
		if days == 0 {
			t.Fatalf("%q is not known", name)
		}
		head := map[int]i18n.Phrase{1: i18n.CostDay, 7: i18n.CostWeek, 30: i18n.CostMonth}[days].ZH
		got, err := p.card(t.Context(), room, days, 2.5, i18n.Chinese)
		if err != nil || len(got.Charts) != 1 || len(got.Panels) != 1 ||
			got.Body != "**"+head+"**：$0.75 · 2.0k token · 1 次回答\n其中后台任务（标题、摘要、记忆等）：$0.50 · 1.0k token\n" {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		sum := 0.0
		for _, b := range got.Charts[0].Bars {
			sum += b.Value
		}
		if c := got.Charts[0]; sum != 0.75 || len(c.Bars) != max(6, days) || c.Limit.Value != 2.5 {
			t.Errorf("%s: %+v", name, c)
		}
		if lines := got.Panels[0].Body; days > 1 && lines != "- "+label+" $0.75 · 2.0k token\n" {
			t.Errorf("%s: %q, want a line for %s", name, lines, label)
		}
		if got, err := p.card(t.Context(), chat.FeishuChat("oc_2"), days, 0, i18n.English); err != nil ||
			!strings.Contains(got.Body, "$0.00") || got.Charts != nil || got.Panels != nil {
			t.Errorf("another chat, %s: %+v, %v", name, got, err)
		}
	}
	i18n.SimulateCosts(true)
	t.Cleanup(func() { i18n.SimulateCosts(false) })
	card, err := p.ChatCard(t.Context(), room, "", 1, i18n.English)
	if err != nil || card == nil || len(card.Panels) != 2 || !strings.Contains(card.Body, "(simulated)") ||
		!strings.Contains(card.Panels[1].Body, "`opus` $0.25 (simulated)") {
		t.Errorf("%+v, %v", card, err)
	}
	if list := card.Charts; len(list) != 2 || list[1].Title != i18n.CostByModel.EN ||
		barsOf(list[1]) != "– 0.50, opus 0.25" {
		t.Errorf("the charts are %+v", list)
	}
	if Days("century") != 0 {
		t.Error("a century is shown")
	}
}

// With a daily limit today's chart shows cumulative amounts, and the list the amounts in between.
func TestTodayGrowsTowardsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil, dbtest.New(t).Access(), time.UTC, zerolog.Nop())
		p.Store(&Limits{ChatDayUSD: 2.5})
		spend(t, p.ledger, room, "ou_1", 0.5)
		time.Sleep(9 * time.Hour)
		spend(t, p.ledger, room, "ou_1", 0.25)
		card, err := p.ChatCard(t.Context(), room, "", 1, i18n.English)
		if err != nil || len(card.Charts) != 1 {
			t.Fatalf("%+v, %v", card, err)
		}
		c := card.Charts[0]
		if got := barsOf(c); got != "00:00 0.50, 04:00 0.50, 08:00 0.75, 12:00 0.00, 16:00 0.00, 20:00 0.00" ||
			c.Limit.Value != 2.5 || c.Title != i18n.CostSoFar.EN {
			t.Errorf("%s, limit %+v, %s", got, c.Limit, c.Title)
		}
		if got := card.Panels[0].Body; got != "- 00:00–04:00 $0.50 · 1.0k tokens\n- 08:00–12:00 $0.25 · 1.0k tokens\n" {
			t.Errorf("the list: %q", got)
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func barsOf(c chat.Chart) string {
	var list []string
	for _, b := range c.Bars {
		list = append(list, fmt.Sprintf("%s %.2f", b.Label, b.Value))
	}
	return strings.Join(list, ", ")
}

// The costs of all chats are compared by user, chat and model; today's with the limits of each.
func TestTheCostsOfAllChats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil, dbtest.New(t).Access(), time.UTC, zerolog.Nop())
		p.Store(&Limits{UserDayUSD: 3, ChatDayUSD: 4})
		for i, e := range []db.Expense{
			{Key: room, User: "ou_1", Usage: db.Usage{Model: "claude-opus-4-8[1m]", CostUSD: 1}},
			{Key: room, User: "ou_2", Usage: db.Usage{Model: "haiku", CostUSD: 0.5}},
			{Key: chat.FeishuChat("oc_2"), User: "ou_1", Usage: db.Usage{Model: "claude-opus-4-8[1m]", CostUSD: 0.25}},
		} {
			e.Purpose, e.Turn, e.Usage.Input = "test", int64(i+1), 500
			must(t, p.ledger.Book(t.Context(), e))
		}
		for args, limits := range map[string][]float64{"": {0, 3, 4, 0}, "week": {0, 0, 0, 0}} {
			card, err := p.TotalCard(t.Context(), chat.Key{}, Days(args), i18n.English)
			if err != nil || len(card.Charts) != 4 {
				t.Fatalf("%q: %+v, %v", args, card, err)
			}
			for i, want := range []string{"", "ou_1 1.25, ou_2 0.50", "oc_1 1.50, oc_2 0.25", "Opus 4.8 1.25, haiku 0.50"} {
				if c := card.Charts[i]; i > 0 && barsOf(c) != want || c.Limit.Value != limits[i] {
					t.Errorf("%q, chart %d: %s, limit %v", args, i, barsOf(c), c.Limit)
				}
			}
			for _, want := range []string{"$1.75 · 1.5k tokens · 3\u00a0answers", "`ou_1` $1.25 · 1.0k tokens",
				"`ou_2` $0.50 · 500 tokens",
				"`oc_1` $1.50 · 1.0k tokens", "`oc_2` $0.25 · 500 tokens"} {
				if !strings.Contains(card.Body, want) {
					t.Errorf("%q: the card lacks %q:\n%s", args, want, card.Body)
				}
			}
		}
	})
}

// Today's costs are shown in the part of the day in which they arose.
func TestHoursOfTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New(nil, dbtest.New(t).Access(), time.UTC, zerolog.Nop())
		spend(t, p.ledger, room, "ou_1", 1)
		for name, want := range map[string]string{
			"day": "00:00 1.00, 04:00 0.00, 08:00 0.00, 12:00 0.00, 16:00 0.00, 20:00 0.00",
			"周":   "12-26 0.00, 12-27 0.00, 12-28 0.00, 12-29 0.00, 12-30 0.00, 12-31 0.00, 01-01 1.00",
		} {
			card, err := p.card(t.Context(), room, Days(name), 0, i18n.English)
			if must(t, err); barsOf(card.Charts[0]) != want {
				t.Errorf("%s: %s", name, barsOf(card.Charts[0]))
			}
		}
	})
}
