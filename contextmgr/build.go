package contextmgr

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
)

// Stats tells what a prompt consists of.
type Stats struct {
	Messages     int           `json:"messages"` // of the history prefix
	UserMessages int           `json:"user_messages"`
	Chars        int           `json:"chars"`  // of their texts, in runes
	Tokens       int           `json:"tokens"` // of the whole prompt, estimated
	Recalled     int           `json:"recalled"`
	Memories     int           `json:"memories"`
	Background   int           `json:"background"`
	BuildTime    time.Duration `json:"build_ns"`
}

// MarshalZerologObject writes the statistics into a log line.
func (s Stats) MarshalZerologObject(e *zerolog.Event) {
	e.Int("messages", s.Messages).Int("user_messages", s.UserMessages).Int("chars", s.Chars).
		Int("tokens", s.Tokens).Int("recalled", s.Recalled).Int("background", s.Background).Int("memories", s.Memories).Dur("build_ms", s.BuildTime)
}

// Prompt is the context of one turn.
type Prompt struct {
	UseResume bool
	ResumeID  string // the session to resume; empty unless UseResume
	Kind      chat.Kind
	Context
	Current string // what is asked now, as [ParseQuestion] reads it
	Stats   Stats
	Unread  bool // the History, or a part of it, could not be read
}

// Text is what the agent is sent.
func (p Prompt) Text() string { return Prefix(p.Context, p.Kind, p.Current) }

// Request says for which turn a context is wanted.
type Request struct {
	Key      chat.Key
	Kind     chat.Kind
	Project  string // the folder that the chat works in
	Epoch    int64
	Turn     int64
	Asked    []chat.Message // in order
	Note     string         // a line of our own below the questions; empty = none
	ResumeID string         // the session that will be resumed; empty = none
	Seen     int64          // the last turn that the session holds
	After    int64          // the recent part begins after the message with this seq; 0 = with the first
	Summary  Summary        // of what was said up to After
	Lost     bool           // the session was lost in this very turn
	Live     bool           // a living process goes on with the session
	Verified bool           // the session was compared with the store: it holds the turns up to Seen
	Behind   bool           // the session turned out to hold less than it had
}

// Manager builds contexts from the store.
type Manager struct {
	db         *db.DB
	cfg        Config
	log        zerolog.Logger
	told       *sentContext
	embeddings *embeddings // nil = messages are found by their words only
}

// New makes a manager.
func New(store *db.DB, cfg Config, log zerolog.Logger) *Manager {
	return &Manager{db: store, cfg: cfg, log: log, told: newSentContext(), embeddings: newEmbeddings(store, cfg.Memory, log)}
}

// Build makes the context of a turn. It always succeeds: a History that cannot be read is logged and left out, since
// an answer without it is better than none.
func (m *Manager) Build(ctx context.Context, r Request) Prompt {
	began := time.Now()
	c, err := m.gather(ctx, r)
	p := compose(r, c)
	if err != nil {
		p.Unread = true
		m.log.Error().Err(err).Stringer("chat", r.Key).Int64("turn", r.Turn).Msg("history not read; answering with " + p.left())
	}
	p.Stats.BuildTime = time.Since(began)
	return p
}

// left names what the agent has when the History could not be read.
func (p Prompt) left() string {
	switch {
	case p.Stats.Messages > 0:
		return "a part of it"
	case p.UseResume:
		return "the session only"
	}
	return "neither a session nor a history"
}

// gather is what goes in front of the question.
func (m *Manager) gather(ctx context.Context, r Request) (Context, error) {
	part := m.cfg.prefix(r)
	var past *lookup
	if part == recent || part == unseen && m.cfg.Mode != Resume {
		past = m.look(ctx, r)
	}
	c := Context{Zone: m.cfg.zone(), Memories: m.memories(ctx, r)}
	limits := m.cfg.Limits()
	if part == none {
		return c, nil
	}
	c.Background = m.overheard(ctx, r)
	if part == unseen {
		missed, err := m.db.Messages().Unseen(ctx, r.Key, r.Epoch, r.Seen, r.Turn)
		c.History = truncate(missed, limits)
		if past != nil {
			err = errors.Join(err, m.retrieveForLive(ctx, r, past, &c))
		}
		return c, err
	}
	if len(r.Asked) > 0 {
		limits.Asked = r.Asked[0].Time
	}
	if r.ResumeID == "" {
		limits = limits.grown()
	} else {
		limits.Held = r.Seen
	}
	c.Summary = r.Summary
	taken, err := selectRecent(m.db.History().For(ctx, r.Key, r.Epoch, r.After, r.Turn), limits)
	newest := taken
	if r.ResumeID == "" {
		newest = least(taken, m.cfg.Limits())
	}
	var failed error
	c.Recalled, failed = m.remember(ctx, r, past, slices.Concat(newest, c.Background))
	// of what is there as a whole, no part is needed
	c.Recalled = slices.DeleteFunc(c.Recalled, func(m chat.Message) bool {
		i := slices.IndexFunc(taken, func(t chat.Message) bool { return t.Seq == m.Seq })
		return i >= 0 && taken[i].Text != m.Text
	})
	known := seqs(c.Recalled)
	taken = slices.DeleteFunc(taken, func(m chat.Message) bool { return known[m.Seq] })
	limits.MaxTokens = max(minTokens, limits.MaxTokens-c.tokens(r.Kind))
	c.History = truncate(taken, limits)
	return c, errors.Join(err, failed)
}

// retrieveForLive recalls for a session that knows the newest part of the History.
func (m *Manager) retrieveForLive(ctx context.Context, r Request, past *lookup, c *Context) error {
	newest, err := selectRecent(m.db.History().For(ctx, r.Key, r.Epoch, r.After, r.Turn), m.cfg.Limits())
	if err != nil {
		return err
	}
	c.Recalled, err = m.remember(ctx, r, past, slices.Concat(newest, c.History, c.Background))
	return err
}

// remember recalls what neither newest has nor the session, as far as it is known what that holds.
func (m *Manager) remember(ctx context.Context, r Request, past *lookup, newest []chat.Message) ([]chat.Message, error) {
	known := seqs(newest)
	var began int64
	if r.ResumeID != "" && (r.Live || r.Verified) {
		maps.Copy(known, m.told.of(r.Key).messages)
		var err error
		if began, err = m.db.Turns().SessionBegan(ctx, r.ResumeID); err != nil {
			return nil, err
		}
	}
	return past.recall(func(x chat.Message) bool {
		return known[x.Seq] || began > 0 && x.Turn >= began && x.Turn <= r.Seen
	}, m.cfg.recallBudget())
}

// least is the newest part of a conversation that meets the minimums.
func least(msgs []chat.Message, l Limits) []chat.Message {
	chars, users := 0, 0
	for i, m := range slices.Backward(msgs) {
		chars += utf8.RuneCountInString(m.Text)
		if m.Role == chat.User {
			users++
		}
		if l.met(chars, users) {
			return msgs[i:]
		}
	}
	return msgs
}

func seqs(msgs []chat.Message) map[int64]bool {
	set := make(map[int64]bool, len(msgs))
	for _, m := range msgs {
		set[m.Seq] = true
	}
	return set
}

// tokens is what c costs in a prefix, beside its title and the question.
func (c Context) tokens(kind chat.Kind) int {
	n := 0
	for i, e := range c.entries(kind) {
		n += EstimateTokens(heading(i+1, e)) + textCost(e.Text) + EstimateTokens("\n\n")
	}
	return n
}

// historyPart is how much of the History a prompt carries.
type historyPart int

const (
	none   historyPart = iota
	unseen             // what the session does not hold: nothing, unless a turn never reached it
	recent             // the newest part, whether the session holds it or not
)

// prefix says how much of the History the mode puts in front of the question.
func (c Config) prefix(r Request) historyPart {
	switch {
	case c.SessionMode == Fresh, c.Mode == Resume && (r.Lost || r.ResumeID == ""):
		return recent // else the user would notice
	case c.Mode == Resume && !r.Behind:
		return none
	case c.Mode == Resume, r.Live, c.Mode == Economy && r.ResumeID != "" && r.Verified:
		return unseen
	}
	return recent
}

// compose puts a prompt together.
func compose(r Request, c Context) Prompt {
	p := Prompt{UseResume: r.ResumeID != "", ResumeID: r.ResumeID, Kind: r.Kind, Context: c, Current: questionOf(r).Text(r.Kind)}
	p.Stats.Messages, p.Stats.Recalled, p.Stats.Background, p.Stats.Memories = len(c.History), len(c.Recalled), len(c.Background), len(c.Memories)
	for _, m := range c.History {
		p.Stats.Chars += utf8.RuneCountInString(m.Text)
		if m.Role == chat.User {
			p.Stats.UserMessages++
		}
	}
	p.Stats.Tokens = EstimateTokens(p.Text())
	return p
}
