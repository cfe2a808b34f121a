package db

import (
	"context"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// totals is the bot's work in a period.
type totals struct {
	Turns   int // ended turns
	Failed  int // failed ones among them
	CostUSD float64
	Waiting int // open approvals at the end of the period
}

const business = `SELECT (SELECT COUNT(*) FROM turns INDEXED BY turns_ended WHERE ended_at > 0
	AND ended_at >= ?1 AND ended_at < ?2 AND ` + inChatOrAny + `),
	(SELECT COUNT(*) FROM turns INDEXED BY turns_ended WHERE ended_at > 0 AND ended_at >= ?1 AND ended_at < ?2
	AND state = 'failed' AND ` + inChatOrAny + `),
	(SELECT COALESCE(SUM(cost_usd), 0) FROM ledger WHERE at >= ?1 AND at < ?2 AND ` + inChatOrAny + `),
	(SELECT COUNT(*) FROM approvals WHERE state = 'waiting' AND ` + inChatOrAny + `)`

// Totals returns the totals of a part of all chats, see [chat.PartOf].
func (cs Chats) Totals(ctx context.Context, part chat.Key, from, to time.Time) (b totals, err error) {
	of, without := part.Beginning()
	err = cs.db.read.QueryRowContext(ctx, business, millis(from), millis(to), of, without).
		Scan(&b.Turns, &b.Failed, &b.CostUSD, &b.Waiting)
	if err != nil {
		return b, fmt.Errorf("sum up the day: %w", err)
	}
	return b, nil
}
