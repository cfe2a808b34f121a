package db

import (
	"context"
	"database/sql"
	"fmt"

	"magpie/internal/chat"
)

// unlearner is the recorded author of changes caused by a recalled message.
const unlearner = "magpie"

// The bot's answers are not sources of their own: they go with the question.
const memoriesOf = `SELECT m.id, NOT EXISTS (SELECT 1 FROM memory_versions v WHERE v.memory_id = m.id
	AND v.act = 'changed' AND v.who <> ?3)
	AND NOT EXISTS (SELECT 1 FROM json_each(m.sources) s WHERE s.value NOT LIKE 'answer:%' AND NOT EXISTS (
		SELECT 1 FROM messages x WHERE x.chat_key = ?1 AND x.message_id = s.value AND x.state = 'recalled'))
	FROM memories m WHERE m.chat_key = ?1 AND EXISTS (
		SELECT 1 FROM json_each(m.sources) s WHERE s.value IN (SELECT value FROM json_each(?2))
	)
	ORDER BY m.number`

// derivedMemory is a memory that was derived from messages.
type derivedMemory struct {
	id    string
	alone bool // all sources were recalled, and nobody has changed it
}

func (ms Memories) derivedFrom(ctx context.Context, tx *sql.Tx, key chat.Key, ids []string) ([]derivedMemory, error) {
	found, err := queryAll(ctx, tx, scanDerived, memoriesOf, key.String(), encodeList(ids), unlearner)
	if err != nil {
		return nil, fmt.Errorf("memories of recalled messages: %w", err)
	}
	return found, nil
}

func scanDerived(scan scanner) (m derivedMemory, err error) {
	err = scan(&m.id, &m.alone)
	return m, err
}

// retract deletes memories whose only sources were recalled. A memory with other sources, or one that was changed
// since, is set back to proposed until somebody approves it.
func (ms Memories) retract(ctx context.Context, tx *sql.Tx, key chat.Key, ids []string) error {
	by := Change{Who: unlearner, Why: recalled}
	found, err := ms.derivedFrom(ctx, tx, key, ids)
	if err != nil {
		return err
	}
	for _, f := range found {
		m, err := loadMemory(ctx, tx, key, f.id)
		if err != nil {
			return err
		}
		if f.alone {
			_, err = ms.forget(ctx, tx, m, by)
		} else {
			m.Proposed = true
			_, err = ms.save(ctx, tx, m, by)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
