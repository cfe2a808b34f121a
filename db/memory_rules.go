package db

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// Limits of a memory. A longer title or list is cut, a longer text is rejected.
const (
	MaxMemoryText  = 8000 // runes
	maxTitle       = 120  // runes
	maxKeywords    = 32
	maxKeyword     = 64 // runes
	maxSources     = 100
	titleFromWords = 40 // runes of the text used as the title
)

// ErrBadMemory means that a memory cannot be stored as it is.
var ErrBadMemory = i18n.Mistakef("不是有效的记忆", "not a memory")

// Tidy returns m as it is stored: complete, within limits and valid UTF-8. If that is not possible, it returns
// [ErrBadMemory].
func (m Memory) Tidy() (Memory, error) {
	m.Text = strings.TrimSpace(text.Mend(m.Text))
	m.Title = oneLine(m.Title, maxTitle)
	if m.Title == "" {
		first, _, _ := strings.Cut(m.Text, "\n")
		m.Title = oneLine(first, titleFromWords)
	}
	if m.Scope == "" {
		m.Scope = ChatScope
	}
	// A memory of the chat has no subject; a leftover one would hide it.
	if m.Scope == ChatScope {
		m.Of = ""
	}
	m.Keywords = tidyKeywords(m.Keywords)
	// The newest sources are kept, since they support the current text.
	if len(m.Sources) > maxSources {
		m.Sources = m.Sources[len(m.Sources)-maxSources:]
	}
	switch {
	case m.Text == "":
		return m, i18n.Mistakef("%v：没有正文", "%v: it has no text", ErrBadMemory)
	case utf8.RuneCountInString(m.Text) > MaxMemoryText:
		return m, i18n.Mistakef("%v：正文超过 %d 字", "%v: its text has more than %d characters", ErrBadMemory, MaxMemoryText)
	case !slices.Contains([]MemoryScope{ChatScope, UserScope, ProjectScope}, m.Scope):
		return m, i18n.Mistakef("%v：scope %q：应为 chat、user 或 project", "%v: scope %q: must be chat, user or project",
			ErrBadMemory, m.Scope)
	case m.Scope != ChatScope && m.Of == "":
		return m, i18n.Mistakef("%v：scope 是 %s，但没有写是哪一个", "%v: scope is %s, but not which one", ErrBadMemory,
			m.Scope)
	}
	return m, nil
}

// oneLine shortens s to one line of limited length.
func oneLine(s string, most int) string {
	visible := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text.Mend(s))
	return text.Shorten(text.OneLine(visible), most)
}

// tidyKeywords limits number and length: keywords come from a model, and each takes space in the index.
func tidyKeywords(words []string) []string {
	var kept []string
	for _, w := range words {
		w = oneLine(w, maxKeyword)
		if w != "" && !slices.Contains(kept, w) && len(kept) < maxKeywords {
			kept = append(kept, w)
		}
	}
	return kept
}

// sameContent reports whether m has no content that old lacks.
func (m Memory) sameContent(old Memory) bool {
	return m.Scope == old.Scope && m.Of == old.Of && m.Proposed == old.Proposed && m.Title == old.Title && m.Text == old.Text &&
		slices.Equal(m.Keywords, old.Keywords) && slices.Equal(m.Sources, old.Sources)
}

// encodeList encodes a list for storage.
func encodeList(s []string) string {
	if len(s) == 0 {
		return "[]"
	}
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // it contains only strings
	}
	return string(data)
}

// titleHash lets somebody who knows both a memory and a title check whether they belong together, and reveals nothing
// else.
func titleHash(m Memory) string {
	sum := sha256.Sum256([]byte(m.ID + "\n" + m.Title))
	return hex.EncodeToString(sum[:])
}

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
