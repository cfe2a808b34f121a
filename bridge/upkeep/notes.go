package upkeep

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"magpie/bridge/toolset"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/text"
)

// Who changes memories unasked, and why.
const (
	ByItself  = "magpie"
	WhyAnswer = "after a turn"
	WhyStale  = "stale"
)

// fewWords is the minimum length of a question, in tokens, that is searched for memories. Thanks and greetings are
// shorter.
const fewWords = 4

// learn starts a background task that searches a finished turn for facts worth remembering, if configured. Nothing
// waits for the result.
func (u *Keeper) learn(c db.Chat, t Ended) {
	words := 0
	for _, m := range t.Asked {
		words += contextmgr.EstimateTokens(m.Text)
	}
	// A few words seldom contain a lasting fact, and each task costs a call of the model.
	if !u.Rules.Memory.Capture || c.Kind != chat.Private && !u.Rules.Memory.CaptureGroup || words < fewWords {
		return
	}
	log := u.Log.With().Stringer("chat", c.Key).Int64("turn", t.ID).Logger()
	begun := u.enqueueSearch(c.Key, func(ctx context.Context) {
		if err := u.extract(log.WithContext(ctx), c, t.said()); err != nil && ctx.Err() == nil {
			log.Error().Err(err).Msg("memories of the turn lost")
		}
	})
	if !begun {
		log.Warn().Msg("memories of the turn lost: too many turns wait")
	}
}

// extract creates memories from the messages with these IDs.
func (u *Keeper) extract(ctx context.Context, c db.Chat, ids []string) error {
	said, err := u.DB.Messages().ByID(ctx, c.Key, ids)
	if err != nil || len(said) == 0 { // they may have been deleted
		return err
	}
	note := db.Memory{Key: c.Key, Scope: toolset.UsualScope(c.Kind), Sources: idsOf(said)}
	for _, m := range said {
		if m.Role == chat.User && note.Scope == db.UserScope {
			note.Of = m.Actor.ID
		}
	}
	if u.Rules.Memory.Approval {
		note.Proposed = true
	}
	known, err := u.visibleMemories(ctx, note)
	if err != nil {
		return err
	}
	reply, err := u.askAgent(ctx, c.Key, "notes", u.Rules.NotesTask(string(u.Languages.Of(c)), c.Kind, known, said))
	if err != nil {
		return err
	}
	return u.StoreNotes(ctx, note, reply)
}

// maxAgentTries limits the retries for memories when the agent has no time. Each one lasts ten minutes.
const maxAgentTries = 6

// askAgent runs a task of the agent when there is time for it.
func (u *Keeper) askAgent(
	ctx context.Context, key chat.Key, purpose string, task contextmgr.Task,
) (reply string, err error) {
	for range maxAgentTries {
		reply, err = u.Budget.AskAgent(ctx, key, purpose, claude.Errand{System: task.Instruction, Text: task.Input})
		if !errors.Is(err, claude.ErrErrandBusy) {
			break
		}
	}
	return reply, err
}

// visibleMemories returns the memories that the model may see while it writes a new one: never those about other
// people, whose content could end up in it.
func (u *Keeper) visibleMemories(ctx context.Context, note db.Memory) ([]db.Memory, error) {
	list, err := u.DB.Memories().List(ctx, note.Key)
	return slices.DeleteFunc(list, func(x db.Memory) bool { return x.Scope == db.UserScope && x.Of != note.Of }), err
}

// StoreNotes stores the memories in the agent's reply, apart from known ones. note holds their common fields.
func (u *Keeper) StoreNotes(ctx context.Context, note db.Memory, reply string) error {
	known, err := u.visibleMemories(ctx, note) // the same may have been remembered meanwhile
	if err != nil {
		return err
	}
	for _, x := range contextmgr.ParseNotes(reply) {
		note.Title, note.Text, note.Keywords = u.Clean(x.Title), u.Clean(x.Text), nil
		for _, k := range x.Keywords {
			note.Keywords = append(note.Keywords, u.Clean(k))
		}
		if slices.ContainsFunc(known, func(k db.Memory) bool { return sameWords(k.Text, note.Text) }) {
			continue
		}
		saved, err := u.DB.Memories().Learn(ctx, note, db.Change{Who: ByItself, Why: WhyAnswer})
		if errors.Is(err, db.ErrNotFound) { // a message of the turn was recalled meanwhile
			return nil
		} else if err != nil {
			return err
		}
		known = append(known, saved)
		zerolog.Ctx(ctx).Info().Str("memory", saved.ID).Bool("proposed", saved.Proposed).Msg("memories made from a turn")
	}
	return nil
}

// sameWords reports whether two texts are equal apart from case, spaces and the final punctuation mark.
func sameWords(a, b string) bool {
	plain := func(s string) string { return strings.TrimRight(text.OneLine(s), "。.！! ") }
	return strings.EqualFold(plain(a), plain(b))
}
