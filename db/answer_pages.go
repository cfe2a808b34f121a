package db

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"magpie/internal/chat"
)

const (
	forgetPages = `DELETE FROM answer_pages
	WHERE answer = (SELECT id FROM messages WHERE chat_key = ?1 AND message_id = ?2)`
	insertPages = `INSERT OR REPLACE INTO answer_pages (page_id, answer, text) SELECT j.key, m.id, j.value
	FROM messages m CROSS JOIN json_each(?3) j WHERE m.chat_key = ?1 AND m.message_id = ?2` + notRecalled
)

// SetPages stores what each message of a turn's answer shows, by the platform's message ID, for [Messages.Quoted].
// It replaces what was stored before, and is deleted with the answer. Of a turn without an answer nothing is stored.
func (ms Messages) SetPages(ctx context.Context, key chat.Key, turn int64, pages map[string]string) error {
	list, err := json.Marshal(pages)
	if err == nil {
		err = ms.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, forgetPages, key.String(), AnswerID(turn)); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, insertPages, key.String(), AnswerID(turn), string(list))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("store the pages of turn %d: %w", turn, err)
	}
	return nil
}

const answerPage = `SELECT seq, epoch, turn_id, message_id, role, class, actor_id, actor_name, text, sent_at
	FROM answer_pages JOIN messages ON id = answer WHERE chat_key = ?1 AND page_id = ?2` + notRecalled
