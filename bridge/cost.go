package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// costPeriod is a period for which costs are shown.
type costPeriod struct {
	names []string // the names that users may type
	head  i18n.Phrase
	days  int // ending today; 1 = today only, shown by hours
}

func costPeriods() []costPeriod {
	return []costPeriod{
		{[]string{"", "day", "today", "日", "天", "今天"}, i18n.CostDay, 1},
		{[]string{"week", "周", "本周", "星期"}, i18n.CostWeek, 7},
		{[]string{"month", "月", "本月"}, i18n.CostMonth, 30},
	}
}

func findPeriod(name string) (costPeriod, bool) {
	list := costPeriods()
	i := slices.IndexFunc(list, func(s costPeriod) bool { return slices.Contains(s.names, strings.ToLower(name)) })
	if i < 0 {
		return costPeriod{}, false
	}
	return list[i], true
}

// bin is one bar of a chart.
type bin struct {
	label string
	span  string // the label in a list
	from  time.Time
	db.Spending
}

// hoursOfBin is the length of a bin in the chart of today.
const hoursOfBin = 4

// bins returns the empty bins of a period's chart, whose days are those of the budget.
func (s costPeriod) bins(p *budget, now time.Time) []bin {
	var list []bin
	if s.days == 1 {
		begin := p.midnight(now, 0)
		y, m, d := begin.Date()
		for h := 0; h < 24; h += hoursOfBin {
			// By date and hour: with a clock change a day does not have 24 equal steps.
			label := fmt.Sprintf("%02d:00", h)
			list = append(list, bin{label: label, span: fmt.Sprintf("%s–%02d:00", label, h+hoursOfBin),
				from: time.Date(y, m, d, h, 0, 0, 0, p.zone)})
		}
		return list
	}
	for i := 1 - s.days; i <= 0; i++ {
		day := p.midnight(now, i)
		label := day.Format("01-02")
		list = append(list, bin{label: label, span: label, from: day})
	}
	return list
}

// costReport is the spending in a period.
type costReport struct {
	head   string       // the totals
	charts []chat.Chart // empty when nothing was spent
	lines  string       // the amounts of the first chart as text
}

// report returns the spending of a chat; the zero key means all chats. limit is drawn as a line at the daily limit; 0 =
// none. With a limit, today's chart shows cumulative amounts.
func (p *budget) report(
	ctx context.Context, key chat.Key, s costPeriod, limit float64, l i18n.Lang,
) (r costReport, err error) {
	now := time.Now()
	bins := s.bins(p, now)
	list, err := p.ledger.SpendingIntervals(ctx, key, bins[0].from)
	if err != nil {
		return r, err
	}
	var sum db.SpendingInterval
	for _, m := range list {
		i := len(bins) - 1
		for i > 0 && m.At.Before(bins[i].from) {
			i--
		}
		bins[i].Spending = bins[i].Plus(m.Spending)
		sum.Answers += m.Answers
		sum.Background, sum.Spending = sum.Background.Plus(m.Background), sum.Plus(m.Spending)
	}
	usd, tokens := i18n.USD(sum.USD, l), i18n.Tokens(sum.Tokens, l)
	r.head = i18n.CostSum.Sprintf(l, s.head.In(l), usd, tokens, sum.Answers) + "\n"
	if a := sum.Background; a != (db.Spending{}) {
		r.head += fmt.Sprintf(i18n.CostBackground.In(l), i18n.USD(a.USD, l), i18n.Tokens(a.Tokens, l)) + "\n"
	}
	if sum.USD == 0 {
		return r, nil
	}
	chart, byThen := chat.Chart{Title: i18n.CostTitle.In(l), Limit: limitLine(limit, l)}, 0.0
	growing := s.days == 1 && limit > 0
	if growing {
		chart.Title = i18n.CostSoFar.In(l)
	}
	for _, b := range bins {
		byThen += b.USD
		bar := chat.Bar{Label: b.label, Value: b.USD}
		if growing && !b.from.After(now) {
			bar.Value = byThen
		}
		chart.Bars = append(chart.Bars, bar)
		if b.Spending != (db.Spending{}) {
			r.lines += fmt.Sprintf("- %s %s · %s\n", b.span, i18n.USD(b.USD, l), i18n.Tokens(b.Tokens, l))
		}
	}
	r.charts = append(r.charts, chart)
	return r, nil
}

// limitLine is the line of a chart at the daily limit; 0 = no limit.
func limitLine(usd float64, l i18n.Lang) chat.Bar {
	if usd <= 0 {
		return chat.Bar{}
	}
	return chat.Bar{Label: fmt.Sprintf(i18n.CostLimit.In(l), i18n.USD(usd, l)), Value: usd}
}

// addSpenderChart adds a chart of the spenders. A single bar is left out unless there is a limit to compare it with.
func (r *costReport) addSpenderChart(title i18n.Phrase, list []db.Spender, limit float64, l i18n.Lang) {
	c := chat.Chart{Title: title.In(l), Limit: limitLine(limit, l)}
	for _, one := range list {
		if one.USD > 0 {
			name := i18n.Truncate(i18n.Visible(one.Name), longestListed)
			label := cmp.Or(strings.TrimSpace(name), shownID(one.ID), "–")
			c.Bars = append(c.Bars, chat.Bar{Label: label, Value: one.USD})
		}
	}
	if len(c.Bars) > 1 || len(c.Bars) == 1 && limit > 0 {
		r.charts = append(r.charts, c)
	}
}

// card shows the report: the sums, the charts, and below them the lists as collapsed panels.
func (r costReport) card(below string, l i18n.Lang, more ...chat.Panel) *chat.Card {
	body := strings.TrimSpace(r.head + below)
	c := &chat.Card{Body: body, Summary: i18n.FirstLine(body), Charts: r.charts}
	for _, p := range append([]chat.Panel{{Title: i18n.ByTime.In(l), Body: r.lines}}, more...) {
		if p.Body != "" {
			p.Last = true
			c.Panels = append(c.Panels, p)
		}
	}
	return c
}

// showCost is the command /cost.
func (p *budget) showCost(ctx context.Context, o invocation) (commandResult, error) {
	s, ok := findPeriod(o.args)
	if !ok {
		return o.say(i18n.CostUsage)
	}
	r, err := p.report(ctx, o.m.Key, s, p.Load().ChatDayUSD, o.lang)
	if err != nil {
		return commandResult{}, err
	}
	models, err := p.modelSpenders(ctx, o.m.Key, p.midnight(time.Now(), 1-s.days))
	if err != nil {
		return commandResult{}, err
	}
	r.addSpenderChart(i18n.CostByModel, models, 0, o.lang)
	limits, err := p.limitsText(ctx, o.m.Key, o.m.Actor.ID, o.lang)
	return commandResult{card: r.card(limits, o.lang, byModel(models, o.lang))}, err
}

// modelSpenders are the models that were paid for, with their names.
func (p *budget) modelSpenders(ctx context.Context, key chat.Key, since time.Time) ([]db.Spender, error) {
	list, err := p.ledger.Models(ctx, key, since, mostSpenders)
	list = slices.DeleteFunc(list, func(one db.Spender) bool { return one.USD == 0 && one.Tokens == 0 })
	for i, one := range list {
		if name := claude.ModelName(one.ID); name != one.ID {
			list[i].Name = name
		}
	}
	return list, err
}

// byModel lists the cost of each model.
func byModel(list []db.Spender, l i18n.Lang) chat.Panel {
	return chat.Panel{Title: i18n.ByModel.In(l), Body: spenderLines(list, l)}
}

// limitsText describes what a chat and a user may still spend today; empty = no limits.
func (p *budget) limitsText(ctx context.Context, key chat.Key, user string, l i18n.Lang) (string, error) {
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
	if usd := p.Load().TurnUSD; usd > 0 {
		fmt.Fprintf(&s, "- "+i18n.TurnLimit.In(l)+"\n", i18n.USD(usd, l))
	}
	if s.Len() == 0 {
		return "", nil
	}
	return "\n" + i18n.LimitsHead.In(l) + "\n" + s.String(), nil
}
