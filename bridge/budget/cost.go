package budget

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// Days is the number of days, the last of them today, of a period that a user names; 0 = there is no such period.
func Days(period string) int {
	switch strings.ToLower(period) {
	case "", "day", "today", "日", "天", "今天":
		return 1
	case "week", "周", "本周", "星期":
		return 7
	case "month", "月", "本月":
		return 30
	}
	return 0
}

// hoursOfBin is the length of a bin in the chart of today.
const hoursOfBin = 4

// bins are the bars of a chart, still empty. Today is shown by hours, more days by days, which are those of the budget.
func (p *Budget) bins(now time.Time, days int) (list []db.SpendingInterval) {
	if days == 1 {
		y, m, d := p.midnight(now, 0).Date()
		for h := 0; h < 24; h += hoursOfBin {
			// By date and hour: with a clock change a day does not have 24 equal steps.
			list = append(list, db.SpendingInterval{At: time.Date(y, m, d, h, 0, 0, 0, p.zone)})
		}
		return list
	}
	for i := 1 - days; i <= 0; i++ {
		list = append(list, db.SpendingInterval{At: p.midnight(now, i)})
	}
	return list
}

// ChatCard shows what was spent in a chat, and what may still be spent there and by a user.
func (p *Budget) ChatCard(
	ctx context.Context, key chat.Key, user string, days int, l i18n.Lang,
) (*chat.Card, error) {
	card, err := p.card(ctx, key, days, p.at(key.Channel).ChatDayUSD, l)
	if err != nil {
		return nil, err
	}
	models, err := p.modelSpenders(ctx, key, p.midnight(time.Now(), 1-days))
	if err != nil {
		return nil, err
	}
	limits, err := p.limitsText(ctx, key, user, l)
	if err != nil {
		return nil, err
	}
	card.Body = strings.TrimSpace(card.Body + limits)
	addSpenderChart(card, i18n.CostByModel, models, 0, l)
	addList(card, i18n.ByModel.In(l), spenderLines(models, l))
	return card, nil
}

// maxSpenders limits the users named in a report.
const maxSpenders = 10

// TotalCard shows what was spent in a part of all chats, and by whom.
func (p *Budget) TotalCard(ctx context.Context, part chat.Key, days int, l i18n.Lang) (*chat.Card, error) {
	card, err := p.card(ctx, part, days, 0, l)
	if err != nil {
		return nil, err
	}
	since := p.midnight(time.Now(), 1-days)
	users, err := p.ledger.Spenders(ctx, "user", part, since, maxSpenders)
	if err != nil {
		return nil, err
	}
	chats, err := p.ledger.Spenders(ctx, "chat", part, since, maxSpenders)
	if err != nil {
		return nil, err
	}
	models, err := p.modelSpenders(ctx, part, since)
	if err != nil {
		return nil, err
	}
	user, room := 0.0, 0.0 // limits per day, which only the chart of one day can show
	if b := p.at(part.Channel); days == 1 {
		user, room = b.UserDayUSD, b.ChatDayUSD
	}
	addSpenderChart(card, i18n.CostByUser, users, user, l)
	addSpenderChart(card, i18n.CostByChat, chats, room, l)
	addSpenderChart(card, i18n.CostByModel, models, 0, l)
	addList(card, i18n.ByModel.In(l), spenderLines(models, l))
	card.Body = strings.TrimSpace(card.Body + i18n.ByUser.In(l) + "\n" + spenderLines(users, l) +
		i18n.ByChat.In(l) + "\n" + spenderLines(chats, l))
	return card, nil
}

// Today lists the limits in a part of all chats, and the users who have spent most there today.
func (p *Budget) Today(ctx context.Context, part chat.Key, l i18n.Lang) (string, error) {
	users, err := p.ledger.Spenders(ctx, "user", part, p.midnight(time.Now(), 0), MaxListed)
	if err != nil {
		return "", err
	}
	none := i18n.NoLimit.In(l)
	usd := func(v float64) string {
		if v == 0 {
			return none
		}
		return i18n.USD(v, l)
	}
	count := func(v int64) string {
		if v == 0 {
			return none
		}
		return i18n.Tokens(v, l)
	}
	b := p.at(part.Channel)
	text := fmt.Sprintf(i18n.Budgets.In(l), usd(b.TurnUSD), usd(b.UserDayUSD), count(b.UserDayTokens),
		usd(b.ChatDayUSD), count(b.ChatDayTokens))
	return strings.TrimSpace(text + "\n" + i18n.TodayHead.In(l) + "\n" + spenderLines(users, l)), nil
}

// BusiestChats lists the chats of a part of all in which most was spent lately, one per line.
func (p *Budget) BusiestChats(ctx context.Context, part chat.Key, l i18n.Lang) (string, error) {
	list, err := p.ledger.Spenders(ctx, "chat", part, p.midnight(time.Now(), -29), MaxListed)
	return spenderLines(list, l), err
}

// card shows what was spent in a chat, or in a part of all chats. limit is drawn as a line at the daily limit;
// 0 = none. With a limit, today's chart shows cumulative amounts.
func (p *Budget) card(
	ctx context.Context, key chat.Key, days int, limit float64, l i18n.Lang,
) (*chat.Card, error) {
	now := time.Now()
	bins := p.bins(now, days)
	list, err := p.ledger.SpendingIntervals(ctx, key, bins[0].At)
	if err != nil {
		return nil, err
	}
	var sum db.SpendingInterval
	for _, m := range list {
		i := len(bins) - 1
		for i > 0 && m.At.Before(bins[i].At) {
			i--
		}
		bins[i].Spending = bins[i].Plus(m.Spending)
		sum.Answers += m.Answers
		sum.Background, sum.Spending = sum.Background.Plus(m.Background), sum.Plus(m.Spending)
	}
	head := map[int]i18n.Phrase{1: i18n.CostDay, 7: i18n.CostWeek, 30: i18n.CostMonth}[days].In(l)
	body := i18n.CostSum.Sprintf(l, head, i18n.USD(sum.USD, l), i18n.Tokens(sum.Tokens, l), sum.Answers) + "\n"
	if a := sum.Background; a != (db.Spending{}) {
		body += fmt.Sprintf(i18n.CostBackground.In(l), i18n.USD(a.USD, l), i18n.Tokens(a.Tokens, l)) + "\n"
	}
	card := &chat.Card{Body: body, Summary: i18n.FirstLine(body)}
	if sum.USD == 0 {
		return card, nil
	}
	chart, byThen, lines := chat.Chart{Title: i18n.CostTitle.In(l), Limit: limitLine(limit, l)}, 0.0, ""
	growing := days == 1 && limit > 0
	if growing {
		chart.Title = i18n.CostSoFar.In(l)
	}
	for i, b := range bins {
		byThen += b.USD
		label := b.At.Format("01-02")
		span := label
		if days == 1 {
			label = fmt.Sprintf("%02d:00", i*hoursOfBin)
			span = fmt.Sprintf("%s–%02d:00", label, (i+1)*hoursOfBin)
		}
		bar := chat.Bar{Label: label, Value: b.USD}
		if growing && !b.At.After(now) {
			bar.Value = byThen
		}
		chart.Bars = append(chart.Bars, bar)
		if b.Spending != (db.Spending{}) {
			lines += fmt.Sprintf("- %s %s · %s\n", span, i18n.USD(b.USD, l), i18n.Tokens(b.Tokens, l))
		}
	}
	card.Charts = append(card.Charts, chart)
	addList(card, i18n.ByTime.In(l), lines)
	return card, nil
}

// addList adds a list to a card as a collapsed panel below its charts; an empty one is left out.
func addList(c *chat.Card, title, lines string) {
	if lines != "" {
		c.Panels = append(c.Panels, chat.Panel{Title: title, Body: lines, Last: true})
	}
}

// limitLine is the line of a chart at the daily limit; 0 = no limit.
func limitLine(usd float64, l i18n.Lang) chat.Bar {
	if usd <= 0 {
		return chat.Bar{}
	}
	return chat.Bar{Label: fmt.Sprintf(i18n.CostLimit.In(l), i18n.USD(usd, l)), Value: usd}
}

// addSpenderChart adds a chart of the spenders. A single bar is left out unless there is a limit to compare it with.
func addSpenderChart(card *chat.Card, title i18n.Phrase, list []db.Spender, limit float64, l i18n.Lang) {
	c := chat.Chart{Title: title.In(l), Limit: limitLine(limit, l)}
	for _, one := range list {
		if one.USD > 0 {
			name := i18n.Truncate(i18n.Visible(one.Name), longestName)
			label := cmp.Or(strings.TrimSpace(name), shownID(one.ID), "–")
			c.Bars = append(c.Bars, chat.Bar{Label: label, Value: one.USD})
		}
	}
	if len(c.Bars) > 1 || len(c.Bars) == 1 && limit > 0 {
		card.Charts = append(card.Charts, c)
	}
}

// modelSpenders are the models that were paid for, with their names.
func (p *Budget) modelSpenders(ctx context.Context, key chat.Key, since time.Time) ([]db.Spender, error) {
	list, err := p.ledger.Spenders(ctx, "model", key, since, maxSpenders)
	list = slices.DeleteFunc(list, func(one db.Spender) bool { return one.USD == 0 && one.Tokens == 0 })
	for i, one := range list {
		if name := workspace.ModelName(one.ID); name != one.ID {
			list[i].Name = name
		}
	}
	return list, err
}

// limitsText describes what a chat and a user may still spend today; empty = no limits.
func (p *Budget) limitsText(ctx context.Context, key chat.Key, user string, l i18n.Lang) (string, error) {
	var s strings.Builder
	inChat, err := p.ofChat(ctx, key)
	if err != nil {
		return "", err
	}
	own, err := p.ofUser(ctx, user)
	if err != nil {
		return "", err
	}
	for _, part := range []struct {
		list  []allowance
		words i18n.Phrase
	}{{inChat, i18n.ChatLimit}, {own, i18n.UserLimit}} {
		for _, a := range part.list {
			if a.max > 0 {
				used, most := a.texts(l)
				fmt.Fprintf(&s, "- "+part.words.In(l)+"\n", used, most)
			}
		}
	}
	if usd := p.at(key.Channel).TurnUSD; usd > 0 {
		fmt.Fprintf(&s, "- "+i18n.TurnLimit.In(l)+"\n", i18n.USD(usd, l))
	}
	if s.Len() == 0 {
		return "", nil
	}
	return "\n" + i18n.LimitsHead.In(l) + "\n" + s.String(), nil
}

// MaxListed limits the entries of a list for admins.
const MaxListed = 50

// longestName limits a name in a list for admins, in runes.
const longestName = 100

// shownID is the ID of a user or chat as commands and the configuration take it.
func shownID(id string) string {
	key, err := chat.ParseKey(id)
	if err != nil { // a user
		return id
	}
	return key.Room() + strings.TrimPrefix(id, key.Parent().String())
}

// Entry is the name of a user or chat in a list for admins.
func Entry(name, id string) string {
	if id == "" {
		return "–"
	}
	return strings.TrimSpace(i18n.SafeName(i18n.Truncate(i18n.Visible(name), longestName)) + " `" + shownID(id) + "`")
}

// spenderLines lists the spenders, one per line.
func spenderLines(list []db.Spender, l i18n.Lang) string {
	var s strings.Builder
	for _, one := range list {
		fmt.Fprintf(&s, "- %s %s · %s\n", Entry(one.Name, one.ID), i18n.USD(one.USD, l), i18n.Tokens(one.Tokens, l))
	}
	return s.String()
}
