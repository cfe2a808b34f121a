package bridge

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"magpie/bridge/upkeep"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/i18n"
)

// Preview builds the context that a question would get now, with the same code as [Bridge]. It sends and changes
// nothing.
type Preview struct {
	cfg     Config
	db      *db.DB
	context *contextmgr.Manager
	agent   claude.Config
}

// NewPreview makes a Preview for a bridge with this configuration. The store may be read-only.
func NewPreview(cfg Config, store *db.DB, m *contextmgr.Manager, agent claude.Config) *Preview {
	return &Preview{cfg: cfg, db: store, context: m, agent: agent}
}

// noTurn is a turn number above all real ones.
const noTurn = math.MaxInt64

// Build builds the context of a question. live means that a live process would get it, otherwise a new one. It returns
// [db.ErrNotFound] for an unknown chat.
func (p *Preview) Build(ctx context.Context, question chat.Message, live bool) (BuiltContext, error) {
	claim, err := p.claim(ctx, question)
	if err != nil {
		return BuiltContext{}, err
	}
	// A preview must not change the chat, so nothing here writes.
	s, lost := p.sessionState(ctx, &claim, live)
	r := p.cfg.contextRequest(claim, claim.Resume, s)
	r.Live, r.Lost = live, lost != ""
	return BuiltContext{Key: question.Key, Turn: noTurn, Prompt: p.context.Build(ctx, r), Live: live, Lost: lost}, nil
}

// claim simulates the claim of a question; without a text there is no question.
func (p *Preview) claim(ctx context.Context, question chat.Message) (db.Claim, error) {
	c, err := p.db.Chats().Get(ctx, question.Key)
	if err != nil {
		return db.Claim{}, err
	}
	if c.Session, err = p.db.Chats().SessionOn(ctx, c, p.cfg.Node); err != nil {
		return db.Claim{}, err
	}
	claim := db.Claim{Chat: c, Turn: db.Turn{ID: noTurn, Key: c.Key, Epoch: c.Epoch, Created: question.Time}}
	if question.Text != "" {
		question.Role, question.Class, question.Epoch, question.Turn = chat.User, chat.Talk, c.Epoch, noTurn
		claim.Asked = []chat.Message{question}
	}
	cfg := p.cfg.Context
	if upkeep.IsStale(claim, cfg.StaleAfter.Duration) {
		claim.Chat.Session, claim.Chat.Summary, claim.Chat.ContextStart = db.Session{}, db.Summary{}, noTurn
	}
	if s := claim.Chat.Session; s.ID != "" && cfg.Resumes() {
		claim.Turn.Session, claim.Resume = s.ID, true
	}
	return claim, nil
}

// sessionState returns how far the session that a turn would use holds the conversation, or why that session is lost.
func (p *Preview) sessionState(ctx context.Context, c *db.Claim, live bool) (s syncState, lost claude.LostCause) {
	if !c.Resume {
		return syncState{}, ""
	}
	if live {
		return syncState{turn: lastHeldTurn(*c), verified: true}, ""
	}
	prompts, last := knownPrompts(ctx, p.db, *c), claude.SyncState{}
	if lost = p.cfg.checkResumable(c.Chat); lost == "" {
		var (
			gone *claude.LostError
			err  error
		)
		key, places := c.Turn.Key, p.cfg.Projects
		transcripts := p.agent.Transcripts(key.String())
		switch last, err = transcripts.Verify(places.DirOf(c.Chat), c.Turn.Session, promptIDs(prompts)); {
		case errors.As(err, &gone):
			lost = gone.Cause
		case err != nil: // the folder is missing
			lost = claude.LostElsewhere
		}
	}
	if lost != "" {
		c.Turn.Session, c.Resume = "", false
		return syncState{}, lost
	}
	return compare(*c, true, prompts, last), ""
}

// Outline lists the contexts in b for people, one per line, in English or Chinese.
func (b BuiltContext) Outline(english bool) string {
	if english {
		return b.outline(i18n.English)
	}
	return b.outline(i18n.Chinese)
}

// outline describes the result in figures, for people who do not want to read the whole prompt.
func (b BuiltContext) outline(l i18n.Lang) string {
	p, session := b.Prompt, i18n.OutlineNew.In(l)
	switch {
	case b.Lost != "":
		session = fmt.Sprintf(i18n.OutlineLost.In(l), lostText(b.Lost).In(l))
	case b.Live:
		session = i18n.OutlineLive.In(l)
	case p.UseResume:
		session = i18n.OutlineResume.In(l)
	}
	lines := []string{
		session, i18n.OutlineHistory.Sprintf(l, p.Stats.Messages, p.Stats.UserMessages, p.Stats.Chars),
	}
	for _, part := range []struct {
		n    int
		what i18n.Phrase
	}{
		{len(p.Retrieved), i18n.OutlineRecalled}, {len(p.Memories), i18n.OutlineMemories},
		{len(p.Overheard), i18n.OutlineOverheard},
	} {
		if part.n > 0 {
			lines = append(lines, fmt.Sprintf(part.what.In(l), part.n))
		}
	}
	if p.Summary.Text != "" {
		lines = append(lines, i18n.OutlineSummary.Sprintf(l, len([]rune(p.Summary.Text))))
	}
	lines = append(lines, i18n.OutlineTokens.Sprintf(l, p.Stats.Tokens))
	return "- " + strings.Join(lines, "\n- ")
}
