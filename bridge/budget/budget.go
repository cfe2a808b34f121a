// Package budget keeps to the limits on what agents cost, books what tasks in the background have cost, and shows what
// was spent.
//
// It does not say which turn runs when; what an answer has cost is booked with the end of its turn.
package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/turncard"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// Limits are the [budget] section: limits on what agents cost; 0 = no limit. Days begin at midnight in the configured
// time zone. A running turn reserves its per-turn maximum against the daily limits; when a limit is reached it may
// finish, but no new turn starts.
type Limits struct {
	// per answer, which ends there; with a limit each answer needs a process of its own
	TurnUSD float64 `toml:"turn_usd" env:"TURN_USD"`
	// per user and day, in all chats
	UserDayUSD    float64 `toml:"user_day_usd" env:"USER_DAY_USD"`
	ChatDayUSD    float64 `toml:"chat_day_usd" env:"CHAT_DAY_USD"`       // per chat and day
	UserDayTokens int64   `toml:"user_day_tokens" env:"USER_DAY_TOKENS"` // of all kinds, including those from the cache
	ChatDayTokens int64   `toml:"chat_day_tokens" env:"CHAT_DAY_TOKENS"`

	// those of doors that have their own, by channel
	Apps map[string]Limits `toml:"-" env:"-"`
}

// TurnLimit is what an answer in a chat may cost, in USD; 0 = no limit.
func (p *Budget) TurnLimit(key chat.Key) float64 { return p.at(key.Channel).TurnUSD }

// at are the limits at the door of a channel.
func (p *Budget) at(channel string) Limits {
	b := p.Load()
	if own, ok := b.Apps[channel]; ok {
		return own
	}
	return *b
}

// Validate reports all invalid values of b.
func (b Limits) Validate() error {
	var errs []error
	for _, limit := range []struct {
		key   string
		value float64
	}{
		{"turn_usd", b.TurnUSD}, {"user_day_usd", b.UserDayUSD}, {"chat_day_usd", b.ChatDayUSD},
		{"user_day_tokens", float64(b.UserDayTokens)}, {"chat_day_tokens", float64(b.ChatDayTokens)},
	} {
		if !(limit.value >= 0 && limit.value <= 1e12) { // also catches NaN
			errs = append(errs, i18n.Mistakef("[budget] %s：应为 0（不限）或更大的数",
				"[budget] %s: must be 0 (no limit) or more", limit.key))
		}
	}
	return errors.Join(errs...)
}

// Budget enforces its Limits.
type Budget struct {
	atomic.Pointer[Limits]
	pool   *claude.Pool
	ledger db.Access
	zone   *time.Location
	log    zerolog.Logger

	mu    sync.Mutex
	lives map[int64]reservation // turns that were admitted and whose cost is not booked yet
}

// New makes a Budget without limits. Its days are those of the time zone.
func New(pool *claude.Pool, ledger db.Access, zone *time.Location, log zerolog.Logger) *Budget {
	p := &Budget{pool: pool, ledger: ledger, zone: zone, log: log, lives: map[int64]reservation{}}
	p.Store(&Limits{})
	return p
}

// reservation names the chat and the users that a running turn is charged to.
type reservation struct {
	room  chat.Key // without a topic
	users []string
}

// Assumed cost of a running turn without a per-turn limit.
const (
	turnFloorUSD    = 0.1
	turnFloorTokens = 20_000
)

// midnight returns the start of the day of t, moved by that many days. It computes by date because a day with a clock
// change does not have 24 hours.
func (p *Budget) midnight(t time.Time, days int) time.Time {
	y, m, d := t.In(p.zone).Date()
	return time.Date(y, m, d+days, 0, 0, 0, 0, p.zone)
}

// allowance is one daily limit and the amount used.
type allowance struct {
	usd       bool // otherwise in tokens
	used, max float64
	elsewhere int // turns that run at other bridges
}

// isExceeded reports whether the limit is reached, counting what the running turns may cost.
func (a allowance) isExceeded(running float64) bool { return a.max > 0 && a.used+running >= a.max }

func (a allowance) texts(l i18n.Lang) (used, most string) {
	if a.usd {
		return i18n.USD(a.used, l), i18n.USD(a.max, l)
	}
	most = i18n.Tokens(int64(a.max), l)
	_, unit, _ := strings.Cut(most, " ") // said once
	return strings.TrimSuffix(i18n.Tokens(int64(a.used), l), " "+unit), most
}

func allowances(s db.Spending, usd float64, tokens int64) []allowance {
	return []allowance{{true, s.USD, usd, s.Elsewhere}, {false, float64(s.Tokens), float64(tokens), s.Elsewhere}}
}

// ofUser returns a user's limits today.
func (p *Budget) ofUser(ctx context.Context, user string) ([]allowance, error) {
	b := p.at(chat.ChannelOf(user))
	if b.UserDayUSD == 0 && b.UserDayTokens == 0 {
		return nil, nil
	}
	s, err := p.ledger.Spent(ctx, user, chat.Key{}, p.midnight(time.Now(), 0))
	return allowances(s, b.UserDayUSD, b.UserDayTokens), err
}

// ofChat returns a chat's limits today.
func (p *Budget) ofChat(ctx context.Context, key chat.Key) ([]allowance, error) {
	b := p.at(key.Channel)
	if b.ChatDayUSD == 0 && b.ChatDayTokens == 0 {
		return nil, nil
	}
	s, err := p.ledger.Spent(ctx, "", key, p.midnight(time.Now(), 0))
	return allowances(s, b.ChatDayUSD, b.ChatDayTokens), err
}

// SpentError means that a daily limit is reached. Notice tells the askers.
type SpentError struct{ Notice i18n.Phrase }

func (e *SpentError) Error() string { return "a limit of the day is reached" }

// Check refuses a turn if a limit is reached; otherwise it reserves the turn's maximum until release. If the ledger
// cannot be read, the turn is admitted.
func (p *Budget) Check(ctx context.Context, c db.Claim) error {
	key := c.Turn.Key
	own := reservation{room: key.Parent()}
	for _, m := range c.Asked {
		if !slices.Contains(own.users, m.Actor.ID) {
			own.users = append(own.users, m.Actor.ID)
		}
	}
	p.mu.Lock() // of two concurrent turns the second must see the first one's reservation
	defer p.mu.Unlock()
	if err := p.checkLimits(ctx, c.Turn.ID, own); err != nil {
		return err
	}
	p.lives[c.Turn.ID] = own
	return nil
}

// CheckAddition refuses a message that a running turn is to get if a limit is reached. Otherwise the turn is also
// charged to its author. What the turn itself may cost is admitted already.
func (p *Budget) CheckAddition(ctx context.Context, turn int64, m chat.Incoming) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.checkLimits(ctx, turn, reservation{m.Key.Parent(), []string{m.Actor.ID}}); err != nil {
		return err
	}
	if own, ok := p.lives[turn]; ok && !slices.Contains(own.users, m.Actor.ID) {
		own.users = append(slices.Clip(own.users), m.Actor.ID)
		p.lives[turn] = own
	}
	return nil
}

// Release removes the reservation of a turn that has ended and whose cost is booked.
func (p *Budget) Release(turn int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lives, turn)
}

// checkLimits returns an error if a limit of the chat or users of a turn's reservation is used up. The caller holds the
// lock, so that two turns cannot both take the last of a limit.
func (p *Budget) checkLimits(ctx context.Context, turn int64, of reservation) error {
	list, err := p.ofChat(ctx, of.room)
	// The other running turns count with their maximum, because their cost is not known yet.
	running := p.count(turn, func(other reservation) bool { return other.room == of.room })
	if err := p.checkAllowances(list, err, of.room, running, i18n.ChatSpent); err != nil {
		return err
	}
	for _, user := range of.users {
		list, err := p.ofUser(ctx, user)
		running := p.count(turn, func(other reservation) bool { return slices.Contains(other.users, user) })
		if len(list) > 0 {
			running += list[0].elsewhere
		}
		if err := p.checkAllowances(list, err, of.room, running, i18n.UserSpent); err != nil {
			return err
		}
	}
	return nil
}

// count counts the running turns besides own.
func (p *Budget) count(own int64, running func(reservation) bool) (n int) {
	for turn, other := range p.lives {
		if turn != own && running(other) {
			n++
		}
	}
	return n
}

// checkAllowances returns an error if a limit is reached, or would be if each running turn used its maximum.
func (p *Budget) checkAllowances(
	list []allowance, err error, at chat.Key, running int, words i18n.Phrase,
) error {
	// Fails open: without the database the turn fails anyway.
	if err != nil {
		p.log.Error().Err(err).Msg("today's spending not available")
		return nil
	}
	for _, a := range list {
		each := float64(turnFloorTokens)
		if a.usd {
			each = cmp.Or(p.TurnLimit(at), turnFloorUSD)
		}
		switch {
		case a.isExceeded(0):
			now := time.Now()
			again := p.midnight(now, 1)
			text := func(l i18n.Lang) string {
				used, most := a.texts(l)
				return fmt.Sprintf(words.In(l), used, most, again.Format("01-02 15:04"),
					i18n.RoughDuration(again.Sub(now), l))
			}
			return &SpentError{i18n.Phrase{ZH: text(i18n.Chinese), EN: text(i18n.English)}}
		case a.isExceeded(float64(running) * each):
			text := func(l i18n.Lang) string {
				used, most := a.texts(l)
				return fmt.Sprintf(i18n.SpentByOthers.In(l), used, most)
			}
			return &SpentError{i18n.Phrase{ZH: text(i18n.Chinese), EN: text(i18n.English)}}
		}
	}
	return nil
}

// ExplainLimit changes the outcome of a turn that the per-turn limit ended, so that users see the reason.
func (p *Budget) ExplainLimit(key chat.Key, o turncard.Outcome) turncard.Outcome {
	if usd := p.TurnLimit(key); o.Failure == string(claude.FailLimit) && usd > 0 {
		text := i18n.TurnSpent
		o.Notice = i18n.Phrase{
			ZH: fmt.Sprintf(text.ZH, i18n.USD(usd, i18n.Chinese)), EN: fmt.Sprintf(text.EN, i18n.USD(usd, i18n.English)),
		}
	}
	return o
}

// AskAgent runs a background task of a chat if the daily limits allow it, and books its cost.
func (p *Budget) AskAgent(ctx context.Context, key chat.Key, purpose string, q claude.Errand) (string, error) {
	return p.pay(ctx, key, "", purpose, func() (claude.Reply, error) { return p.pool.RunErrand(ctx, q) })
}

// AskFor is AskAgent for a user who waits for the reply, and pays.
func (p *Budget) AskFor(ctx context.Context, key chat.Key, user, purpose string, q claude.Errand) (string, error) {
	now := make(chan struct{})
	close(now)
	q.Wanted = now
	return p.pay(ctx, key, user, purpose, func() (claude.Reply, error) { return p.pool.RunErrand(ctx, q) })
}

// AskTitle is askAgent for a chat's title. It asks the process of the chat's session if there is one, which saves a
// start.
func (p *Budget) AskTitle(ctx context.Context, c db.Chat, task contextmgr.Task) (string, error) {
	title, err := p.pay(ctx, c.Key, "", db.ForTitle, func() (claude.Reply, error) {
		return p.pool.Title(ctx, c.Session.ID, task.Input)
	})
	_, spent := errors.AsType[*SpentError](err)
	if err == nil || spent || errors.Is(err, claude.ErrNoTitle) || ctx.Err() != nil {
		return title, err
	}
	// Having no process is normal and not worth a warning.
	if !errors.Is(err, claude.ErrNoProcess) {
		p.log.Warn().Err(err).Stringer("chat", c.Key).Msg("the chat's process returned no title")
	}
	return p.AskAgent(ctx, c.Key, "separate title", claude.Errand{System: task.Instruction, Text: task.Input})
}

// pay runs ask if the daily limits allow it, and books its cost. Without a user the last one who asked in the chat pays.
func (p *Budget) pay(
	ctx context.Context, key chat.Key, user, purpose string, ask func() (claude.Reply, error),
) (string, error) {
	began := time.Now()
	user, err := p.payer(ctx, key, user)
	if err != nil {
		return "", err
	}
	reply, err := ask()
	// A failed call may have cost something, too.
	if reply.Usage != (claude.Usage{}) || err == nil {
		p.Book(ctx, db.Expense{Key: key, User: user, Purpose: purpose}, reply)
	}
	if err != nil {
		return "", err
	}
	u := reply.Usage
	p.log.Info().Stringer("chat", key).Str("task", purpose).
		Int64("input", u.Input+u.CacheRead+u.CacheNew).Int64("output", u.Output).
		Float64("cost_usd", reply.CostUSD).Dur("took", time.Since(began)).Msg("background task finished")
	return reply.Text, nil
}

// payer finds the user that a background task is charged to, unless that is said: the last one who asked in the chat. It
// returns an error if that user's limits are used up.
func (p *Budget) payer(ctx context.Context, key chat.Key, said string) (user string, err error) {
	ctx = context.WithoutCancel(ctx) // short: the end of the program must not look like a failure of the database
	list, err := p.ofChat(ctx, key)
	if err := p.checkAllowances(list, err, key, 0, i18n.ChatSpent); err != nil {
		return "", err
	}
	if user = said; user == "" {
		user, err = p.ledger.LastAsker(ctx, key)
	}
	if err != nil {
		p.log.Error().Err(err).Stringer("chat", key).Msg("payer not found")
	}
	// No user has asked yet, for example after an import. The chat's limits were already checked.
	if user == "" {
		return "", nil
	}
	list, err = p.ofUser(ctx, user)
	return user, p.checkAllowances(list, err, key, 0, i18n.UserSpent)
}

// Book records the cost of a background task. A failure is only logged: the money is spent, and the result is good.
func (p *Budget) Book(ctx context.Context, e db.Expense, r claude.Reply) {
	e.Usage = db.Usage{
		Model: r.Model, Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead,
		CacheNew: r.Usage.CacheNew, CostUSD: r.CostUSD,
	}
	if err := p.ledger.Book(context.WithoutCancel(ctx), e); err != nil {
		p.log.Error().Err(err).Stringer("chat", e.Key).Msg("cost of a background task not booked")
	}
}

// priced is how many days back a price is looked up.
const priced = 30

// Estimate adds up what was used of each model since began by an agent that could not report it, at its recent price;
// nil = nothing was used.
func (p *Budget) Estimate(ctx context.Context, began time.Time, list []claude.ModelUsage) *db.Usage {
	if len(list) == 0 {
		return nil
	}
	sum := db.Usage{Model: list[0].Model, Duration: time.Since(began)}
	for _, m := range list {
		u := db.Usage{
			Model: m.Model, Input: m.Usage.Input, Output: m.Usage.Output,
			CacheRead: m.Usage.CacheRead, CacheNew: m.Usage.CacheNew,
		}
		sum.Input, sum.Output = sum.Input+u.Input, sum.Output+u.Output
		sum.CacheRead, sum.CacheNew = sum.CacheRead+u.CacheRead, sum.CacheNew+u.CacheNew
		usd, err := p.ledger.Price(ctx, u.Model, p.midnight(time.Now(), -priced))
		if err != nil {
			p.log.Error().Err(err).Msg("cost of a turn not available")
		}
		sum.CostUSD += usd * float64(u.Tokens())
	}
	return &sum
}
