package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"magpie/bridge/budget"
	"magpie/bridge/upkeep"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
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
		limits budget.Limits
		asked  []string
		key    chat.Key
		want   []string // in the notice; none = nothing is refused
	}{
		"no limit":            {budget.Limits{}, []string{"ou_1"}, room, nil},
		"only for one answer": {budget.Limits{TurnUSD: 0.01}, []string{"ou_1"}, room, nil},
		"a user":              {budget.Limits{UserDayUSD: 1.75}, []string{"ou_1"}, room, []string{"你今天", "$1.75", "00:00"}},
		"a user, in another chat": {budget.Limits{UserDayUSD: 1.5}, []string{"ou_1"}, chat.FeishuChat("oc_2"),
			[]string{"$1.75", "$1.50"}},
		"a user with something": {budget.Limits{UserDayUSD: 1.76}, []string{"ou_1"}, room, nil},
		"another user":          {budget.Limits{UserDayUSD: 1}, []string{"ou_2"}, room, nil},
		"two users":             {budget.Limits{UserDayUSD: 1}, []string{"ou_2", "ou_1"}, room, []string{"你今天"}},
		"a chat":                {budget.Limits{ChatDayUSD: 1}, []string{"ou_2"}, room, []string{"这个聊天今天", "$1.25", "$1.00"}},
		"a topic of the chat": {budget.Limits{ChatDayUSD: 1}, []string{"ou_2"},
			chat.Key{Channel: "feishu", Kind: "chat", ID: "oc_1", Thread: "omt_1"}, []string{"这个聊天今天"}},
		"another chat":            {budget.Limits{ChatDayUSD: 1}, []string{"ou_1"}, chat.FeishuChat("oc_2"), nil},
		"tokens of a user":        {budget.Limits{UserDayTokens: 2000}, []string{"ou_1"}, room, []string{"上限 2.0k token"}},
		"tokens of a chat":        {budget.Limits{ChatDayTokens: 1000}, []string{"ou_2"}, room, []string{"上限 1.0k token"}},
		"tokens, with some to go": {budget.Limits{ChatDayTokens: 1001, UserDayTokens: 2001}, []string{"ou_1"}, room, nil},
	} {
		l.bridge.SetBudget(tc.limits)
		claim := db.Claim{Turn: db.Turn{Key: tc.key}}
		for _, who := range tc.asked {
			claim.Asked = append(claim.Asked, chat.Message{Actor: chat.Actor{ID: who}})
		}
		err := l.budget().Check(t.Context(), claim)
		l.budget().Release(claim.Turn.ID)
		if (err != nil) != (tc.want != nil) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.(*budget.SpentError).Notice.ZH, want) {
				t.Errorf("%s: %q does not say %s", name, err.(*budget.SpentError).Notice.ZH, want)
			}
		}
	}
	l.bridge.SetBudget(budget.Limits{ChatDayUSD: 1})
	l.start()
	l.say("om_1", "你好")
	l.until("the refusal", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'failed' AND failure = 'budget'`) == 1
	})
	if n := l.pool.Stats().Started; n != 0 {
		t.Errorf("%d processes were started", n)
	}
	l.bridge.SetBudget(budget.Limits{})
	l.say("om_2", "你好")
	l.ended(convo.Done, 1)
	if n := l.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'turn' AND user_id = 'ou_1' AND cost_usd > 0
		AND tokens > 0`); n != 1 {
		t.Errorf("the turn is booked %d times", n)
	}
	spent, err := l.store.Access().Spent(t.Context(), "", room, time.Time{})
	l.must(err)
	l.bridge.SetBudget(budget.Limits{ChatDayUSD: spent.USD + 0.01}) // less than a turn that runs is taken to cost
	l.until("no turn to count", func() bool { return l.budget().Check(t.Context(), db.Claim{Turn: db.Turn{Key: room}}) == nil })
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
	l.upkeep().MakeTitle(t.Context(), upkeep.Ended{
		Turn: db.Turn{Key: room}, Asked: []chat.Message{{Key: room, Text: "again"}}, Answer: "yes",
	})
	if n := l.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'title'`); n != 1 {
		t.Errorf("%d titles are paid for", n)
	}
	l.lasting()
	for _, limit := range []budget.Limits{{UserDayTokens: 1}, {ChatDayTokens: 1}} {
		l.bridge.SetBudget(limit)
		began := l.pool.Stats().Started
		_, err := l.budget().AskAgent(t.Context(), room, "title", claude.Errand{System: "x", Text: "x"})
		if _, over := errors.AsType[*budget.SpentError](err); !over || l.pool.Stats().Started != began {
			t.Errorf("above %+v: %v", limit, err)
		}
	}
}

// A background task that the end of the program cuts off costs nothing, and no error is logged.
func TestATaskThatIsCutOffLogsNoError(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	l.bridge.SetBudget(budget.Limits{UserDayTokens: 1e6, ChatDayTokens: 1e6})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := l.budget().AskAgent(ctx, room, "title", claude.Errand{System: "x", Text: "x"})
	if !errors.Is(err, context.Canceled) || strings.Contains(l.logs.String(), `"level":"error"`) {
		t.Errorf("%v, logged %s", err, l.logs)
	}
	if n := l.count(`SELECT COUNT(*) FROM ledger`); n != 0 {
		t.Errorf("booked %d times", n)
	}
}

// Background tasks are booked on the chat, and on no user.
func TestTasksOutsideChatsAreBooked(t *testing.T) {
	t.Parallel()
	l := newRig(t)
	if _, err := l.budget().AskAgent(t.Context(), room, "summary",
		claude.Errand{System: "Sum up.", Text: "words"}); err != nil {
		t.Fatal(err)
	}
	if n := l.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'summary' AND chat_key = 'feishu:chat:oc_1'
		AND user_id = '' AND cost_usd > 0 AND tokens > 0`); n != 1 {
		t.Errorf("booked %d times", n)
	}
}
