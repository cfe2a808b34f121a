package bridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/db/dbtest"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

func spend(t *testing.T, l db.Access, key chat.Key, user string, usd float64) {
	t.Helper()
	if err := l.Book(t.Context(), db.Expense{Key: key, User: user, Purpose: "test",
		Usage: db.Usage{Input: 1000, CostUSD: usd}}); err != nil {
		t.Fatal(err)
	}
}

// lasting keeps booked costs in today's spending for the whole test, even past midnight: it moves them an hour into the
// future.
func (l *bridgeRig) lasting() {
	l.Helper()
	l.sql(`UPDATE ledger SET at = at + 3600000`)
}

// Each daily limit applies by itself to its user or chat; the refusal names the amounts and when the limit resets.
func TestALimitOfTheDay(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	spend(t, l.store.Access(), room, "ou_1", 1.25)
	spend(t, l.store.Access(), chat.FeishuChat("oc_9"), "ou_1", 0.5)
	l.lasting()
	for name, tc := range map[string]struct {
		budget Budget
		asked  []string
		key    chat.Key
		want   []string // in the notice; none = nothing is refused
	}{
		"no limit":            {Budget{}, []string{"ou_1"}, room, nil},
		"only for one answer": {Budget{TurnUSD: 0.01}, []string{"ou_1"}, room, nil},
		"a user":              {Budget{UserDayUSD: 1.75}, []string{"ou_1"}, room, []string{"你今天", "$1.75", "00:00"}},
		"a user, in another chat": {Budget{UserDayUSD: 1.5}, []string{"ou_1"}, chat.FeishuChat("oc_2"),
			[]string{"$1.75", "$1.50"}},
		"a user with something": {Budget{UserDayUSD: 1.76}, []string{"ou_1"}, room, nil},
		"another user":          {Budget{UserDayUSD: 1}, []string{"ou_2"}, room, nil},
		"two users":             {Budget{UserDayUSD: 1}, []string{"ou_2", "ou_1"}, room, []string{"你今天"}},
		"a chat":                {Budget{ChatDayUSD: 1}, []string{"ou_2"}, room, []string{"这个聊天今天", "$1.25", "$1.00"}},
		"a topic of the chat": {Budget{ChatDayUSD: 1}, []string{"ou_2"},
			chat.Key{Channel: "feishu", Kind: "chat", ID: "oc_1", Thread: "omt_1"}, []string{"这个聊天今天"}},
		"another chat":            {Budget{ChatDayUSD: 1}, []string{"ou_1"}, chat.FeishuChat("oc_2"), nil},
		"tokens of a user":        {Budget{UserDayTokens: 2000}, []string{"ou_1"}, room, []string{"上限 2.0k token"}},
		"tokens of a chat":        {Budget{ChatDayTokens: 1000}, []string{"ou_2"}, room, []string{"上限 1.0k token"}},
		"tokens, with some to go": {Budget{ChatDayTokens: 1001, UserDayTokens: 2001}, []string{"ou_1"}, room, nil},
	} {
		l.bridge.SetBudget(tc.budget)
		claim := db.Claim{Turn: db.Turn{Key: tc.key}}
		for _, who := range tc.asked {
			claim.Asked = append(claim.Asked, chat.Message{Actor: chat.Actor{ID: who}})
		}
		err := l.budget().check(t.Context(), claim)
		l.budget().release(claim.Turn.ID)
		if (err != nil) != (tc.want != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.(*spentError).notice.ZH, want) {
				t.Errorf("%s: %q does not say %s", name, err.(*spentError).notice.ZH, want)
			}
		}
	}
	l.bridge.SetBudget(Budget{ChatDayUSD: 1})
	l.start()
	l.say("om_1", "你好")
	l.until("the refusal", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'failed' AND failure = 'budget'`) == 1
	})
	if n := l.pool.Stats().Started; n != 0 {
		t.Errorf("%d processes were started", n)
	}
	l.until("no turn to count", func() bool {
		p := l.budget()
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.lives) == 0
	})
	l.bridge.SetBudget(Budget{})
	l.say("om_2", "你好")
	l.ended(convo.Done, 1)
	if n := l.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'turn' AND user_id = 'ou_1' AND cost_usd > 0
		AND tokens > 0`); n != 1 {
		t.Errorf("the turn is booked %d times", n)
	}
}

// Running turns reserve their maximum, so that several cannot all be admitted by the same remainder of a limit.
func TestWhatRunsCounts(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	p, no := l.budget(), int64(0)
	spend(t, p.ledger, room, "ou_1", 1)
	l.lasting()
	begin := func(key chat.Key, users ...string) error {
		no++
		claim := db.Claim{Turn: db.Turn{ID: no, Key: key}}
		for _, who := range users {
			claim.Asked = append(claim.Asked, chat.Message{Actor: chat.Actor{ID: who}})
		}
		return p.check(t.Context(), claim)
	}
	topic, other := room, chat.FeishuChat("oc_9")
	topic.Thread = "omt_1"
	l.bridge.SetBudget(Budget{TurnUSD: 0.5, ChatDayUSD: 2})
	l.must(begin(room, "ou_1"))
	l.must(begin(topic, "ou_2"))
	l.must(begin(other, "ou_1"))
	err := begin(room, "ou_3")
	if over, ok := errors.AsType[*spentError](err); !ok || !strings.Contains(over.notice.ZH, "$1.00") ||
		!strings.Contains(over.notice.ZH, "正在进行") {
		t.Errorf("a third answer in a chat with money for two: %v", err)
	}
	p.release(2)
	l.must(begin(room, "ou_3"))
	l.bridge.SetBudget(Budget{TurnUSD: 0.5, UserDayUSD: 2})
	if begin(chat.FeishuChat("oc_8"), "ou_4", "ou_1") == nil {
		t.Error("a third answer of a user with money for two")
	}
	l.must(begin(chat.FeishuChat("oc_8"), "ou_4"))
	l.bridge.SetBudget(Budget{ChatDayTokens: 1000 + 2*turnFloorTokens})
	if begin(topic, "ou_5") == nil {
		t.Error("a third answer of a chat with tokens for two")
	}
	p.release(1)
	l.must(begin(topic, "ou_5"))
	l.bridge.SetBudget(Budget{ChatDayUSD: 1 + 2*turnFloorUSD})
	if begin(room, "ou_5") == nil {
		t.Error("without a limit of one answer what runs costs nothing")
	}
}

// A message for a running turn needs no money besides what the turn has reserved, from where also its author's other
// turns are charged.
func TestAnAdditionCounts(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	p := l.budget()
	begin := func(turn int64, user string) error {
		return p.check(t.Context(), db.Claim{
			Turn: db.Turn{ID: turn, Key: room}, Asked: []chat.Message{{Actor: chat.Actor{ID: user}}},
		})
	}
	add := func(turn int64, user string) error {
		return p.checkAddition(t.Context(), turn, chat.Incoming{Key: room, Actor: chat.Actor{ID: user}})
	}
	l.bridge.SetBudget(Budget{TurnUSD: 1, UserDayUSD: 1})
	l.must(begin(1, "ou_1"))
	l.must(add(1, "ou_1"))
	l.must(add(1, "ou_2"))
	for _, err := range []error{begin(2, "ou_1"), begin(2, "ou_2"), add(3, "ou_2")} {
		if _, over := errors.AsType[*spentError](err); !over {
			t.Errorf("beside a turn that may use up the limit: %v", err)
		}
	}
	p.release(1)
	l.must(begin(2, "ou_2"))
}

// A background task is charged to the last asker, and does not run above a limit.
func TestTasksOutsideChatsAreCharged(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.start()
	l.say("om_1", "你好")
	l.until("a title", func() bool {
		const booked = `SELECT COUNT(*) FROM ledger WHERE purpose = 'title' AND user_id = 'ou_1' AND cost_usd > 0
			AND tokens > 0`
		return l.count(booked) == 1
	})
	l.until("it to be stored", func() bool { return l.count(`SELECT COUNT(*) FROM chats WHERE topic <> ''`) == 1 })
	// The end of a turn may have read the chat before the title of the previous turn was stored.
	l.upkeep().makeTitle(t.Context(), endedTurn{
		Turn: db.Turn{Key: room}, asked: []chat.Message{{Key: room, Text: "again"}}, answer: "yes",
	})
	if n := l.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'title'`); n != 1 {
		t.Errorf("%d titles are paid for", n)
	}
	l.lasting()
	for _, limit := range []Budget{{UserDayTokens: 1}, {ChatDayTokens: 1}} {
		l.bridge.SetBudget(limit)
		began := l.pool.Stats().Started
		_, err := l.budget().askAgent(t.Context(), room, "title", claude.Task{System: "x", Text: "x"})
		if _, over := errors.AsType[*spentError](err); !over || l.pool.Stats().Started != began {
			t.Errorf("above %+v: %v", limit, err)
		}
	}
}

// A background task that the end of the program cuts off costs nothing, and no error is logged.
func TestATaskThatIsCutOffLogsNoError(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.bridge.SetBudget(Budget{UserDayTokens: 1e6, ChatDayTokens: 1e6})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.budget().askAgent(ctx, room, "title", claude.Task{System: "x", Text: "x"})
	if !errors.Is(err, context.Canceled) || strings.Contains(l.logs.String(), `"level":"error"`) {
		t.Errorf("%v, logged %s", err, l.logs)
	}
	if n := l.count(`SELECT COUNT(*) FROM ledger`); n != 0 {
		t.Errorf("booked %d times", n)
	}
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
		p := &budget{zone: z}
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
	err := Budget{TurnUSD: -1, UserDayUSD: math.NaN(), ChatDayUSD: math.Inf(1), UserDayTokens: -1,
		ChatDayTokens: -5}.Validate()
	for _, key := range []string{"turn_usd", "user_day_usd", "chat_day_usd", "user_day_tokens", "chat_day_tokens"} {
		if err == nil || !strings.Contains(err.Error(), "[budget] "+key) {
			t.Errorf("%v does not name %s", err, key)
		}
	}
	if err := (Budget{TurnUSD: 0.5, ChatDayTokens: 1000}).Validate(); err != nil {
		t.Error(err)
	}
}

// An answer that was stopped before the model said anything has no model and no cost, so that there is nothing to list.
func TestModelsThatCostNothingAreNotListed(t *testing.T) {
	store := dbtest.New(t)
	p := &budget{ledger: store.Access(), zone: time.UTC, log: zerolog.Nop()}
	p.Store(&Budget{})
	for turn, used := range []db.Usage{{}, {Model: "opus", Input: 1000, CostUSD: 0.25}} {
		e := db.Expense{Key: room, User: "ou_1", Purpose: "test", Turn: int64(turn + 1), Usage: used}
		must(t, p.ledger.Book(t.Context(), e))
	}
	done, err := (&commandSet{budget: p}).showCost(t.Context(), invocation{Incoming: chat.Incoming{Key: room}, lang: i18n.Chinese})
	if err != nil || done.card == nil || len(done.card.Panels) != 2 ||
		done.card.Panels[1].Body != "- `opus` $0.25 · 1.0k token\n" {
		t.Errorf("%+v, %v", done.card, err)
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
	p := &budget{ledger: store.Access(), zone: zone, log: zerolog.Nop()}
	p.Store(&Budget{})
	now := time.Now()
	spend(t, p.ledger, room, "ou_1", 0.5)
	answer := db.Expense{Key: room, User: "ou_1", Purpose: "test", Turn: 1,
		Usage: db.Usage{Model: "opus", Input: 1000, CostUSD: 0.25}}
	must(t, p.ledger.Book(t.Context(), answer))
	for name, label := range map[string]string{"": now.In(zone).Format("15") + ":00",
		"week": now.In(zone).Format("01-02"), "月": now.In(zone).Format("01-02")} {
		days := daysOf(name)
		if days == 0 {
			t.Fatalf("%q is not known", name)
		}
		head := map[int]i18n.Phrase{1: i18n.CostDay, 7: i18n.CostWeek, 30: i18n.CostMonth}[days].ZH
		got, err := p.costCard(t.Context(), room, days, 2.5, i18n.Chinese)
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
		if got, err := p.costCard(t.Context(), chat.FeishuChat("oc_2"), days, 0, i18n.English); err != nil ||
			!strings.Contains(got.Body, "$0.00") || got.Charts != nil || got.Panels != nil {
			t.Errorf("another chat, %s: %+v, %v", name, got, err)
		}
	}
	i18n.SimulateCosts(true)
	t.Cleanup(func() { i18n.SimulateCosts(false) })
	done, err := (&commandSet{budget: p}).showCost(t.Context(), invocation{Incoming: chat.Incoming{Key: room}, lang: i18n.English})
	if err != nil || done.card == nil || len(done.card.Panels) != 2 || !strings.Contains(done.card.Body, "(simulated)") ||
		!strings.Contains(done.card.Panels[1].Body, "`opus` $0.25 (simulated)") {
		t.Errorf("%+v, %v", done.card, err)
	}
	if list := done.card.Charts; len(list) != 2 || list[1].Title != i18n.CostByModel.EN ||
		barsOf(list[1]) != "– 0.50, opus 0.25" {
		t.Errorf("the charts are %+v", list)
	}
	if daysOf("century") != 0 {
		t.Error("a century is shown")
	}
}

// With a daily limit today's chart shows cumulative amounts, and the list the amounts in between.
func TestTodayGrowsTowardsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &budget{ledger: dbtest.New(t).Access(), zone: time.UTC, log: zerolog.Nop()}
		p.Store(&Budget{ChatDayUSD: 2.5})
		spend(t, p.ledger, room, "ou_1", 0.5)
		time.Sleep(9 * time.Hour)
		spend(t, p.ledger, room, "ou_1", 0.25)
		done, err := (&commandSet{budget: p}).showCost(t.Context(), invocation{Incoming: chat.Incoming{Key: room}, lang: i18n.English})
		if err != nil || len(done.card.Charts) != 1 {
			t.Fatalf("%+v, %v", done.card, err)
		}
		c := done.card.Charts[0]
		if got := barsOf(c); got != "00:00 0.50, 04:00 0.50, 08:00 0.75, 12:00 0.00, 16:00 0.00, 20:00 0.00" ||
			c.Limit.Value != 2.5 || c.Title != i18n.CostSoFar.EN {
			t.Errorf("%s, limit %+v, %s", got, c.Limit, c.Title)
		}
		if got := done.card.Panels[0].Body; got != "- 00:00–04:00 $0.50 · 1.0k tokens\n- 08:00–12:00 $0.25 · 1.0k tokens\n" {
			t.Errorf("the list: %q", got)
		}
	})
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
		p := &budget{ledger: dbtest.New(t).Access(), zone: time.UTC, log: zerolog.Nop()}
		p.Store(&Budget{UserDayUSD: 3, ChatDayUSD: 4})
		for i, e := range []db.Expense{
			{Key: room, User: "ou_1", Usage: db.Usage{Model: "claude-opus-4-8[1m]", CostUSD: 1}},
			{Key: room, User: "ou_2", Usage: db.Usage{Model: "haiku", CostUSD: 0.5}},
			{Key: chat.FeishuChat("oc_2"), User: "ou_1", Usage: db.Usage{Model: "claude-opus-4-8[1m]", CostUSD: 0.25}},
		} {
			e.Purpose, e.Turn, e.Usage.Input = "test", int64(i+1), 500
			must(t, p.ledger.Book(t.Context(), e))
		}
		for args, limits := range map[string][]float64{"": {0, 3, 4, 0}, "week": {0, 0, 0, 0}} {
			done, err := (&commandSet{budget: p}).adminCost(t.Context(), invocation{args: args, lang: i18n.English})
			if err != nil || len(done.card.Charts) != 4 {
				t.Fatalf("%q: %+v, %v", args, done.card, err)
			}
			for i, want := range []string{"", "ou_1 1.25, ou_2 0.50", "oc_1 1.50, oc_2 0.25", "Opus 4.8 1.25, haiku 0.50"} {
				if c := done.card.Charts[i]; i > 0 && barsOf(c) != want || c.Limit.Value != limits[i] {
					t.Errorf("%q, chart %d: %s, limit %v", args, i, barsOf(c), c.Limit)
				}
			}
			for _, want := range []string{"$1.75 · 1.5k tokens · 3\u00a0answers", "`ou_1` $1.25 · 1.0k tokens",
				"`ou_2` $0.50 · 500 tokens",
				"`oc_1` $1.50 · 1.0k tokens", "`oc_2` $0.25 · 500 tokens"} {
				if !strings.Contains(done.card.Body, want) {
					t.Errorf("%q: the card lacks %q:\n%s", args, want, done.card.Body)
				}
			}
		}
	})
}

// Today's costs are shown in the part of the day in which they arose.
func TestHoursOfTheDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &budget{ledger: dbtest.New(t).Access(), zone: time.UTC, log: zerolog.Nop()}
		spend(t, p.ledger, room, "ou_1", 1)
		for name, want := range map[string]string{
			"day": "00:00 1.00, 04:00 0.00, 08:00 0.00, 12:00 0.00, 16:00 0.00, 20:00 0.00",
			"周":   "12-26 0.00, 12-27 0.00, 12-28 0.00, 12-29 0.00, 12-30 0.00, 12-31 0.00, 01-01 1.00",
		} {
			card, err := p.costCard(t.Context(), room, daysOf(name), 0, i18n.English)
			if must(t, err); barsOf(card.Charts[0]) != want {
				t.Errorf("%s: %s", name, barsOf(card.Charts[0]))
			}
		}
	})
}

// Background tasks are booked on the chat, and on no user.
func TestTasksOutsideChatsAreBooked(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	if _, err := l.budget().askAgent(t.Context(), room, "summary",
		claude.Task{System: "Sum up.", Text: "words"}); err != nil {
		t.Fatal(err)
	}
	if n := l.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'summary' AND chat_key = 'feishu:chat:oc_1'
		AND user_id = '' AND cost_usd > 0 AND tokens > 0`); n != 1 {
		t.Errorf("booked %d times", n)
	}
}
