package bridge

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/configtype"
)

// Budget is the [budget] section: what agents may cost. 0 means no limit. A day is one of the
// configured time zone. A running turn reserves its per-turn maximum against the daily limits; it goes
// on when a limit is reached, but no new one begins.
type Budget struct {
	// one answer, which ends there; each needs a process of its own then
	TurnUSD float64 `toml:"turn_usd" env:"TURN_USD"`
	// what one user asks for in a day, in all chats
	UserDayUSD    float64 `toml:"user_day_usd" env:"USER_DAY_USD"`
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
			errs = append(errs, configtype.Mistakef("[budget] %s：应为 0（不限）或更大的数",
				"[budget] %s: must be 0 (no limit) or more", limit.key))
		}
	}
	return errors.Join(errs...)
}

// budget watches over what agents cost, by the budget that is its pointer.
type budget struct {
	atomic.Pointer[Budget]
	pool   *claude.Pool
	ledger db.Ledger
	zone   *time.Location
	log    zerolog.Logger

	simulated bool // the model is a double, and nothing is charged

	mu    sync.Mutex
	lives map[int64]reservation // of the turns that were let pass and are not booked yet
}

// reservation names the chat and the users that a running turn counts for.
type reservation struct {
	room  chat.Key // without a topic
	users []string
}

// What a turn that runs is taken to cost, if no limit says what it may.
const (
	turnFloorUSD    = 0.1
	turnFloorTokens = 20_000
)

// midnight is the beginning of the day of t, or of a day this many days later. It is computed by date,
// because a day with a change of the clocks does not have 24 hours.
func (p *budget) midnight(t time.Time, days int) time.Time {
	y, m, d := t.In(p.zone).Date()
	return time.Date(y, m, d+days, 0, 0, 0, 0, p.zone)
}

// allowance is one limit of a day, and what was used of it.
type allowance struct {
	usd       bool // else tokens
	used, max float64
}

// over reports whether a limit is reached once what runs has cost so much.
func (a allowance) over(running float64) bool { return a.max > 0 && a.used+running >= a.max }

func (a allowance) text() (used, most string) {
	if a.usd {
		return i18n.USD(a.used), i18n.USD(a.max)
	}
	return i18n.Tokens(int64(a.used)), i18n.Tokens(int64(a.max))
}

func allowances(s db.Spending, usd float64, tokens int64) []allowance {
	return []allowance{{true, s.USD, usd}, {false, float64(s.Tokens), float64(tokens)}}
}

// ofUser are the limits of a user today.
func (p *budget) ofUser(ctx context.Context, user string) ([]allowance, error) {
	b := p.Load()
	if b.UserDayUSD == 0 && b.UserDayTokens == 0 {
		return nil, nil
	}
	s, err := p.ledger.OfUser(ctx, user, p.midnight(time.Now(), 0))
	return allowances(s, b.UserDayUSD, b.UserDayTokens), err
}

// ofChat are the limits of a chat today.
func (p *budget) ofChat(ctx context.Context, key chat.Key) ([]allowance, error) {
	b := p.Load()
	if b.ChatDayUSD == 0 && b.ChatDayTokens == 0 {
		return nil, nil
	}
	s, err := p.ledger.OfChat(ctx, key, p.midnight(time.Now(), 0))
	return allowances(s, b.ChatDayUSD, b.ChatDayTokens), err
}

// spentError says that a limit of the day is reached, in words for those who asked.
type spentError struct{ notice i18n.Phrase }

func (e *spentError) Error() string { return "a limit of the day is reached" }

// check refuses a turn for which nothing is left, and else lets it count until it is released. A ledger that cannot be
// read holds up nobody.
func (p *budget) check(ctx context.Context, c db.Claim) error {
	own := reservation{room: c.Turn.Key.Parent()}
	for _, m := range c.Asked {
		if !slices.Contains(own.users, m.Actor.ID) {
			own.users = append(own.users, m.Actor.ID)
		}
	}
	p.mu.Lock() // of two turns at once the second one finds the first
	defer p.mu.Unlock()
	if err := p.spent(ctx, own); err != nil {
		return err
	}
	if p.lives == nil {
		p.lives = map[int64]reservation{}
	}
	p.lives[c.Turn.ID] = own
	return nil
}

// release says that a turn has ended and is booked.
func (p *budget) release(turn int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lives, turn)
}

// spent returns an error if a limit of the reservation's chat or users is used up. The caller holds the
// lock, so that two turns cannot both take the last of a limit.
func (p *budget) spent(ctx context.Context, of reservation) error {
	list, err := p.ofChat(ctx, of.room)
	// The other running turns count with their maximum, because their cost is not known yet.
	running := p.count(func(other reservation) bool { return other.room == of.room })
	if err := p.refuse(list, err, running, i18n.ChatSpent); err != nil {
		return err
	}
	for _, user := range of.users {
		list, err := p.ofUser(ctx, user)
		running := p.count(func(other reservation) bool { return slices.Contains(other.users, user) })
		if err := p.refuse(list, err, running, i18n.UserSpent); err != nil {
			return err
		}
	}
	return nil
}

func (p *budget) count(running func(reservation) bool) (n int) {
	for _, other := range p.lives {
		if running(other) {
			n++
		}
	}
	return n
}

// refuse returns an error if a limit is exceeded, or would be when each of the running turns uses its maximum.
func (p *budget) refuse(list []allowance, err error, running int, words i18n.Phrase) error {
	// Fails open: without the database the turn fails anyway.
	if err != nil {
		p.log.Error().Err(err).Msg("spending of today not available")
		return nil
	}
	for _, a := range list {
		used, most := a.text()
		each := float64(turnFloorTokens)
		if a.usd {
			each = cmp.Or(p.Load().TurnUSD, turnFloorUSD)
		}
		switch {
		case a.over(0):
			now := time.Now()
			again := p.midnight(now, 1)
			in := func(l i18n.Lang) string {
				return fmt.Sprintf(words.In(l), used, most, again.Format("01-02 15:04"), i18n.RoughDuration(again.Sub(now), l))
			}
			return &spentError{i18n.Phrase{ZH: in(i18n.Chinese), EN: in(i18n.English)}}
		case a.over(float64(running) * each):
			in := func(l i18n.Lang) string { return fmt.Sprintf(i18n.SpentByOthers.In(l), used, most) }
			return &spentError{i18n.Phrase{ZH: in(i18n.Chinese), EN: in(i18n.English)}}
		}
	}
	return nil
}

// limited changes the outcome of a turn that was ended by the per-turn limit, so that people read the reason.
func (p *budget) limited(o turncard.Outcome) turncard.Outcome {
	if usd := p.Load().TurnUSD; o.Failure == string(claude.FailLimit) && usd > 0 {
		text := i18n.TurnSpent
		o.Notice = i18n.Phrase{ZH: fmt.Sprintf(text.ZH, i18n.USD(usd)), EN: fmt.Sprintf(text.EN, i18n.USD(usd))}
	}
	return o
}

// askAgent has the agent do a task apart from the chat, if a limit of the day leaves anything for it, and books what it
// cost.
func (p *budget) askAgent(ctx context.Context, key chat.Key, what string, q claude.Task) (string, error) {
	return p.pay(ctx, key, what, func() (claude.Reply, error) { return p.pool.RunTask(ctx, q) })
}

// askTitle is askAgent for the title of a chat. The process of the chat's session is asked, if there is one: that
// takes no start.
func (p *budget) askTitle(ctx context.Context, c db.Chat, task contextmgr.Task) (string, error) {
	title, err := p.pay(ctx, c.Key, "title", func() (claude.Reply, error) {
		return p.pool.Title(ctx, c.Session.ID, task.Input)
	})
	_, spent := errors.AsType[*spentError](err)
	if err == nil || spent || errors.Is(err, claude.ErrNoTitle) || ctx.Err() != nil {
		return title, err
	}
	// No process is the usual case and no reason for a warning.
	if !errors.Is(err, claude.ErrNoProcess) {
		p.log.Warn().Err(err).Stringer("chat", c.Key).Msg("the chat's process returned no title")
	}
	return p.askAgent(ctx, c.Key, "title", claude.Task{System: task.Instruction, Text: task.Input})
}

// pay runs ask if the daily limits leave room, and books what it cost.
func (p *budget) pay(ctx context.Context, key chat.Key, what string, ask func() (claude.Reply, error)) (string, error) {
	began := time.Now()
	user, err := p.payer(ctx, key)
	if err != nil {
		return "", err
	}
	reply, err := ask()
	// A failed call may have cost something, too.
	if reply.Usage != (claude.Usage{}) || err == nil {
		p.book(ctx, db.Expense{Key: key, User: user, Purpose: what}, reply)
	}
	if err != nil {
		return "", err
	}
	u := reply.Usage
	p.log.Info().Stringer("chat", key).Str("task", what).
		Int64("input", u.Input+u.CacheRead+u.CacheNew).Int64("output", u.Output).
		Float64("cost_usd", reply.CostUSD).Dur("took", time.Since(began)).Msg("background task finished")
	return reply.Text, nil
}

// payer finds the user whose limits a background task counts against: the last one who asked in the
// chat. It returns an error if those limits are used up.
func (p *budget) payer(ctx context.Context, key chat.Key) (user string, err error) {
	list, err := p.ofChat(ctx, key)
	if err := p.refuse(list, err, 0, i18n.ChatSpent); err != nil {
		return "", err
	}
	if user, err = p.ledger.Asker(ctx, key); err != nil {
		p.log.Error().Err(err).Stringer("chat", key).Msg("payer not found")
	}
	// Nobody has asked yet, for example after an import; the limits of the chat have been checked.
	if user == "" {
		return "", nil
	}
	list, err = p.ofUser(ctx, user)
	return user, p.refuse(list, err, 0, i18n.UserSpent)
}

// book records the cost of a background task. A failure is logged only: the money is spent, and the result is good.
func (p *budget) book(ctx context.Context, e db.Expense, r claude.Reply) {
	e.Usage = db.Usage{
		Model: r.Model, Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead,
		CacheNew: r.Usage.CacheNew, CostUSD: r.CostUSD,
	}
	if err := p.ledger.Book(context.WithoutCancel(ctx), e); err != nil {
		p.log.Error().Err(err).Stringer("chat", e.Key).Msg("cost of a background task not booked")
	}
}

// priced is how many days back a price is looked for.
const priced = 30

// estimate is what a turn has cost about whose agent could not tell any more, in USD: by what its model has cost
// lately.
func (p *budget) estimate(ctx context.Context, u db.Usage) float64 {
	usd, err := p.ledger.Price(ctx, u.Model, p.midnight(time.Now(), -priced))
	if err != nil {
		p.log.Error().Err(err).Msg("cost of a turn not available")
	}
	return usd * float64(u.Tokens())
}
