package bridge

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
)

// lastRounds is how many questions and answers of a stale chat are summarized as its key points.
const lastRounds = 5

// stale reports whether the chat was silent for longer than after before the claimed turn, so that its context starts
// empty. A chat that has had no turn is never stale.
func stale(c db.Claim, after time.Duration) bool {
	return after > 0 && !c.Chat.Turned.IsZero() && c.Turn.Created.Sub(c.Chat.Turned) > after &&
		c.Turn.Epoch == c.Chat.Epoch && len(c.Asked) > 0
}

// restartContext makes the context of a stale chat begin with the claimed turn. The key points of the last messages are
// a memory by then (see watchStale), or become one while the turn is being answered. It reports whether there is a new
// context.
func (u *upkeep) restartContext(ctx context.Context, c db.Claim) bool {
	if !stale(c, u.rules.StaleAfter.Duration) {
		return false
	}
	key, before := c.Turn.Key, c.Asked[0].Seq
	for _, m := range c.Asked {
		before = min(before, m.Seq)
	}
	if c.Chat.ContextStart >= before-1 {
		return false // an earlier attempt of this turn has done it
	}
	log := zerolog.Ctx(ctx)
	if err := u.db.Chats().RestartContext(context.WithoutCancel(ctx), key, c.Turn.Epoch, before-1); err != nil {
		log.Error().Err(err).Msg("stale chat not reset")
		return false
	}
	log.Info().Time("silent_since", c.Chat.Turned).Msg("stale chat reset")
	u.enqueueKeyPoints(c)
	return true
}

// How often chats that have become stale are looked for, and how far back at the start of the program. Older ones wait
// for their next question: many are never used again.
const (
	staleInterval = time.Hour
	staleAtStart  = 24 * time.Hour
)

// watchStale stores the key points of chats as soon as they are stale, so that the next question, which starts a new
// context, finds them in its memory.
func (u *upkeep) watchStale(ctx context.Context) {
	if u.rules.StaleAfter.Duration == 0 {
		return
	}
	t := time.NewTicker(staleInterval)
	defer t.Stop()
	// Twice the interval: each chat is found a second time, in case that the first try failed.
	for within := staleAtStart; ; within = 2 * staleInterval {
		if err := u.captureStale(ctx, time.Now(), within); err != nil && ctx.Err() == nil {
			u.log.Error().Err(err).Msg("stale chats not found")
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// captureStale stores the key points of chats that have become stale within that time before now.
func (u *upkeep) captureStale(ctx context.Context, now time.Time, within time.Duration) error {
	until := now.Add(-u.rules.StaleAfter.Duration)
	keys, err := u.db.Chats().SilentBetween(ctx, until.Add(-within), until)
	if err != nil {
		return err
	}
	for _, key := range keys {
		c, err := u.db.Chats().Get(ctx, key)
		if err != nil {
			return err
		}
		u.enqueueKeyPoints(db.Claim{Chat: c, Turn: db.Turn{ID: noTurn, Key: key, Epoch: c.Epoch}})
	}
	return nil
}

// enqueueKeyPoints stores the key points of what was said before the claimed turn, in the background; in groups only if
// configured.
func (u *upkeep) enqueueKeyPoints(c db.Claim) {
	if c.Chat.Kind != chat.Private && !u.rules.Memory.CaptureGroup {
		return
	}
	log := u.log.With().Stringer("chat", c.Turn.Key).Logger()
	begun := u.enqueueSearch(c.Turn.Key, func(ctx context.Context) {
		if err := u.captureKeyPoints(ctx, c); err != nil {
			log.Error().Err(err).Msg("memories of a stale chat not stored")
		}
	})
	if !begun {
		log.Warn().Msg("memories of a stale chat not stored: too many turns wait")
	}
}

// captureKeyPoints stores the key points of the last messages before the claimed turn as a memory, unless that was done
// since the chat's last turn, or one of them was recalled meanwhile.
func (u *upkeep) captureKeyPoints(ctx context.Context, c db.Claim) error {
	done, err := u.db.Memories().MadeSince(ctx, c.Turn.Key, whyStale, c.Chat.Turned)
	if err != nil || done {
		return err
	}
	said, err := u.recentRounds(ctx, c)
	if err != nil || len(said) == 0 {
		return err
	}
	task := u.rules.PointsTask(string(u.cfg.langOf(c.Chat)), c.Chat.Kind, said)
	points, err := u.askAgent(ctx, c.Turn.Key, "points", task)
	if err != nil {
		return err
	}
	x := db.Memory{Key: c.Turn.Key, Scope: db.ChatScope, Text: contextmgr.Points(u.cfg.clean(points), db.MaxMemoryText)}
	if u.rules.Memory.Approval {
		x.Proposed = true
	}
	x.Sources = idsOf(said)
	_, err = u.db.Memories().Learn(ctx, x, db.Change{Who: byItself, Why: whyStale})
	if errors.Is(err, db.ErrNotFound) { // one of the messages was recalled meanwhile
		return nil
	}
	return err
}

// recentRounds are the last questions before the claimed turn, each with its answers, oldest first.
func (u *upkeep) recentRounds(ctx context.Context, c db.Claim) ([]chat.Message, error) {
	var said []chat.Message
	questions := 0
	for m, err := range u.db.Messages().Range(ctx, c.Turn.Key, c.Turn.Epoch, c.Chat.ContextStart, c.Turn.ID) {
		if err != nil {
			return nil, err
		}
		said = append(said, m)
		if m.Role == chat.User {
			questions++
		}
		if questions == lastRounds || len(said) == maxLoaded {
			break
		}
	}
	slices.Reverse(said)
	return said, nil
}
