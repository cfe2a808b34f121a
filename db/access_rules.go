package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// RuleKind says how a rule is compared with what an agent wants.
type RuleKind string

// The kinds of rules, from what allows the least.
const (
	ExactRule  RuleKind = "exact"  // this very command
	PrefixRule RuleKind = "prefix" // commands that begin with these words
	PathRule   RuleKind = "path"   // this file
	InsideRule RuleKind = "inside" // files in the project
	HostRule   RuleKind = "host"   // pages of this site
	ToolRule   RuleKind = "tool"   // whatever the tool does
)

// Permit is what a rule allows.
type Permit struct {
	Tool    string   `json:"tool"`
	Kind    RuleKind `json:"kind"`
	Content string   `json:"content"`
}

// Rule is something that an agent may do unasked, in one chat while that works in one project.
type Rule struct {
	Permit
	Number  int64 // within the chat; never given twice
	Project string
	By      chat.Actor
	Made    time.Time
}

// Rules is what needs no asking.
type Rules struct{ db *DB }

// Rules gives the rules of the database.
func (d *DB) Rules() Rules { return Rules{d} }

const selectRules = `SELECT number, project, tool, kind, content, made_by, maker, made_at FROM rules
	WHERE chat_key = ?1 AND revoked_at = 0 ORDER BY number`

// List lists the rules that are in force in a chat.
func (rs Rules) List(ctx context.Context, key chat.Key) ([]Rule, error) {
	list, err := collect(ctx, rs.db.read, scanRule, selectRules, key.String())
	if err != nil {
		return nil, fmt.Errorf("rules of %v: %w", key, err)
	}
	return list, nil
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
		AND tool = ?3 AND kind = ?4 AND content = ?5 AND revoked_at = 0)`

// insert puts in force what an approval allows for good, in the transaction of its decision. A rule that is in force
// already stays as it is.
func (rs Rules) insert(ctx context.Context, tx *sql.Tx, a Approval, now time.Time) error {
	_, err := tx.ExecContext(ctx, insertRule, a.Key.String(), a.Project, a.Always.Tool, a.Always.Kind, a.Always.Content,
		a.By.ID, a.By.Name, millis(now))
	if err != nil {
		return fmt.Errorf("add rule: %w", err)
	}
	return nil
}

const undoRule = `UPDATE rules SET revoked_at = ?2 WHERE tool = ?3 AND kind = ?4 AND content = ?5 AND revoked_at = 0 AND
	(chat_key, project, made_by, made_at) =
	(SELECT chat_key, project, decided_by, decided_at FROM approvals WHERE id = ?1)`

// undo ends the rule that the decision of an approval has made, if it has made one, as long as that decision is stored.
func (rs Rules) undo(ctx context.Context, tx *sql.Tx, a Approval) error {
	_, err := tx.ExecContext(ctx, undoRule, a.ID, millis(rs.db.now()), a.Always.Tool, a.Always.Kind, a.Always.Content)
	if err != nil {
		return fmt.Errorf("undo rule: %w", err)
	}
	return nil
}

const revokeRule = `UPDATE rules SET revoked_at = ?3 WHERE chat_key = ?1 AND number = ?2 AND revoked_at = 0`
