package bridge

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/claude"
)

// standing is how far the session that a turn goes on with holds the conversation.
type standing struct {
	turn     int64 // the last turn that it holds; 0 = not known
	verified bool  // the transcript tells so, or the process that wrote it
	behind   bool  // it held more once
}

// away reports why the chat's session cannot be resumed on this machine or in this project; empty = it can.
func (b *Bridge) away(c db.Chat) claude.LostCause {
	s := c.Session
	switch {
	case s.Node != "" && s.Node != b.cfg.Node:
		return claude.LostMachine
	case s.Cwd != "":
		if dir := realPath(b.project(c)); dir != "" && dir != s.Cwd {
			return claude.LostElsewhere
		}
	}
	return ""
}

// here refuses a session that cannot be resumed here.
func (t *turn) here() error {
	own := t.claim.Chat.Session.ID
	if cause := t.b.away(t.claim.Chat); t.resume && own == t.claim.Turn.Session && cause != "" {
		return &claude.LostError{Session: own, Cause: cause}
	}
	return nil
}

// realPath is a folder as the agent's sessions know it; empty when it is not there, of which the start of the agent will tell.
func realPath(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return ""
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return ""
	}
	return real
}

// known names the questions that the turn's session may hold. When they cannot be read, or the last one of the session has
// no name since it is from an old version, there are none: then the session is resumed unseen, since that shall not keep
// anybody from an answer.
func (t *turn) known(ctx context.Context) []string {
	list, err := t.b.db.Prompts(ctx, t.claim.Turn.Key, t.claim.Turn.ID)
	last := t.claim.Turn.ID
	if own := t.claim.Chat.Session; own.ID == t.claim.Turn.Session {
		last = own.Turn
	}
	if n := len(list); err == nil && n > 0 && list[n-1].Turn > last { // it was set aside for long
		var older []db.Prompt
		older, err = t.b.db.Prompts(ctx, t.claim.Turn.Key, last)
		list = append(list, older...)
	}
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("session not compared with the database")
	}
	if err != nil || !slices.ContainsFunc(list, func(p db.Prompt) bool { return p.Turn == last }) {
		return nil
	}
	t.prompts = list
	names := make([]string, len(list))
	for i, p := range list {
		names[i] = p.ID
	}
	return names
}

// stand tells how far the session of the turn's process holds the conversation.
func (t *turn) stand(ctx context.Context, p *claude.Process) standing {
	var s standing
	if own := t.claim.Chat.Session; own.ID == t.claim.Turn.Session {
		s.turn = own.Turn
	}
	last := p.Standing()
	i := slices.IndexFunc(t.prompts, func(q db.Prompt) bool { return q.ID == last.Prompt })
	switch {
	case !p.Fresh():
		s.verified = true
	case t.resume && i >= 0:
		held := t.prompts[i].Turn
		if !last.Whole {
			held-- // the answer is not there
		}
		s = standing{turn: held, verified: true, behind: held < s.turn}
	}
	if s.behind {
		zerolog.Ctx(ctx).Warn().Int64("held", s.turn).Msg("session is behind; what it lacks comes from the History")
	}
	return s
}
