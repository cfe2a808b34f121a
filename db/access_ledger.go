package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/internal/chat"
)

// Purposes of costs that the process of a chat's session has reported, together with all that it and its subagents had
// used until then. Background tasks with processes of their own have other purposes.
const (
	forTurn       = "turn"
	ForTitle      = "title"
	ForSuggestion = "suggestion"
)

// Expense is one cost of the agent.
type Expense struct {
	Key     chat.Key
	User    string // the asker; empty = nobody
	Purpose string // empty = for the turn
	Turn    int64  // 0 = none
	Follows int64  // the turn whose questions Turn answers, see [Turn]; 0 = Turn itself
	Usage   Usage
}

// Spending is an amount spent in a period.
type Spending struct {
	Tokens int64 // of all kinds, including those from the cache
	USD    float64

	Elsewhere int // turns of the user that run at other bridges, and whose cost is not known yet; see [Access.Spent]
}

// Plus returns the sum of both.
func (s Spending) Plus(t Spending) Spending {
	return Spending{Tokens: s.Tokens + t.Tokens, USD: s.USD + t.USD, Elsewhere: s.Elsewhere + t.Elsewhere}
}

// Spender is a user, chat or model with its spending.
type Spender struct {
	ID   string // the user's ID, or the chat's key; empty = nobody in particular
	Name string // for users; may be empty
	Spending
}

// SpendingInterval is the spending of a quarter of an hour.
type SpendingInterval struct {
	At         time.Time // the start
	Answers    int       // paid turns
	Background Spending  // the part for background tasks
	Spending
}

const bookExpense = `INSERT INTO ledger (at, chat_key, user_id, purpose, turn_id, model, tokens, written, cost_usd)
	VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)`

// A question that was recalled before it was asked costs nothing. A recall of one that is being asked stops its turn.
const askersOfTurn = `SELECT actor_id FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
	AND role = 'user' AND (state <> 'recalled' OR EXISTS (SELECT 1 FROM turns WHERE id = ?2 AND stopped > 0)
	OR NOT EXISTS (SELECT 1 FROM messages WHERE chat_key = ?1 AND turn_id = ?2 AND turn_id > 0
		AND role = 'user'` + notRecalled + `))
	GROUP BY actor_id ORDER BY MIN(sent_at), MIN(seq)`

// book records an expense. Several askers share it equally.
func (as Access) book(ctx context.Context, tx *sql.Tx, e Expense) error {
	users, err := as.askers(ctx, tx, e)
	if err != nil {
		return fmt.Errorf("payer of an expense: %w", err)
	}
	at, all, n := millis(as.db.now()), e.Usage.Tokens(), int64(len(users)) // the same time for all
	for i, user := range users {
		part, written := all/n, e.Usage.Output/n
		if i == 0 {
			part, written = part+all%n, written+e.Usage.Output%n
		}
		_, err := tx.ExecContext(
			ctx, bookExpense, at, e.Key.String(), user, cmp.Or(e.Purpose, forTurn), e.Turn, e.Usage.Model, part, written,
			e.Usage.CostUSD/float64(n),
		)
		if err != nil {
			return fmt.Errorf("book an expense: %w", err)
		}
	}
	return nil
}

// askers are the users who pay for an expense, in the order in which they asked; at least one entry, which may be
// empty.
func (as Access) askers(ctx context.Context, tx *sql.Tx, e Expense) ([]string, error) {
	users, err := queryAll(ctx, tx, scanText, askersOfTurn, e.Key.String(), cmp.Or(e.Follows, e.Turn))
	if len(users) == 0 {
		users = []string{e.User}
	}
	return users, err
}

// Book records an expense. [Turns.Finish] books what a turn has cost until then, to its askers; those of a follow-up have
// asked before it.
func (as Access) Book(ctx context.Context, e Expense) error {
	return as.db.chatTx(ctx, e.Key, func(ctx context.Context, tx *sql.Tx) error { return as.book(ctx, tx, e) })
}

// A title or a suggestion during which another turn has begun has no cost of its own, and leaves all to that turn.
const lastReportBooked = `SELECT at FROM ledger WHERE chat_key = ?1
	AND (purpose = 'turn' OR purpose IN ('title', 'suggestion') AND tokens > 0) ORDER BY at DESC LIMIT 1`

// LastBooked is when a cost was last booked that the process of a chat's session has reported; zero = never.
func (as Access) LastBooked(ctx context.Context, key chat.Key) (time.Time, error) {
	at, err := queryOne(ctx, as.db.read, scanNumber, lastReportBooked, key.String())
	if errors.Is(err, ErrNotFound) {
		return time.Time{}, nil
	} else if err != nil {
		return time.Time{}, fmt.Errorf("last expense of %v: %w", key, err)
	}
	return fromMillis(at), nil
}

const lastAsker = `SELECT actor_id FROM messages WHERE chat_key = ?1 AND role = 'user' AND +turn_id > 0
	ORDER BY seq DESC LIMIT 1`

// LastAsker is the last user who asked in a chat; empty = none.
func (as Access) LastAsker(ctx context.Context, key chat.Key) (user string, err error) {
	err = as.db.read.QueryRowContext(ctx, lastAsker, key.String()).Scan(&user)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("last user of %v: %w", key, err)
	}
	return user, nil
}

const tokenPrice = `SELECT COALESCE(SUM(cost_usd) / SUM(tokens), 0) FROM ledger WHERE at >= ?1 AND model = ?2
	AND tokens > 0 AND cost_usd > 0`

// Price is the average cost in USD of a model's token since a time; 0 = unknown.
func (as Access) Price(ctx context.Context, model string, since time.Time) (usd float64, err error) {
	if err := as.db.read.QueryRowContext(ctx, tokenPrice, millis(since), model).Scan(&usd); err != nil {
		return 0, fmt.Errorf("cost of a token: %w", err)
	}
	return usd, nil
}

const spent = `SELECT COALESCE(SUM(tokens), 0), COALESCE(SUM(cost_usd), 0) FROM ledger WHERE at >= ?1 AND `

// ofChat matches a chat with all its topics.
const ofChat = `(chat_key = ?2 OR chat_key >= ?2 || ':' AND chat_key < ?2 || ';')`

// Spent is what was spent since a time: by a user in all chats, or if none is given, in a chat with all its topics, which
// one bridge has.
func (as Access) Spent(ctx context.Context, user string, key chat.Key, since time.Time) (Spending, error) {
	if user != "" {
		elsewhere, err := as.elsewhere(ctx, user) // first: what ends meanwhile counts twice, and not never
		if err != nil {
			return Spending{}, err
		}
		s, err := as.sum(ctx, spent+`user_id = ?2`, millis(since), user)
		s.Elsewhere = elsewhere
		return s, err
	}
	key.Thread = ""
	return as.sum(ctx, spent+ofChat, millis(since), key.String())
}

const chatsAskedBy = `SELECT t.chat_key FROM turns t WHERE t.state = 'running' AND EXISTS (SELECT 1 FROM messages m
	WHERE m.chat_key = t.chat_key AND m.turn_id = t.id AND m.role = 'user' AND m.actor_id = ?1)`

// elsewhere counts the turns of a user that run at other bridges. It counts a turn as soon as it is claimed: of two that
// begin at once each bridge sees the other's, so they never exceed a limit together.
func (as Access) elsewhere(ctx context.Context, user string) (int, error) {
	if as.db.place == nil {
		return 0, nil
	}
	asked, err := chatKeys(ctx, as.db.read, chatsAskedBy, user)
	if err != nil {
		return 0, fmt.Errorf("running turns of a user: %w", err)
	}
	rooms, err := as.db.place.Elsewhere(ctx, asked)
	n := 0
	for _, key := range asked {
		if slices.Contains(rooms, key.Parent().String()) {
			n++
		}
	}
	return n, err
}

func (as Access) sum(ctx context.Context, query string, args ...any) (s Spending, err error) {
	if err := as.db.read.QueryRowContext(ctx, query, args...).Scan(&s.Tokens, &s.USD); err != nil {
		return Spending{}, fmt.Errorf("sum up expenses: %w", err)
	}
	return s, nil
}

// quarter is the length of a [SpendingInterval] in milliseconds. The offset of every time zone is a multiple of it, so
// the intervals add up to the days of any zone.
const quarter = int64(15 * time.Minute / time.Millisecond)

// A turn with several payers counts as one answer.
const spendingByInterval = `SELECT at / ?3, COUNT(DISTINCT NULLIF(turn_id, 0)),
	SUM(CASE turn_id WHEN 0 THEN tokens ELSE 0 END), SUM(CASE turn_id WHEN 0 THEN cost_usd ELSE 0 END),
	SUM(tokens), SUM(cost_usd) FROM ledger WHERE at >= ?1 AND `

// SpendingIntervals lists the spending since a time in a chat with all its topics, or in a part of all chats, see
// [chat.PartOf]. No day of any time zone ends within an interval.
func (as Access) SpendingIntervals(ctx context.Context, key chat.Key, since time.Time) ([]SpendingInterval, error) {
	of, without := key.Beginning()
	where := ofChat
	if of == "" {
		where = `?2 = ''`
	}
	query := spendingByInterval + where + ` AND ` + notOf + ` GROUP BY 1 ORDER BY 1`
	list, err := queryAll(ctx, as.db.read, scanInterval, query, millis(since), of, quarter, without)
	if err != nil {
		return nil, fmt.Errorf("list expenses: %w", err)
	}
	return list, nil
}

// scanInterval reads one row of spendingByInterval, whose first column is the number of a quarter of an hour.
func scanInterval(scan scanner) (m SpendingInterval, err error) {
	var at int64
	err = scan(&at, &m.Answers, &m.Background.Tokens, &m.Background.USD, &m.Tokens, &m.USD)
	m.At = fromMillis(at * quarter)
	return m, err
}

// notOf matches the chats that do not begin with something; empty = all. See [chat.Key.Beginning].
const notOf = `(?4 = '' OR chat_key < ?4 OR chat_key > ?4 || '~')`

// inChatOrAny matches a chat with all its topics, or if it is empty, every chat.
const inChatOrAny = `(?3 = '' OR chat_key = ?3 OR chat_key >= ?3 || ':' AND chat_key < ?3 || ';') AND ` + notOf

// spenders are the lists of those who have spent most.
var spenders = map[string]string{
	"user": `SELECT user_id, COALESCE((SELECT actor_name FROM messages m WHERE m.chat_key = s.somewhere
		AND m.actor_id = s.user_id AND m.actor_name <> '' ORDER BY m.seq DESC LIMIT 1), ''), tokens, usd
		FROM (SELECT user_id, MAX(chat_key) AS somewhere, SUM(tokens) AS tokens, SUM(cost_usd) AS usd
			FROM ledger WHERE at >= ?1 AND ` + inChatOrAny + ` GROUP BY user_id) s
		ORDER BY usd DESC, tokens DESC, user_id LIMIT ?2`,
	"chat": `SELECT chat_key, COALESCE((SELECT CASE WHEN title <> '' THEN title ELSE topic END FROM chats
		WHERE key = l.chat_key), ''), SUM(tokens), SUM(cost_usd) AS usd
		FROM ledger l WHERE at >= ?1 AND ` + inChatOrAny + ` GROUP BY chat_key ORDER BY usd DESC, 3 DESC, 1 LIMIT ?2`,
	"model": `SELECT model, '', SUM(tokens), SUM(cost_usd) AS usd FROM ledger WHERE at >= ?1 AND ` + inChatOrAny + `
		GROUP BY model ORDER BY usd DESC, 3 DESC, 1 LIMIT ?2`,
}

// Spenders lists the users, chats or models, as by says ("user", "chat", "model"), with the highest spending since a time
// in a chat with all its topics, or in a part of all chats, see [chat.PartOf].
func (as Access) Spenders(
	ctx context.Context, by string, key chat.Key, since time.Time, most int,
) ([]Spender, error) {
	of, without := key.Beginning()
	list, err := queryAll(ctx, as.db.read, scanSpender, spenders[by], millis(since), most, of, without)
	if err != nil {
		return nil, fmt.Errorf("list spenders by %s: %w", by, err)
	}
	return list, nil
}

func scanSpender(scan scanner) (s Spender, err error) {
	err = scan(&s.ID, &s.Name, &s.Tokens, &s.USD)
	return s, err
}
