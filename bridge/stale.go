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

// lastRounds is how many questions and answers of a stale chat its key points are made of.
const lastRounds = 5

// stale reports whether the chat was silent for so long before the claimed turn that it begins anew. A chat without a turn
// so far has nothing that could be stale.
func stale(c db.Claim, after time.Duration) bool {
	return after > 0 && !c.Chat.Turned.IsZero() && c.Turn.Created.Sub(c.Chat.Turned) > after &&
		c.Turn.Epoch == c.Chat.Epoch && len(c.Asked) > 0
}

// beginAnew lets the context of a stale chat begin with the claimed turn. The key points of what was said last in a private
// chat go into Memory, while the turn is already being answered.
func (b *Bridge) beginAnew(ctx context.Context, c db.Claim) {
	if !stale(c, b.cfg.Context.StaleAfter.Duration) {
		return
	}
	key, before := c.Turn.Key, c.Asked[0].Seq
	for _, m := range c.Asked {
		before = min(before, m.Seq)
	}
	if c.Chat.Anew >= before-1 {
		return // it is an earlier try of this turn that began anew
	}
	log := zerolog.Ctx(ctx)
	if err := b.db.BeginAnew(context.WithoutCancel(ctx), key, c.Turn.Epoch, before-1); err != nil {
		log.Error().Err(err).Msg("stale chat does not begin anew")
		return
	}
	log.Info().Time("silent_since", c.Chat.Turned).Msg("stale chat begins anew")
	if c.Chat.Kind != chat.Private {
		return // nobody there has agreed to it
	}
	b.upkeep.jobs.add(func(ctx context.Context) {
		if err := b.capture(ctx, c); err != nil {
			b.log.Error().Err(err).Stringer("chat", key).Msg("key points of a stale chat not remembered")
		}
	})
}

// capture remembers the key points of what was said last before the claimed turn.
func (b *Bridge) capture(ctx context.Context, c db.Claim) error {
	said, err := b.rounds(ctx, c)
	if err != nil || len(said) == 0 {
		return err
	}
	old := contextmgr.Summary{Text: c.Chat.Summary.Text, Until: c.Chat.Summary.Until}
	points, err := b.consult(ctx, c.Turn.Key, "points", b.cfg.Context.PointsTask(c.Chat.Lang, c.Chat.Kind, old, said))
	if err != nil {
		return err
	}
	var sources []string
	for _, m := range said {
		sources = append(sources, m.ID)
	}
	return b.remember(ctx, c.Turn.Key, b.cfg.Context.Bounded(redacted(points)), sources)
}

// rounds are the last questions before the claimed turn, each with its answers, oldest first.
func (b *Bridge) rounds(ctx context.Context, c db.Claim) ([]chat.Message, error) {
	var said []chat.Message
	questions := 0
	for m, err := range b.db.History(ctx, c.Turn.Key, c.Turn.Epoch, c.Chat.Anew, c.Turn.ID) {
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

// errNoMemory says that there is no place for what was learnt.
var errNoMemory = errors.New("there is no memory yet")

// remember keeps what was learnt in a chat.
func (b *Bridge) remember(context.Context, chat.Key, string, []string) error { return errNoMemory }

func redacted(s string) string { return s }
