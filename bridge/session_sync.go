package bridge

import (
	"context"
	"slices"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/safepath"
)

// syncState is how far the session that a turn goes on with holds the conversation.
type syncState struct {
	turn     int64 // the last turn that it holds; 0 = not known
	verified bool  // the transcript tells so, or the process that wrote it
	isBehind bool  // it held more once
}

// checkResumable reports why the chat's session cannot be resumed on this machine or in this project; empty = it can.
func (cfg Config) checkResumable(c db.Chat) claude.LostCause {
	s := c.Session
	switch {
	case s.Node != "" && s.Node != cfg.Node:
		return claude.LostMachine
	case s.Cwd != "":
		if dir := realPath(cfg.project(c)); dir != "" && dir != s.Cwd {
			return claude.LostElsewhere
		}
	}
	return ""
}

// realPath is a folder as the agent's sessions know it; empty when it is not there, of which the start of the agent
// will tell.
func realPath(dir string) string {
	real, err := safepath.Dir(dir)
	if err != nil {
		return ""
	}
	return real
}

func names(prompts []db.Prompt) []string {
	list := make([]string, len(prompts))
	for i, p := range prompts {
		list[i] = p.ID
	}
	return list
}

// known lists the questions that a turn's session may hold. When they cannot be read, or the last one of the session
// has no name since it is from an old version, there are none: then the session is resumed unseen, since that should
// not keep anybody from an answer.
func known(ctx context.Context, store *db.DB, c db.Claim) []db.Prompt {
	list, err := store.Turns().Prompts(ctx, c.Turn.Key, c.Turn.ID)
	last := c.Turn.ID
	if own := c.Chat.Session; own.ID == c.Turn.Session {
		last = own.Turn
	}
	if n := len(list); err == nil && n > 0 && list[n-1].Turn > last { // it was set aside for long
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

// held is the last turn that the session of a turn holds, as the store knows it; 0 = not known.
func held(c db.Claim) int64 {
	if own := c.Chat.Session; own.ID == c.Turn.Session {
		return own.Turn
	}
	return 0
}

// compare tells how far the session of a turn holds the conversation, if its transcript ends as last says.
func compare(c db.Claim, resume bool, prompts []db.Prompt, last claude.SyncState) syncState {
	s := syncState{turn: held(c)}
	i := slices.IndexFunc(prompts, func(q db.Prompt) bool { return q.ID == last.Prompt })
	if !resume || i < 0 {
		return s
	}
	until := prompts[i].Turn
	if !last.Whole {
		until-- // the answer is not there
	}
	return syncState{turn: until, verified: true, isBehind: until < s.turn}
}
