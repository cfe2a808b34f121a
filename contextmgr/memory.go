package contextmgr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/embed"
	"magpie/internal/text"
)

// MemoryConfig is the [memory] section.
type MemoryConfig struct {
	// runes of memories in one prompt; 0 = none
	MaxChars int `toml:"max_chars" env:"MAX_CHARS"`
	// what the agent or a member proposes waits for the chat's owner
	Approval bool `toml:"approval" env:"APPROVAL"`
	// whether groups are remembered unasked, too
	CaptureGroup bool `toml:"capture_group_memory" env:"CAPTURE_GROUP_MEMORY"`
	// whether the agent may remember and search by itself
	Tools bool `toml:"tools" env:"TOOLS"`
	// whether every answer is followed by a look for what to remember
	Capture bool `toml:"capture" env:"CAPTURE"`

	// an OpenAI-compatible endpoint, all of it; empty = messages are found by their words only
	EmbeddingsURL   string `toml:"embeddings_url" env:"EMBEDDINGS_URL"`
	EmbeddingsModel string `toml:"embeddings_model" env:"EMBEDDINGS_MODEL"`
	EmbeddingsKey   string `toml:"embeddings_key" env:"EMBEDDINGS_KEY"` // sent as a bearer token; empty = none
	// EmbeddingsWait is how long a question waits for what its words mean; 0 is half a second. Tests on a busy machine
	// are more patient.
	EmbeddingsWait time.Duration `toml:"-" env:"-"`
}

// MemoryDefaults is the section of a program that configures nothing.
func MemoryDefaults() MemoryConfig { return MemoryConfig{MaxChars: 1500, Tools: true} }

// Validate reports everything that is wrong with c.
func (c MemoryConfig) Validate() error {
	var errs []error
	if c.MaxChars < 0 {
		errs = append(errs, errors.New("[memory] max_chars: want 0 or more"))
	}
	if c.EmbeddingsURL != "" {
		if err := (embed.Config{URL: c.EmbeddingsURL}).Validate(); err != nil {
			errs = append(errs, fmt.Errorf("[memory] embeddings_url: %w", err))
		}
		if c.EmbeddingsModel == "" {
			errs = append(errs, errors.New("[memory] embeddings_model is empty: name a model that the endpoint of embeddings_url has"))
		}
	}
	return errors.Join(errs...)
}

// Audience is for whom memories are looked up: nobody else's count.
type Audience struct {
	Key     chat.Key
	Users   []string // who asks
	Project string   // where the chat works
}

// hears reports whether a memory counts for the audience.
func (a Audience) hears(m db.Memory) bool {
	switch {
	case m.Key != a.Key || m.State != db.ActiveMemory:
		return false
	case m.Scope == db.UserScope:
		return slices.Contains(a.Users, m.Of)
	case m.Scope == db.ProjectScope:
		return m.Of == a.Project
	}
	return m.Scope == db.ChatScope
}

// Memories are the memories that count for the audience, oldest first.
func (m *Manager) Memories(ctx context.Context, a Audience) ([]db.Memory, error) {
	list, err := m.db.Memories().Of(ctx, a.Key)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(x db.Memory) bool { return !a.hears(x) }), nil
}

// SearchMemories finds the memories that have something to do with the query, the best first.
func (m *Manager) SearchMemories(ctx context.Context, a Audience, query string, limit int) ([]db.Memory, error) {
	list, err := m.Memories(ctx, a)
	if err != nil {
		return nil, err
	}
	list = rankMemories(list, query, true)
	return list[:min(limit, len(list))], nil
}

// memories are those for a prompt; a living process gets only what it was not told yet. What cannot be read is logged
// and left out, since an answer without it is better than none.
func (m *Manager) memories(ctx context.Context, r Request) []Memory {
	if m.cfg.Memory.MaxChars == 0 || m.cfg.prefix(r) == none {
		return nil
	}
	list, err := m.Memories(ctx, r.audience())
	if err != nil {
		m.log.Error().Err(err).Stringer("chat", r.Key).Int64("turn", r.Turn).Msg("memories not read; answering without")
		return nil
	}
	chosen := asShown(chooseMemories(list, r.question(), m.cfg.Memory.MaxChars))
	if r.Live {
		chosen = m.told.untold(r.Key, chosen)
	}
	return chosen
}

// asShown are stored memories as a context lists them.
func asShown(list []db.Memory) []Memory {
	var shown []Memory
	for _, x := range list {
		shown = append(shown, Memory{ID: x.ID, Title: x.Title, Text: x.Text, Date: x.Updated})
	}
	return shown
}

func (r Request) audience() Audience {
	a := Audience{Key: r.Key, Project: r.Project}
	for _, m := range r.Asked {
		a.Users = append(a.Users, m.Actor.ID)
	}
	return a
}

func (r Request) question() string {
	var texts []string
	for _, m := range r.Asked {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, "\n")
}

// worthwhile is the least part of a memory's text that is shown when the whole does not fit, in runes.
const worthwhile = 200

// chooseMemories takes the memories for a question: all when they fit into so many runes, else the best. They come
// oldest first.
func chooseMemories(list []db.Memory, question string, runes int) []db.Memory {
	total := 0
	for _, m := range list {
		total += memoryRunes(m)
	}
	if total > runes {
		room := runes
		var chosen []db.Memory
		for _, m := range rankMemories(list, question, false) {
			if over := memoryRunes(m) - room; over > 0 {
				if m = shortened(m, over); memoryRunes(m) > room {
					continue
				}
			}
			room -= memoryRunes(m)
			chosen = append(chosen, m)
		}
		list = chosen
	}
	slices.SortStableFunc(list, func(a, b db.Memory) int {
		return cmp.Or(a.Updated.Compare(b.Updated), cmp.Compare(a.Number, b.Number))
	})
	return list
}

func memoryRunes(m db.Memory) int {
	return utf8.RuneCountInString(m.Title) + utf8.RuneCountInString(m.Text)
}

// shortened is m with so many runes less, if enough is left to be of use.
func shortened(m db.Memory, by int) db.Memory {
	if left := utf8.RuneCountInString(m.Text) - by; left > worthwhile {
		m.Text = text.Shorten(m.Text, left)
	}
	return m
}
