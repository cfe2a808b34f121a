package db

import (
	"context"
	"database/sql"
	"fmt"

	"magpie/internal/chat"
	"magpie/internal/convo"
)

// A follow-up that was interrupted is continued as well.
const continuationsOf = `SELECT ` + turnColumns + ` FROM turns WHERE chat_key = ?1 AND id > ?2 AND (continues = ?2
	OR continues > 0 AND continues IN (SELECT id FROM turns WHERE chat_key = ?1 AND id > ?2 AND follows = ?2))
	ORDER BY id`

// withdrawContinuations reaches the turns that continue the interrupted turn of a recalled question. It returns the
// requests to continue of those that answer nothing else: they are recalled together with the question. A running turn
// is stopped; what else it answers is asked again.
func (r *Recalled) withdrawContinuations(
	ctx context.Context, d *DB, tx *sql.Tx, m chat.Message,
) (requests []version, err error) {
	if m.Turn == 0 || m.Role != chat.User {
		return nil, nil
	}
	recalled, err := allRecalled(ctx, tx, m.Key, m.Turn)
	if err != nil {
		return nil, err
	}
	list, err := queryAll(ctx, tx, scanTurn, continuationsOf, m.Key.String(), m.Turn)
	if err != nil {
		return nil, fmt.Errorf("turns that continue turn %d: %w", m.Turn, err)
	}
	for _, t := range list {
		var own []version
		if recalled {
			if own, err = requestsToContinue(ctx, tx, t); err != nil {
				return nil, err
			}
		}
		loses := convo.Loses{Turn: t.ID}
		if t.Continues == m.Turn {
			loses.Seq = m.Seq
		}
		if recalled || len(own) == 0 && t.State == convo.Running {
			effects, err := d.decide(ctx, tx, t.Key, loses)
			if err != nil {
				return nil, err
			} else if len(effects) > 0 {
				r.Running = max(r.Running, t.ID)
			}
		}
		requests = append(requests, own...)
	}
	return requests, nil
}

// requestsToContinue are the messages that asked for a continuation: what a button has written, or the only question.
func requestsToContinue(ctx context.Context, tx *sql.Tx, t Turn) (list []version, err error) {
	asked, err := queryMessages(ctx, tx, t.Key, selectAsked, t.Key.String(), t.ID)
	if err != nil {
		return nil, fmt.Errorf("questions of turn %d: %w", t.ID, err)
	}
	for _, m := range asked {
		if len(asked) > 1 && m.ID != continueID(t.Continues) {
			continue
		}
		found, err := versions(ctx, tx, t.Key.String(), m.ID)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	return list, nil
}
