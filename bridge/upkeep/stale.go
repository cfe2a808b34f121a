package upkeep

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
)

// lastRounds is how many questions and answers of a stale chat are summarized as its key points.
const lastRounds = 5

// IsStale reports whether the chat was silent for longer than after before the claimed turn, so that its context starts
// empty. A chat that has had no turn is never stale.
func IsStale(c db.Claim, after time.Duration) bool {
	asked, before := c.Turn.Created, c.Chat.Turned
	return after > 0 && !before.IsZero() && asked.Sub(before) > after && c.Turn.Epoch == c.Chat.Epoch && len(c.Asked) > 0
}

// restartContext makes the context of a stale chat begin with the claimed turn. The key points of the last messages are
// a memory by then (see WatchStale), or become one while the turn is being answered. It reports whether there is a new
// context.
func (u *Keeper) restartContext(ctx context.Context, c db.Claim) bool {
	if !IsStale(c, u.Rules.StaleAfter.Duration) {
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
	if err := u.DB.Chats().RestartContext(context.WithoutCancel(ctx), key, c.Turn.Epoch, before-1); err != nil {
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

// WatchStale stores the key points of chats as soon as they are stale, so that the next question, which starts a new
// context, finds them in its memory. The bridge that leads does it for all: it needs only the History.
func (u *Keeper) WatchStale(ctx context.Context) {
	if u.Rules.StaleAfter.Duration == 0 {
		return
	}
	t := time.NewTicker(staleInterval)
	defer t.Stop()
	// Twice the interval: each chat is found a second time, in case that the first try failed or another bridge led then.
	for within := staleAtStart; ; within = 2 * staleInterval {
		if u.DB.Place().Leads() {
			if err := u.CaptureStale(ctx, time.Now(), within); err != nil && ctx.Err() == nil {
				u.Log.Error().Err(err).Msg("stale chats not found")
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return
		}
	}
}

// CaptureStale stores the key points of chats that have become stale within that time before now.
func (u *Keeper) CaptureStale(ctx context.Context, now time.Time, within time.Duration) error {
	until := now.Add(-u.Rules.StaleAfter.Duration)
	keys, err := u.DB.Chats().SilentBetween(ctx, until.Add(-within), until)
	if err != nil {
		return err
	}
	for _, key := range keys {
		c, err := u.DB.Chats().Get(ctx, key)
		if err != nil {
			return err
		}
		u.enqueueKeyPoints(db.Claim{Chat: c, Turn: db.Turn{ID: math.MaxInt64, Key: key, Epoch: c.Epoch}})
	}
	return nil
}

// enqueueKeyPoints stores the key points of what was said before the claimed turn, in the background; in groups only if
// configured.
func (u *Keeper) enqueueKeyPoints(c db.Claim) {
	if c.Chat.Kind != chat.Private && !u.Rules.Memory.CaptureGroup {
		return
	}
	log := u.Log.With().Stringer("chat", c.Turn.Key).Logger()
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
func (u *Keeper) captureKeyPoints(ctx context.Context, c db.Claim) error {
	done, err := u.DB.Memories().MadeSince(ctx, c.Turn.Key, WhyStale, c.Chat.Turned)
	if err != nil || done {
		return err
	}
	said, err := u.recentRounds(ctx, c)
	if err != nil || len(said) == 0 {
		return err
	}
	task := u.Rules.PointsTask(string(u.Languages.Of(c.Chat)), c.Chat.Kind, said)
	points, err := u.askAgent(ctx, c.Turn.Key, "points", task)
	if err != nil {
		return err
	}
	x := db.Memory{Key: c.Turn.Key, Scope: db.ChatScope, Text: contextmgr.Points(u.Clean(points), db.MaxMemoryText)}
	if u.Rules.Memory.Approval {
		x.Proposed = true
	}
	x.Sources = idsOf(said)
	_, err = u.DB.Memories().Learn(ctx, x, db.Change{Who: ByItself, Why: WhyStale})
	if errors.Is(err, db.ErrNotFound) { // one of the messages was recalled meanwhile
		return nil
	}
	return err
}

// recentRounds are the last questions before the claimed turn, each with its answers, oldest first.
func (u *Keeper) recentRounds(ctx context.Context, c db.Claim) ([]chat.Message, error) {
	var said []chat.Message
	questions := 0
	for m, err := range u.DB.Messages().Range(ctx, c.Turn.Key, c.Turn.Epoch, c.Chat.ContextStart, c.Turn.ID) {
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
