package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// Permit is the content of a rule.
type Permit struct {
	Tool    string `json:"tool"`
	Kind    string `json:"kind"` // how it is matched with a tool call
	Content string `json:"content"`
}

// Rule allows an agent something without asking, in one chat while it works in one project.
type Rule struct {
	Permit
	Number  int64 // within the chat; never reused
	Project string
	By      chat.Actor
	Made    time.Time
}

const ruleColumns = `number, project, tool, kind, content, made_by, maker, made_at`

const selectRules = `SELECT ` + ruleColumns + ` FROM rules WHERE chat_key = ?1 AND revoked_at = 0 ORDER BY number`

// Rules lists the active rules of a chat.
func (as Access) Rules(ctx context.Context, key chat.Key) ([]Rule, error) {
	list, err := queryAll(ctx, as.db.read, scanRule, selectRules, key.String())
	if err != nil {
		return nil, fmt.Errorf("rules of %v: %w", key, err)
	}
	return list, nil
}

const selectEveryRule = `SELECT ` + ruleColumns + ` FROM rules WHERE chat_key = ?1`

// everyRule returns the rules of a chat by number, including those that were revoked.
func (as Access) everyRule(ctx context.Context, key chat.Key) (map[int64]Rule, error) {
	list, err := queryAll(ctx, as.db.read, scanRule, selectEveryRule, key.String())
	if err != nil {
		return nil, fmt.Errorf("all rules of %v: %w", key, err)
	}
	rules := make(map[int64]Rule, len(list))
	for _, r := range list {
		rules[r.Number] = r
	}
	return rules, nil
}

func scanRule(scan scanner) (r Rule, err error) {
	var made int64
	err = scan(&r.Number, &r.Project, &r.Tool, &r.Kind, &r.Content, &r.By.ID, &r.By.Name, &made)
	r.Made = fromMillis(made)
	return r, err
}

const insertRule = `INSERT INTO rules (chat_key, number, project, tool, kind, content, made_by, maker, made_at)
	SELECT ?1, COALESCE(MAX(number), 0) + 1, ?2, ?3, ?4, ?5, ?6, ?7, ?8 FROM rules WHERE chat_key = ?1
	HAVING NOT EXISTS (SELECT 1 FROM rules WHERE chat_key = ?1 AND project = ?2
		AND tool = ?3 AND kind = ?4 AND content = ?5 AND revoked_at = 0)
	RETURNING number`

const sameRule = `SELECT number FROM rules WHERE chat_key = ?1 AND project = ?2 AND tool = ?3 AND kind = ?4
	AND content = ?5 AND revoked_at = 0`

// insertRule stores the rule of an approval, in the transaction of its decision, and returns its number. An existing
// rule stays as it is.
func (as Access) insertRule(ctx context.Context, tx *sql.Tx, a Approval, now time.Time) (number int64, err error) {
	allows := []any{a.Key.String(), a.Project, a.Always.Tool, a.Always.Kind, a.Always.Content}
	err = tx.QueryRowContext(ctx, insertRule, append(allows, a.By.ID, a.By.Name, millis(now))...).Scan(&number)
	if errors.Is(err, sql.ErrNoRows) {
		err = tx.QueryRowContext(ctx, sameRule, allows...).Scan(&number)
	}
	if err != nil {
		return 0, fmt.Errorf("add rule: %w", err)
	}
	return number, nil
}

const undoRule = `UPDATE rules SET revoked_at = ?2 WHERE tool = ?3 AND kind = ?4 AND content = ?5 AND revoked_at = 0 AND
	(chat_key, project, made_by, made_at) =
	(SELECT chat_key, project, decided_by, decided_at FROM approvals WHERE id = ?1)`

// undoRule removes the rule that an approval's decision created, if any, while that decision is stored.
func (as Access) undoRule(ctx context.Context, tx *sql.Tx, a Approval) error {
	_, err := tx.ExecContext(ctx, undoRule, a.ID, millis(as.db.now()), a.Always.Tool, a.Always.Kind, a.Always.Content)
	if err != nil {
		return fmt.Errorf("undo rule: %w", err)
	}
	return nil
}

const revokeRule = `UPDATE rules SET revoked_at = ?3 WHERE chat_key = ?1 AND number = ?2 AND revoked_at = 0`
