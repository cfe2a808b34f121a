package bridge

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// draw shows a last view that is in no outbox, if there is a card and the platform takes it at once.
func (t *turn) draw(ctx context.Context, v turncard.State) {
	if t.painter.ID == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), courtesy(ctx))
	defer cancel()
	if err := t.b.out.Close(ctx, t.painter.ID, v.Card(time.Now())); err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("card not drawn")
	}
}

// courtesy is how long a call to the platform that is under way at a turn's end may take before it is cut off: not long
// when the turn's context has ended with the program.
func courtesy(ctx context.Context) time.Duration {
	if ctx.Err() != nil {
		return 300 * time.Millisecond
	}
	return 2 * time.Second
}

// paint shows how the turn goes on, until rest is called.
func (t *turn) paint(turn context.Context) (rest func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(turn))
	idle, over := context.WithCancel(ctx)
	to, id, draft, searches := chat.Ref{Key: t.claim.Turn.Key, ID: t.claim.Turn.ReplyTo}, t.claim.Turn.ID, "", 0
	t.painter = turncard.NewPainter(t.b.out, turncard.Target{
		To: to, Idem: cardKey(id, to), ID: t.claim.Turn.Card,
		Find: func(ctx context.Context) (string, error) {
			if t.claim.Turn.Attempts == 1 {
				return "", nil
			}
			searches++
			return t.b.outbox.posted(ctx, to, db.Post{Turn: id, Begun: t.claim.Turn.Created, Attempts: searches})
		},
		Posted: func(ctx context.Context, card string) {
			failpoint.At("card: posted")
			defer failpoint.At("card: stored")
			if err := t.b.db.Turns().SetCard(context.WithoutCancel(ctx), id, card); err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Msg("card of the turn not stored")
			}
		},
		Shows: func(ctx context.Context, answer string) {
			if answer = t.b.cfg.Secrets.Growing(answer); answer == draft {
				return
			}
			draft = answer
			failpoint.At("draft: storing")
			defer failpoint.At("draft: stored")
			if err := t.b.db.Turns().SetDraft(ctx, id, answer); err != nil {
				zerolog.Ctx(ctx).Error().Err(err).Msg("draft of the answer not stored")
			}
		},
	}, t.view)
	release := t.b.outbox.hold(id)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer release()
		t.painter.Run(ctx, idle)
	}()
	return func() {
		over()
		late := time.AfterFunc(courtesy(turn), cancel)
		<-done
		late.Stop()
		cancel()
	}
}

func (t *turn) show(v turncard.State) {
	t.view = v
	t.painter.Show(v)
}
