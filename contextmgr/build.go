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

// Stats describes the content of a prompt.
type Stats struct {
	Messages     int           `json:"messages"` // of the history prefix
	UserMessages int           `json:"user_messages"`
	Chars        int           `json:"chars"`  // of their texts, in runes
	Tokens       int           `json:"tokens"` // of the whole prompt, estimated
	Retrieved    int           `json:"recalled"`
	Memories     int           `json:"memories"`
	Overheard    int           `json:"background"`
	BuildTime    time.Duration `json:"build_ns"`
}

// MarshalZerologObject adds the statistics to a log line.
func (s Stats) MarshalZerologObject(e *zerolog.Event) {
	e.Int("messages", s.Messages).Int("user_messages", s.UserMessages).Int("chars", s.Chars).
		Int("tokens", s.Tokens).Int("recalled", s.Retrieved).Int("background", s.Overheard).Int("memories",
		s.Memories).Float64("build_ms", float64(s.BuildTime.Microseconds())/1000)
}

// Prompt is the context and the question of one turn.
type Prompt struct {
	UseResume bool
	ResumeID  string // the session to resume; empty unless UseResume
	Kind      chat.Kind
	Context
	Current string // the question
	Stats   Stats
	Unread  error // why the History, or a part of it, could not be read and is missing
}

// Text is the prompt as it is sent to the agent.
func (p Prompt) Text() string { return Prefix(p.Context, p.Kind, p.Current) }

// Request describes the turn for which a context is built.
type Request struct {
	Key      chat.Key
	Kind     chat.Kind
	Project  string // the chat's project folder
	Model    string // as the chat's settings name it; empty = the default model
	Epoch    int64
	Turn     int64
	Asked    []chat.Message // in order
	Note     string         // a note of ours after the questions; empty = none
	Lang     string         // of the chat: "en", or Chinese
	ResumeID string         // the session that will be resumed; empty = none
	After    int64          // the recent part starts after the message with this seq; 0 = at the first one
	Summary  Summary        // of the messages up to After
	Lost     bool           // the session was lost in this turn
	Live     bool           // a running process continues the session
	Synced
}

// Synced is how much of a chat its session holds.
type Synced struct {
	Seen       int64 // the last turn
	Verified   bool  // the session was compared with the database and holds the turns up to Seen
	Incomplete bool  // the comparison showed that the session has lost turns
}

// Manager builds contexts from the database.
type Manager struct {
	db         *db.DB
	cfg        Config
	log        zerolog.Logger
	sent       *sentContext
	embeddings *embeddings // nil = messages are searched by words only
	models     *calibration
}

// New returns a manager.
func New(store *db.DB, cfg Config, log zerolog.Logger) *Manager {
	return &Manager{
		db: store, cfg: cfg, log: log, sent: newSentContext(), embeddings: newEmbeddings(store, cfg.Memory, log),
		models: newCalibration(),
	}
}

// CalibrateTokens notes how many tokens a model, as the settings of a chat name it, needed for texts that
// [EstimateTokens] estimated.
func (m *Manager) CalibrateTokens(model string, estimated int, real int64) {
	m.models.learn(model, int64(estimated), real)
}

// Tokens corrects what [EstimateTokens] says for a model, as the settings of a chat name it.
func (m *Manager) Tokens(model string, estimated int) int { return m.models.tokens(model, estimated) }

// limits are those of the recent part, for a model.
func (m *Manager) limits(model string) Limits {
	l := m.cfg.Limits()
	l.MaxTokens = m.models.budget(model, l.MaxTokens)
	return l
}

// Build builds the context of a turn. It always succeeds: if the History cannot be read, it logs the error and omits
// the History, since an answer without it is better than none.
func (m *Manager) Build(ctx context.Context, r Request) Prompt {
	began := time.Now()
	c, err := m.gather(ctx, r)
	p := composePrompt(r, c)
	p.Stats.Tokens = m.Tokens(r.Model, p.Stats.Tokens)
	if err != nil {
		p.Unread = err
		m.log.Error().Err(err).Stringer("chat", r.Key).Int64("turn", r.Turn).
			Str("with", p.availableForLog()).Msg("history not read; answering with what is there")
	}
	p.Stats.BuildTime = time.Since(began)
	return p
}

// availableForLog tells for the log what the agent has when the History could not be read.
func (p Prompt) availableForLog() string {
	switch {
	case p.Stats.Messages > 0:
		return "a part of it"
	case p.UseResume:
		return "the session only"
	}
	return "neither a session nor a history"
}

// gather collects everything that precedes the question. Meanwhile a search in the History runs in the background. What
// the mode requires of the History (see [historyPart]) determines the rest.
func (m *Manager) gather(ctx context.Context, r Request) (Context, error) {
	part := m.cfg.historyFor(r)
	var past *pendingSearch
	if part == recent || part == unseen && m.cfg.Mode != Resume {
		past = m.startSearch(ctx, r)
	}
	c := Context{Zone: m.cfg.zone(), Lang: r.Lang, Memories: m.memories(ctx, r)}
	limits := m.limits(r.Model)
	limits.Lang = r.Lang
	if part == none {
		return c, nil
	}
	c.Overheard = m.overheardMessages(ctx, r)
	if part == unseen {
		missed, err := m.db.Messages().Unseen(ctx, r.Key, r.Epoch, r.Seen, r.Turn)
		c.History = truncate(missed, limits)
		if past != nil {
			err = errors.Join(err, m.retrieveForLive(ctx, r, past, &c))
		}
		c.History = c.fitRecent(missed, r.Kind, limits)
		return c, err
	}
	if len(r.Asked) > 0 {
		limits.AskedAt = r.Asked[0].Time
	}
	// Without a session the prefix is all that the agent knows; with one it must reach back to the session's end.
	if r.ResumeID == "" {
		limits = limits.forNewSession()
	} else {
		limits.SessionTurn = r.Seen
	}
	c.Summary = r.Summary
	taken, err := selectRecent(m.db.Messages().ForTurn(ctx, r.Key, r.Epoch, r.After, r.Turn), limits)
	newest := taken
	if r.ResumeID == "" {
		newest = minimalPart(taken, m.limits(r.Model))
	}
	var failed error
	c.Retrieved, failed = m.retrieveMissing(ctx, r, past, slices.Concat(newest, c.Overheard))
	// A retrieved excerpt is redundant if the recent part holds the whole message.
	c.Retrieved = slices.DeleteFunc(c.Retrieved, func(m chat.Message) bool {
		i := slices.IndexFunc(taken, func(t chat.Message) bool { return t.Seq == m.Seq })
		return i >= 0 && taken[i].Text != m.Text
	})
	known := seqSet(c.Retrieved)
	taken = slices.DeleteFunc(taken, func(m chat.Message) bool { return known[m.Seq] })
	c.History = c.fitRecent(taken, r.Kind, limits)
	return c, errors.Join(err, failed)
}

// fitRecent truncates the recent part to the rest of the budget.
func (c Context) fitRecent(msgs []chat.Message, kind chat.Kind, l Limits) []chat.Message {
	c.History = nil
	l.MaxTokens = max(minTokens, l.MaxTokens-c.tokens(kind))
	return truncate(msgs, l)
}

// retrieveForLive finds messages for a session that already holds the newest part of the History. A running process got
// that part before its first question, unless the mode is economy.
func (m *Manager) retrieveForLive(ctx context.Context, r Request, past *pendingSearch, c *Context) (err error) {
	var newest []chat.Message
	if m.cfg.Mode == Economy {
		newest, err = selectRecent(m.db.Messages().ForTurn(ctx, r.Key, r.Epoch, r.After, r.Turn), m.limits(r.Model))
		if err != nil {
			return err
		}
	}
	c.Retrieved, err = m.retrieveMissing(ctx, r, past, slices.Concat(newest, c.History, c.Overheard))
	return err
}

// retrieveMissing finds messages that are neither in newest nor, as far as is known, in the session.
func (m *Manager) retrieveMissing(ctx context.Context, r Request, past *pendingSearch,
	newest []chat.Message) ([]chat.Message, error) {
	known := seqSet(newest)
	var began int64
	if r.ResumeID != "" && (r.Live || r.Verified) {
		maps.Copy(known, m.sent.get(r.Key).messages)
		var err error
		if began, err = m.db.Turns().FirstTurn(ctx, r.ResumeID); err != nil {
			return nil, err
		}
	}
	return past.retrieve(func(x chat.Message) bool {
		return known[x.Seq] || began > 0 && x.Turn >= began && x.Turn <= r.Seen
	}, m.cfg.retrievalBudget())
}

// minimalPart is the newest part of a conversation that satisfies the minimums.
func minimalPart(msgs []chat.Message, l Limits) []chat.Message {
	chars, users := 0, 0
	for i, m := range slices.Backward(msgs) {
		chars += utf8.RuneCountInString(m.Text)
		if m.Role == chat.User {
			users++
		}
		if l.satisfied(chars, users) {
			return msgs[i:]
		}
	}
	return msgs
}

// seqSet is the set of the messages' sequence numbers, by which the parts of a prompt avoid repeating each other.
func seqSet(msgs []chat.Message) map[int64]bool {
	set := make(map[int64]bool, len(msgs))
	for _, m := range msgs {
		set[m.Seq] = true
	}
	return set
}

// tokens is the cost of c in a prefix, without the prefix's title and the question.
func (c Context) tokens(kind chat.Kind) int {
	n := 0
	for i, e := range c.entries(kind) {
		n += EstimateTokens(heading(i+1, e, c.Lang)) + textCost(e.Text) + EstimateTokens("\n\n")
	}
	return n
}

// historyPart is how much of the History a prompt carries.
type historyPart int

const (
	none   historyPart = iota
	unseen             // only what the session lacks: usually nothing, else turns that never reached it
	recent             // the newest part, even if the session holds it
)

// historyFor returns the part of the History that the mode puts before the question.
func (c Config) historyFor(r Request) historyPart {
	switch {
	case c.SessionMode == Fresh, c.Mode == Resume && (r.Lost || r.ResumeID == ""):
		return recent // otherwise the user would notice the loss
	case c.Mode == Resume && !r.Incomplete:
		return none
	case c.Mode == Resume, r.Live, c.Mode == Economy && r.ResumeID != "" && r.Verified:
		return unseen
	}
	return recent
}

// composePrompt assembles a prompt and its statistics.
func composePrompt(r Request, c Context) Prompt {
	p := Prompt{
		UseResume: r.ResumeID != "", ResumeID: r.ResumeID, Kind: r.Kind, Context: c,
		Current: questionOf(r).Text(r.Kind),
	}
	p.Stats.Messages, p.Stats.Retrieved, p.Stats.Overheard, p.Stats.Memories = len(c.History), len(c.Retrieved),
		len(c.Overheard), len(c.Memories)
	for _, m := range c.History {
		p.Stats.Chars += utf8.RuneCountInString(m.Text)
		if m.Role == chat.User {
			p.Stats.UserMessages++
		}
	}
	p.Stats.Tokens = EstimateTokens(p.Text())
	return p
}
