package bridge

import (
	"context"
	"slices"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/safepath"
)

// syncState is how much of the conversation the session of a turn holds.
type syncState struct {
	turn     int64 // the last turn that it holds; 0 = unknown
	verified bool  // confirmed by the transcript, or by the process that wrote it
	isBehind bool  // it held more before
}

// checkResumable returns why the chat's session cannot be resumed on this machine or in this project; empty = it can.
func (cfg Config) checkResumable(c db.Chat) claude.LostCause {
	s := c.Session
	switch {
	case s.Node != "" && s.Node != cfg.Node:
		return claude.LostMachine
	case s.Cwd != "":
		if dir := realPath(cfg.projectDir(c)); dir != "" && dir != s.Cwd {
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
	list, err := store.Turns().Prompts(ctx, c.Turn.Key, c.Turn.ID)
	last := c.Turn.ID
	if own := c.Chat.Session; own.ID == c.Turn.Session {
		last = own.Turn
	}
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
	return syncState{turn: until, verified: true, isBehind: until < s.turn}
}
