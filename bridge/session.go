package bridge

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/safepath"
)

// session is the agent's session in which a turn runs. Its ID, and the ID of the prompt in it, are fields of the turn.
type session struct {
	cfg *Config
	db  *db.DB
	*db.Claim
	resume  bool             // it already exists
	lost    claude.LostCause // why an earlier one was given up; empty = there was none
	refused db.Start         // the one before, and the prompt in it, if the model's API did not take what it held
	prompts []db.Prompt      // the prompts that its transcript was compared with
	kept    db.Session       // stored at the end of the turn; no ID = no session holds the turn
	logged  atomic.Value     // the ID for log lines
}

func newSession(cfg *Config, store *db.DB, c *db.Claim) *session {
	s := &session{cfg: cfg, db: store, Claim: c, resume: c.Resume}
	// Until the CLI reports another ID, log lines carry the planned one.
	s.logged.Store(c.Turn.Session)
	return s
}

// Run implements zerolog.Hook.
func (s *session) Run(e *zerolog.Event, _ zerolog.Level, _ string) { e.Any("session", s.logged.Load()) }

// checkResumable returns an error if the session cannot be resumed on this machine, or in the chat's current project.
func (s *session) checkResumable() error {
	own := s.Chat.Session
	if cause := s.cfg.checkResumable(s.Chat); s.resume && own.ID == s.Turn.Session && cause != "" {
		return &claude.LostError{Session: own.ID, Cause: cause}
	}
	return nil
}

// promptIDs lists the IDs of the prompts that the session may hold.
func (s *session) promptIDs(ctx context.Context) []string {
	s.prompts = knownPrompts(ctx, s.db, *s.Claim)
	return promptIDs(s.prompts)
}

// compare returns how much of the conversation the process's session holds.
func (s *session) compare(ctx context.Context, p *claude.Process) syncState {
	now := syncState{turn: lastHeldTurn(*s.Claim), verified: true}
	if p.Fresh() {
		if s.resume && s.prompts == nil { // the process was started, and its transcript compared, ahead of the turn
			s.promptIDs(ctx)
		}
		now = compare(*s.Claim, s.resume, s.prompts, p.SyncState())
	}
	if now.isBehind {
		zerolog.Ctx(ctx).Warn().Int64("held", now.turn).Msg("session is behind; the missing messages come from the History")
	}
	return now
}

// recordStart records that the session with this ID holds the turn, and its working folder.
func (s *session) recordStart(id, dir string) {
	s.kept = db.Session{ID: id, Node: s.cfg.Node, Cwd: dir}
}

// recordResult records what a result says about the session.
func (s *session) recordResult(r claude.Result) {
	if s.kept.ID != "" && r.Session != "" {
		s.kept.ID = r.Session
	}
	s.kept.Tokens, s.kept.Window = r.Held, r.Window
}

// checkLost returns why the turn cannot be answered in its session; nil = it can. What the API refuses may be something
// that the session holds, which would then be refused with each later question, too.
func (s *session) checkLost(r claude.Result, acted bool) error {
	lost := &claude.LostError{Session: s.Turn.Session}
	switch {
	case r.Failure == claude.FailSession:
		lost.Cause = claude.LostUnknown
	case !r.Failure.OfContents() || !s.resume || acted || s.refused.Session != "":
		return nil
	case r.Failure == claude.FailTooLong:
		lost.Cause = claude.LostTooLong
	default:
		lost.Cause = claude.LostRefused
	}
	return lost
}

// forget gives the turn a new session in place of a lost one.
func (s *session) forget(ctx context.Context, lost *claude.LostError) error {
	zerolog.Ctx(ctx).Warn().Str("cause", string(lost.Cause)).
		Msg("session lost; the conversation goes on from the History")
	s.lost = lost.Cause
	switch lost.Cause {
	case claude.LostMachine: // where it can still be resumed
		return s.renew(ctx)
	case claude.LostTooLong, claude.LostRefused: // or is it the question?
		s.refused = db.Start{Session: lost.Session, Prompt: s.Turn.Prompt}
		return s.renew(ctx)
	}
	return errors.Join(s.drop(ctx, lost.Session), s.renew(ctx))
}

func (s *session) drop(ctx context.Context, id string) error {
	return s.db.Chats().ForgetSession(context.WithoutCancel(ctx), s.Turn.Key, id)
}

// leaveRefused keeps no session that holds what the model's API has refused. If a tool has brought it, that is the
// session of the turn. Else it is the question, since it was refused in a new session, too: the chat's session goes on
// without it.
func (s *session) leaveRefused(ctx context.Context, acted bool, transcripts claude.Transcripts) {
	s.kept = db.Session{}
	own := s.Chat.Session
	var err error
	switch {
	case own.ID == "":
	case acted:
		err = s.drop(ctx, own.ID)
	case own.ID == s.refused.Session:
		err = transcripts.CutPrompt(own.Cwd, own.ID, s.refused.Prompt)
	}
	if err != nil { // the next question notices it
		zerolog.Ctx(ctx).Error().Err(err).Msg("session that holds a refused question stays as it is")
	}
}

// prepareRetry prepares another attempt of a turn whose process died: in the same session if that has begun, otherwise
// in a new one. A new session that may or may not have begun can neither be resumed nor started again under its ID.
func (s *session) prepareRetry(ctx context.Context) error {
	if s.resume || s.kept.ID != "" {
		s.resume = true
		return s.rename(ctx, s.Turn.Session)
	}
	return s.renew(ctx)
}

// renew gives the turn a session that does not exist yet.
func (s *session) renew(ctx context.Context) error {
	s.resume, s.kept = false, db.Session{}
	return s.rename(ctx, uuid.NewString())
}

// rename stores the session of the next attempt, with a new prompt ID: the CLI ignores a prompt whose ID the session
// already holds.
func (s *session) rename(ctx context.Context, id string) error {
	s.Turn.Session, s.Turn.Prompt = id, uuid.NewString()
	s.logged.Store(id)
	return s.db.Turns().SetIDs(context.WithoutCancel(ctx), s.Turn, id, s.Turn.Prompt)
}

// syncState is how much of the conversation the session of a turn holds.
type syncState struct {
	turn     int64 // the last turn that it holds; 0 = unknown
	verified bool  // confirmed by the transcript, or by the process that wrote it
	isBehind bool  // it held more before
	again    bool  // it holds the question of the turn already
}

// checkResumable returns why the chat's session cannot be resumed on this machine or in this project; empty = it can.
func (cfg Config) checkResumable(c db.Chat) claude.LostCause {
	s := c.Session
	switch {
	case s.Node != "" && s.Node != cfg.Node:
		return claude.LostMachine
	case s.Cwd != "":
		if dir := realPath(cfg.Projects.DirOf(c)); dir != "" && dir != s.Cwd {
			return claude.LostElsewhere
		}
	}
	return ""
}

// realPath is a folder as the agent's sessions know it; empty if it is missing, which the start of the agent will
// report.
func realPath(dir string) string {
	real, err := safepath.Dir(dir)
	if err != nil {
		return ""
	}
	return real
}

func promptIDs(prompts []db.Prompt) []string {
	list := make([]string, len(prompts))
	for i, p := range prompts {
		list[i] = p.ID
	}
	return list
}

// knownPrompts lists the prompts that a turn's session may hold. If they cannot be read, or the session's last one has
// no ID because it is from an old version, the list is empty. The session is then resumed unchecked, since that should
// not keep anybody from an answer.
func knownPrompts(ctx context.Context, store *db.DB, c db.Claim) []db.Prompt {
	last := c.Turn.ID
	if own := c.Chat.Session; own.ID == c.Turn.Session {
		last = own.Turn
	}
	// A turn that has waited for a terminal is older than those of the terminal.
	list, err := store.Turns().Prompts(ctx, c.Turn.Key, max(c.Turn.ID, last))
	if n := len(list); err == nil && n > 0 && list[n-1].Turn > last { // it was not used for long
		var older []db.Prompt
		older, err = store.Turns().Prompts(ctx, c.Turn.Key, last)
		list = append(list, older...)
	}
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("session not compared with the database")
	}
	if err != nil || !slices.ContainsFunc(list, func(p db.Prompt) bool { return p.Turn == last }) {
		return nil
	}
	return list
}

// lastHeldTurn is the last turn that the session of a turn holds, according to the store; 0 = unknown.
func lastHeldTurn(c db.Claim) int64 {
	if own := c.Chat.Session; own.ID == c.Turn.Session {
		return own.Turn
	}
	return 0
}

// compare returns how much of the conversation a turn's session holds, if its transcript ends as last says.
func compare(c db.Claim, resume bool, prompts []db.Prompt, last claude.SyncState) syncState {
	s := syncState{turn: lastHeldTurn(c)}
	i := slices.IndexFunc(prompts, func(q db.Prompt) bool { return q.ID == last.Prompt })
	if !resume || i < 0 {
		return s
	}
	until := prompts[i].Turn
	if !last.Whole {
		until-- // the answer is missing
	}
	return syncState{turn: until, verified: true, isBehind: until < s.turn, again: prompts[i].Turn == c.Turn.ID}
}
