package bridge

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// posted is what is left to be delivered in a chat.
type posted struct {
	Key  string
	Text string
	Card *chat.Card
}

// post gives a command and returns what is to be delivered.
func (w *memoryRig) post(p place, text string) posted {
	w.Helper()
	w.receive(p, text, true)
	post := w.deliver(p)
	return posted{post.Key.String(), post.Text, post.Card}
}

// replyCards are answers to commands and to strangers, on a day of which the time is known.
func replyCards(t *testing.T) map[string]any {
	all := map[string]any{}
	synctest.Test(t, func(t *testing.T) {
		w := newMemoryRig(t, t.TempDir())
		defer func() { w.must(w.store.Close()) }()
		boss, user := place{alice.key, chat.Private, "ou_boss"}, place{bob.key, chat.Private, "ou_user"}
		w.order(boss, "/lang zh")
		w.order(user, "/lang en")
		all["57-help-for-admins"] = w.post(boss, "/help")
		all["58-help-en"] = w.post(user, "/help")
		all["59-help-of-one-command"] = w.post(boss, "/帮助 会话")

		topic := team
		topic.key.Thread = "omt_1"
		all["60-meant-otherwise-in-a-topic"] = w.post(topic, "/histroy 20")

		w.spendOverDays(user.key, user.who)
		w.spendOverDays(boss.key, user.who)
		w.bridge.SetBudget(budget.Limits{ChatDayUSD: 5})
		all["61-cost-day"] = w.post(boss, "/cost")
		w.bridge.SetBudget(budget.Limits{TurnUSD: 0.5, UserDayUSD: 5, ChatDayTokens: 4000})
		all["62-cost-week-en"] = w.post(user, "/cost week")
		all["63-budgets"] = w.post(boss, "/admin budgets")

		w.bridge.SetBudget(budget.Limits{UserDayUSD: 2})
		c := db.Claim{Turn: db.Turn{ID: 7, Key: boss.key}, Asked: []chat.Message{{Actor: chat.Actor{ID: user.who}}}}
		var spent *budget.SpentError
		if err := w.budget().Check(w.ctx, c); !errors.As(err, &spent) {
			t.Fatalf("%v", err)
		}
		all["70-budget-is-used-up"] = newTurnRig(i18n.Chinese).ended(convo.Failed, spent.Notice, turncard.FailBudget).Card(time.Now())
		all["64-stranger-asks"] = access.RequestCard(chat.Incoming{Text: "你好，\n能帮我看看 <at id=all></at> 吗？", Actor: chat.Actor{ID: "ou_x", Name: "小红"}}, i18n.Chinese)
		for name, allowed := range map[string]bool{"65-stranger-allowed": true, "66-stranger-ignored": false} {
			all[name] = access.DecisionCard(db.Grant{Subject: "ou_x", Name: "小红", Allowed: allowed}, i18n.Chinese)
		}
	})
	return all
}

// spendOverDays lets a user spend something every 17 hours, first apart from the turns, with two models.
func (w *memoryRig) spendOverDays(key chat.Key, user string) {
	for turn, usd := range []float64{0.5, 1.25, 2} {
		time.Sleep(17 * time.Hour)
		for model, share := range map[string]float64{"claude-opus-4-8": 0.75, "claude-haiku-4-5": 0.25} {
			w.must(w.store.Access().Book(w.ctx,
				db.Expense{Key: key, User: user, Purpose: "test", Turn: int64(turn),
					Usage: db.Usage{Model: model, Input: 500, Output: 100, CostUSD: usd * share}}))
		}
	}
}
