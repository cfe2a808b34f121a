package db

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

const setTurnDraft = `UPDATE turns SET draft = ?2, part_ends = ?3 WHERE id = ?1 AND state = 'running'`

// SetDraft stores what people are about to see of a running turn's answer, by message.
func (ts Turns) SetDraft(ctx context.Context, turn int64, parts ...string) error {
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
	if _, err := ts.db.engine.Exec(ctx, setTurnDraft, turn, draft, stored); err != nil {
		return fmt.Errorf("set draft of turn %d: %w", turn, err)
	}
	return nil
}

// partBorder separates the parts of an answer in its text.
const partBorder = "\n\n"

const turnPartEnds = `SELECT part_ends FROM turns WHERE id = ?1`

// Parts divides the answer of a turn like its last draft: whatever is drawn later must keep what people have seen in
// its place. If nobody can read any more where that was, the answer is one part.
func (ts Turns) Parts(ctx context.Context, turn int64, answer string) ([]string, error) {
	stored, err := queryOne(ctx, ts.db.read, scanText, turnPartEnds, turn)
	if err != nil {
		return nil, fmt.Errorf("parts of turn %d: %w", turn, err)
	}
	var ends []int
	if stored != "" && json.Unmarshal([]byte(stored), &ends) != nil {
		ends = nil
	}
	return splitAt(answer, ends), nil
}

// splitAt cuts a text at these byte offsets, but never within a character: the offsets may belong to another text.
func splitAt(text string, ends []int) []string {
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
