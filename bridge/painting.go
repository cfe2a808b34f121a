package bridge

import (
	"context"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery"
	"magpie/bridge/turncard"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// turnDisplay shows a turn's progress, on its card and as reactions to its messages.
type turnDisplay struct {
	out       delivery.Messenger
	outbox    *delivery.Outbox
	reactions *delivery.Reactions
	store     *db.DB
	secrets   redact.Known
	onTurnEnd func(TurnEnd) // nil = nobody counts them
}

// startPainting shows that a turn has begun, and its progress until stopPainting is called.
func (d turnDisplay) startPainting(ctx context.Context, t *turn) (stopPainting func()) {
	d.reactions.Set(t.Asked, chat.Working)
	return d.paint(ctx, t)
}

// ended counts a turn in the metrics, and shows how it has ended, on its card and on its questions.
func (d turnDisplay) ended(key chat.Key, asked []chat.Message, e TurnEnd) {
	if d.onTurnEnd != nil {
		e.Key = key
		d.onTurnEnd(e)
	}
	d.outbox.Wake(key)
	d.reactions.Set(asked, delivery.ReactionOf(e.State))
}

// draw shows a final state that the outbox does not deliver. It tries only once: the turn continues later, and its card
// is drawn again then.
func (d turnDisplay) draw(ctx context.Context, t *turn, v turncard.State) {
	if t.painter.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finalCallTimeout(ctx))
	defer cancel()
	if err := d.out.Close(ctx, t.painter.ID, v.Card(time.Now())); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("card not drawn")
	}
}

// finalCallTimeout is the timeout of a platform call that is in progress when a turn ends; it is short during shutdown.
func finalCallTimeout(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 300 * time.Millisecond
	}
	return 2 * time.Second
}

// redactParts returns the parts of an answer without secrets. Only the last part still grows.
func (d turnDisplay) redactParts(parts []string) []string {
	clean, last := make([]string, len(parts)), len(parts)-1
	for i, part := range parts[:last] {
		clean[i] = d.secrets.Text(part)
	}
	clean[last] = d.secrets.PartialText(parts[last])
	return clean
}

// paint shows the turn's progress until the returned function is called.
func (d turnDisplay) paint(turn context.Context, t *turn) (stopPainting func()) {
	// Not cancelled with the turn: the last state must be drawn after it has ended.
	ctx, cancel := context.WithCancel(context.WithoutCancel(turn))
	idle, over := context.WithCancel(ctx)
	to, id := chat.Ref{Key: t.Turn.Key, ID: t.Turn.ReplyTo}, t.Turn.ID
	draft, searches := []string{""}, 0
	t.painter = turncard.NewPainter(d.out, turncard.Target{
		To: to, Idem: delivery.CardKey(id, to), ID: t.Turn.Card,
		Find: func(ctx context.Context) (string, error) {
			// The first attempt of a turn cannot have a card yet.
			if t.Turn.Attempts == 1 {
				return "", nil
			}
			searches++
			return d.outbox.FindCard(ctx, to, db.Post{
				Turn: id, Begun: t.Turn.Created, Attempts: searches,
			})
		},
		Posted: func(ctx context.Context, card string) {
			failpoint.At("card: posted")
			defer failpoint.At("card: stored")
			if err := d.store.Outbox().SetCard(context.WithoutCancel(ctx), db.Post{Key: t.Turn.Key, Turn: id}, card); err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Msg("card of the turn not stored")
			}
			d.outbox.Wake(to.Key) // the card before it is not the newest any more
		},
		Shows: func(ctx context.Context, parts []string) {
			parts = d.redactParts(parts)
			if slices.Equal(parts, draft) {
				return
			}
			draft = parts
			failpoint.At("draft: storing")
			defer failpoint.At("draft: stored")
			if err := d.store.Turns().SetDraft(ctx, id, parts...); err != nil && ctx.Err() == nil && !isUnsure(err) {
				zerolog.Ctx(ctx).Error().Err(err).Msg("draft of the answer not stored")
			}
		},
	}, t.view)
	// The outbox must not draw the same card at the same time: one writer per card.
	release := d.outbox.HoldCard(id)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer release()
		if t.Turn.Card == "" {
			d.outbox.Settle(idle, to.Key, id)
		}
		t.painter.Run(ctx, idle)
	}()
	return func() {
		over()
		// A card that cannot be drawn must not hold up the end of the turn for long.
		late := time.AfterFunc(finalCallTimeout(turn), cancel)
		<-done
		late.Stop()
		cancel()
	}
}
