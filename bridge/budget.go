package bridge

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// Budget is the [budget] section: what agents may cost. Of all limits 0 means that there is none. A day is one of the
// configured time zone; what runs when a limit is reached goes on, and nothing new begins.
type Budget struct {
	TurnUSD       float64 `toml:"turn_usd" env:"TURN_USD"`               // one answer, which ends there; each needs a process of its own then
	UserDayUSD    float64 `toml:"user_day_usd" env:"USER_DAY_USD"`       // what one user asks for in a day, in all chats
	ChatDayUSD    float64 `toml:"chat_day_usd" env:"CHAT_DAY_USD"`       // what is asked for in one chat in a day
	UserDayTokens int64   `toml:"user_day_tokens" env:"USER_DAY_TOKENS"` // of all kinds, those from the cache too
	ChatDayTokens int64   `toml:"chat_day_tokens" env:"CHAT_DAY_TOKENS"`
}

// Validate reports everything that is wrong with b.
func (b Budget) Validate() error {
	var errs []error
	for _, limit := range []struct {
		key   string
		value float64
	}{
		{"turn_usd", b.TurnUSD}, {"user_day_usd", b.UserDayUSD}, {"chat_day_usd", b.ChatDayUSD},
		{"user_day_tokens", float64(b.UserDayTokens)}, {"chat_day_tokens", float64(b.ChatDayTokens)},
	} {
		if !(limit.value >= 0 && limit.value <= 1e12) { // NaN is neither
			errs = append(errs, fmt.Errorf("[budget] %s: want 0 (no limit) or more", limit.key))
		}
	}
	return errors.Join(errs...)
}

// purse watches over what agents cost, by the budget that is its pointer.
type purse struct {
	atomic.Pointer[Budget]
	pool   *claude.Pool
	ledger db.Ledger
	zone   *time.Location
	log    zerolog.Logger
}

// midnight is when the day began that a time is in, or the one so many days later.
func (p *purse) midnight(t time.Time, days int) time.Time {
	y, m, d := t.In(p.zone).Date()
	return time.Date(y, m, d+days, 0, 0, 0, 0, p.zone)
}

// allowance is one limit of a day, and what was used of it.
type allowance struct {
	usd       bool // else tokens
	used, max float64
}

func (a allowance) over() bool { return a.max > 0 && a.used >= a.max }

func (a allowance) text() (used, most string) {
	if a.usd {
		return dollars(a.used), dollars(a.max)
	}
	return tokens(int64(a.used)), tokens(int64(a.max))
}

func allowances(s db.Spending, usd float64, tokens int64) []allowance {
	return []allowance{{true, s.USD, usd}, {false, float64(s.Tokens), float64(tokens)}}
}

// ofUser are the limits of a user today.
func (p *purse) ofUser(ctx context.Context, user string) ([]allowance, error) {
	b := p.Load()
	if b.UserDayUSD == 0 && b.UserDayTokens == 0 {
		return nil, nil
	}
	s, err := p.ledger.OfUser(ctx, user, p.midnight(time.Now(), 0))
	return allowances(s, b.UserDayUSD, b.UserDayTokens), err
}

// ofChat are the limits of a chat today.
func (p *purse) ofChat(ctx context.Context, key chat.Key) ([]allowance, error) {
	b := p.Load()
	if b.ChatDayUSD == 0 && b.ChatDayTokens == 0 {
		return nil, nil
	}
	s, err := p.ledger.OfChat(ctx, key, p.midnight(time.Now(), 0))
	return allowances(s, b.ChatDayUSD, b.ChatDayTokens), err
}

// spentError says that a limit of the day is reached, in words for those who asked.
type spentError struct{ notice phrase }

func (e *spentError) Error() string { return "a limit of the day is reached" }

// check refuses a turn for which nothing is left. A ledger that cannot be read holds up nobody.
func (p *purse) check(ctx context.Context, c db.Claim) error {
	list, err := p.ofChat(ctx, c.Turn.Key)
	if err := p.refuse(list, err, accessTexts.ChatSpent); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, m := range c.Asked {
		if seen[m.Actor.ID] {
			continue
		}
		seen[m.Actor.ID] = true
		list, err := p.ofUser(ctx, m.Actor.ID)
		if err := p.refuse(list, err, accessTexts.UserSpent); err != nil {
			return err
		}
	}
	return nil
}

func (p *purse) refuse(list []allowance, err error, words phrase) error {
	if err != nil {
		p.log.Error().Err(err).Msg("what was spent today is not known")
		return nil
	}
	for _, a := range list {
		if !a.over() {
			continue
		}
		now := time.Now()
		anew := p.midnight(now, 1)
		used, most := a.text()
		in := func(l lang) string {
			return fmt.Sprintf(words.in(l), used, most, anew.Format("01-02 15:04"), span(anew.Sub(now), l))
		}
		return &spentError{phrase{in(zh), in(en)}}
	}
	return nil
}

// limited says how a turn has ended that has cost all that one may.
func (p *purse) limited(o outcome) outcome {
	if usd := p.Load().TurnUSD; o.failure == string(claude.FailLimit) && usd > 0 {
		text := accessTexts.TurnSpent
		o.notice = phrase{fmt.Sprintf(text.ZH, dollars(usd)), fmt.Sprintf(text.EN, dollars(usd))}
	}
	return o
}

// consult has the agent do a task apart from the chat, and books what it has cost.
func (p *purse) consult(ctx context.Context, key chat.Key, what string, task contextmgr.Task) (string, error) {
	began := time.Now()
	reply, err := p.pool.Ask(ctx, claude.Question{Task: task.Do, Text: task.With})
	if err != nil {
		return "", err
	}
	p.book(ctx, key, what, reply)
	u := reply.Usage
	p.log.Info().Stringer("chat", key).Str("task", what).Int64("input", u.Input+u.CacheRead+u.CacheNew).Int64("output", u.Output).
		Float64("cost_usd", reply.CostUSD).Dur("took", time.Since(began)).Msg("agent asked apart")
	return reply.Text, nil
}

// book notes what the agent has cost that was asked apart from the turns.
func (p *purse) book(ctx context.Context, key chat.Key, what string, r claude.Reply) {
	u := db.Usage{Model: r.Model, Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheNew: r.Usage.CacheNew, CostUSD: r.CostUSD}
	if err := p.ledger.Book(context.WithoutCancel(ctx), db.Expense{Key: key, Purpose: what, Usage: u}); err != nil {
		p.log.Error().Err(err).Stringer("chat", key).Msg("what the agent has cost is not booked")
	}
}

// tokens is a number of tokens for people, as in "12.3k tokens".
func tokens(n int64) string { return rounded(n) + " tokens" }
