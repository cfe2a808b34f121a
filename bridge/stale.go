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

// beginAnew makes the context of a stale chat begin with the claimed turn. The key points of the last messages become a
// memory while the turn is being answered; in groups only if configured.
func (mt maintenance) beginAnew(ctx context.Context, c db.Claim) {
	if !stale(c, mt.cfg.Context.StaleAfter.Duration) {
		return
	}
	key, before := c.Turn.Key, c.Asked[0].Seq
	for _, m := range c.Asked {
		before = min(before, m.Seq)
	}
	if c.Chat.ContextStart >= before-1 {
		return // an earlier attempt of this turn has done it
	}
	log := zerolog.Ctx(ctx)
	if err := mt.db.Chats().RestartContext(context.WithoutCancel(ctx), key, c.Turn.Epoch, before-1); err != nil {
		log.Error().Err(err).Msg("stale chat not reset")
		return
	}
	log.Info().Time("silent_since", c.Chat.Turned).Msg("stale chat reset")
	if c.Chat.Kind != chat.Private && !mt.cfg.Context.Memory.CaptureGroup {
		return
	}
	mt.scheduler.jobs.Enqueue(func(ctx context.Context) {
		if err := mt.notes.capture(ctx, c); err != nil {
			mt.log.Error().Err(err).Stringer("chat", key).Msg("memories of a stale chat not stored")
		}
	})
}

// capture stores the key points of the last messages before the claimed turn as a memory, unless one of them was
// recalled meanwhile.
func (n notes) capture(ctx context.Context, c db.Claim) error {
	said, err := n.rounds(ctx, c)
	if err != nil || len(said) == 0 {
		return err
	}
	task := n.cfg.Context.PointsTask(string(n.cfg.langOf(c.Chat)), c.Chat.Kind, said)
	points, err := n.askAgent(ctx, c.Turn.Key, "points", task)
	if err != nil {
		return err
	}
	x := db.Memory{Key: c.Turn.Key, Scope: db.ChatScope, Text: contextmgr.Points(n.cfg.clean(points), db.MaxMemoryText)}
	if n.cfg.Context.Memory.Approval {
		x.State = db.ProposedMemory
	}
	for _, m := range said {
		x.Sources = append(x.Sources, m.ID)
	}
	_, err = n.db.Memories().Learn(ctx, x, db.Change{Who: byItself, Why: whyStale})
	if errors.Is(err, db.ErrNotFound) { // one of the messages was recalled meanwhile
		return nil
	}
	return err
}

// rounds are the last questions before the claimed turn, each with its answers, oldest first.
func (n notes) rounds(ctx context.Context, c db.Claim) ([]chat.Message, error) {
	var said []chat.Message
	questions := 0
	for m, err := range n.db.History().Range(ctx, c.Turn.Key, c.Turn.Epoch, c.Chat.ContextStart, c.Turn.ID) {
		if err != nil {
			return nil, err
		}
		said = append(said, m)
		if m.Role == chat.User {
			questions++
		}
		if questions == lastRounds || len(said) == mostLoaded {
			break
		}
	}
	slices.Reverse(said)
	return said, nil
}
