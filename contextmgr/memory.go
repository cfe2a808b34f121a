package contextmgr

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/embed"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// MemoryConfig is the [memory] section.
type MemoryConfig struct {
	// runes of all memories in one prompt; 0 = none
	MaxChars int `toml:"max_chars" env:"MAX_CHARS"`
	// memories proposed by the agent or a member wait for the chat owner's approval
	Approval bool `toml:"approval" env:"APPROVAL"`
	// capture memories in groups, too
	CaptureGroup bool `toml:"capture_group_memory" env:"CAPTURE_GROUP_MEMORY"`
	// give the agent tools to save and search memories
	Tools bool `toml:"tools" env:"TOOLS"`
	// look for memories after every answer
	Capture bool `toml:"capture" env:"CAPTURE"`

	// full URL of an OpenAI-compatible endpoint; empty = messages are searched by words only
	EmbeddingsURL   string `toml:"embeddings_url" env:"EMBEDDINGS_URL"`
	EmbeddingsModel string `toml:"embeddings_model" env:"EMBEDDINGS_MODEL"`
	EmbeddingsKey   string `toml:"embeddings_key" env:"EMBEDDINGS_KEY"` // sent as a bearer token; empty = none
	// EmbeddingsWait is how long a question waits for the semantic search; 0 is half a second. Tests on a busy machine
	// use more.
	EmbeddingsWait time.Duration `toml:"-" env:"-"`
}

// MemoryDefaults returns the default configuration.
func MemoryDefaults() MemoryConfig { return MemoryConfig{MaxChars: 1500, Tools: true} }

// Validate reports all problems with c.
func (c MemoryConfig) Validate() error {
	var errs []error
	if c.MaxChars < 0 {
		errs = append(errs, errNegative("[memory] max_chars"))
	}
	if c.EmbeddingsURL != "" {
		if err := (embed.Config{URL: c.EmbeddingsURL}).Validate(); err != nil {
			errs = append(errs, i18n.Mistakef("[memory] embeddings_url：%v", "[memory] embeddings_url: %v", err))
		}
		if c.EmbeddingsModel == "" {
			errs = append(errs, i18n.Mistakef("[memory] embeddings_model 是空的：写 embeddings_url 提供的一个模型",
				"[memory] embeddings_model is empty: name a model that the endpoint of embeddings_url has"))
		}
	}
	return errors.Join(errs...)
}

// Audience is the group of people that memories are looked up for. Memories of anyone else stay hidden.
type Audience struct {
	Key     chat.Key
	Users   []string // the askers
	Project string   // the chat's project folder
}

// includes reports whether a memory is for the audience.
func (a Audience) includes(m db.Memory) bool {
	switch {
	case m.Key != a.Key || m.Proposed:
		return false
	case m.Scope == db.UserScope:
		return slices.Contains(a.Users, m.Of)
	case m.Scope == db.ProjectScope:
		return m.Of == a.Project
	}
	return m.Scope == db.ChatScope
}

// Memories lists the memories for the audience, oldest first.
func (m *Manager) Memories(ctx context.Context, a Audience) ([]db.Memory, error) {
	list, err := m.db.Memories().List(ctx, a.Key)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list, func(x db.Memory) bool { return !a.includes(x) }), nil
}

// SearchMemories finds the memories that match the query, the best first.
func (m *Manager) SearchMemories(ctx context.Context, a Audience, query string, limit int) ([]db.Memory, error) {
	list, err := m.Memories(ctx, a)
	if err != nil {
		return nil, err
	}
	list = rankMemories(list, query, true)
	return list[:min(limit, len(list))], nil
}

// memories selects the memories for a prompt; a live process gets only new ones. An error is logged and memories are
// left out, since an answer without them is better than none.
func (m *Manager) memories(ctx context.Context, r Request) []Memory {
	if m.cfg.Memory.MaxChars == 0 || m.cfg.historyFor(r) == none {
		return nil
	}
	list, err := m.Memories(ctx, r.audience())
	if err != nil {
		m.log.Error().Err(err).Stringer("chat", r.Key).Int64("turn", r.Turn).
			Msg("memories not available; answering without them")
		return nil
	}
	chosen := contextMemories(selectMemories(list, r.question(), m.cfg.Memory.MaxChars))
	if r.Live {
		chosen = m.sent.unsent(r.Key, chosen)
	}
	return chosen
}

// contextMemories converts stored memories to entries of a context.
func contextMemories(list []db.Memory) []Memory {
	var shown []Memory
	for _, x := range list {
		shown = append(shown, Memory{ID: x.ID, Title: x.Title, Text: x.Text, Date: x.Updated})
	}
	return shown
}

// audience is the audience of the request: everyone who asks in this turn.
func (r Request) audience() Audience {
	a := Audience{Key: r.Key, Project: r.Project}
	for _, m := range r.Asked {
		a.Users = append(a.Users, m.Actor.ID)
	}
	return a
}

// question is the text by which memories are ranked.
func (r Request) question() string {
	var texts []string
	for _, m := range r.Asked {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, "\n")
}

// minShown is the minimum part of a memory's text that is worth showing, in runes.
const minShown = 200

// selectMemories selects the memories for a question: all if they fit in that many runes, otherwise the best. They are
// returned oldest first.
func selectMemories(list []db.Memory, question string, runes int) []db.Memory {
	total := 0
	for _, m := range list {
		total += memoryRunes(m)
	}
	if total > runes {
		room := runes
		var chosen []db.Memory
		for _, m := range rankMemories(list, question, false) {
			// A long memory is shortened instead of skipped, if something useful remains.
			if over := memoryRunes(m) - room; over > 0 {
				if m = shortenMemory(m, over); memoryRunes(m) > room {
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

// memoryRunes is the size of a memory in the budget.
func memoryRunes(m db.Memory) int {
	return utf8.RuneCountInString(m.Title) + utf8.RuneCountInString(m.Text)
}

// shortenMemory shortens m by this many runes, if enough remains to be useful.
func shortenMemory(m db.Memory, by int) db.Memory {
	if left := utf8.RuneCountInString(m.Text) - by; left > minShown {
		m.Text = text.Shorten(m.Text, left)
	}
	return m
}
