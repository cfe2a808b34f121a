package db

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Drafts is what people have seen of the answers of turns that run.
type Drafts Turns

// Drafts gives what was seen of answers.
func (ts Turns) Drafts() Drafts { return Drafts(ts) }

const setTurnDraft = `UPDATE turns SET draft = ?2, part_ends = ?3 WHERE id = ?1 AND state = 'running'`

// Set stores what people are about to see of a running turn's answer, in the parts that stand on messages of their
// own.
func (ds Drafts) Set(ctx context.Context, turn int64, parts ...string) error {
	var draft string
	var ends []int
	for i, part := range parts {
		if draft != "" && part != "" {
			draft += partBorder
		}
		if draft += part; i < len(parts)-1 {
			ends = append(ends, len(draft))
		}
	}
	stored := ""
	if len(ends) > 0 {
		data, err := json.Marshal(ends)
		if err != nil {
			return fmt.Errorf("set draft of turn %d: %w", turn, err)
		}
		stored = string(data)
	}
	if _, err := ds.db.engine.Exec(ctx, setTurnDraft, turn, draft, stored); err != nil {
		return fmt.Errorf("set draft of turn %d: %w", turn, err)
	}
	return nil
}

// partBorder is what stands between two parts of an answer when it is one text.
const partBorder = "\n\n"

const turnPartEnds = `SELECT part_ends FROM turns WHERE id = ?1`

// Parts divides the answer of a turn as its last draft was: whatever is drawn of it later must leave what people have
// seen where it is.
func (ds Drafts) Parts(ctx context.Context, turn int64, answer string) ([]string, error) {
	stored, err := one(ctx, ds.db.read, scanText, turnPartEnds, turn)
	if err != nil {
		return nil, fmt.Errorf("parts of turn %d: %w", turn, err)
	}
	var ends []int
	if stored != "" {
		if err := json.Unmarshal([]byte(stored), &ends); err != nil {
			return nil, fmt.Errorf("parts of turn %d: %w", turn, err)
		}
	}
	return divide(answer, ends), nil
}

// divide cuts a text before these bytes, and never within a character: the text may be another one than that to which
// the ends belong.
func divide(text string, ends []int) []string {
	parts, from := make([]string, 0, len(ends)+1), 0
	for _, end := range append(ends, len(text)) {
		end = max(from, min(end, len(text)))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end--
		}
		part := text[from:end]
		if from > 0 {
			part = strings.TrimPrefix(part, partBorder)
		}
		parts, from = append(parts, part), end
	}
	return parts
}
