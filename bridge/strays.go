package bridge

import (
	"context"
	"errors"
	"time"

	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// working finds the agents that have outlived the bridge and may finish their turns alone, by their sessions. One whose
// request waits may not: nobody could hear what it asks.
func (r *cutOffTurns) working(ctx context.Context, left []db.Turn) map[string]claude.Stray {
	if len(left) == 0 {
		return nil
	}
	strays, err := claude.Strays(r.pool.Config())
	if err != nil {
		r.log.Error().Err(err).Msg("agents of an earlier run are not looked for")
	}
	alone := map[string]claude.Stray{}
	for _, t := range left {
		stray, ok := strays[t.Session]
		if !ok || t.Stopped || t.Follows != 0 {
			continue
		}
		if asks, err := r.db.Access().OpenApprovals(ctx, t.Key, t.ID); err == nil && len(asks) == 0 {
			alone[t.Session] = stray
		}
	}
	return alone
}

// letFinish are the first steps in a chat whose agent has outlived the bridge: it finishes its turn before anything else
// happens there. Meanwhile people decide what waits for them, once it is open.
func (r *cutOffTurns) letFinish(t db.Turn, stray claude.Stray, open func(context.Context) error) func(context.Context) error {
	var stopped bool
	return inOrder(
		func(ctx context.Context) error { return r.reopen(ctx, t.Key) },
		open,
		func(ctx context.Context) error { stopped = r.await(ctx, t, stray); return nil },
		func(ctx context.Context) error {
			// Also at the end of the program; otherwise the next start decides.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
			defer cancel()
			if stopped { // whoever stopped it may still be storing that
				if _, err := r.db.Turns().Happens(ctx, t.Key, convo.Stops{Turns: []int64{t.ID}}); err != nil {
					return err
				}
			}
			return r.recover(ctx, t.Key)
		},
	)
}

// await waits for an agent to finish its turn, and shows meanwhile that it goes on, and what it says. It reports whether
// somebody has stopped the turn, which may not be stored yet, unlike a recall.
func (r *cutOffTurns) await(ctx context.Context, t db.Turn, stray claude.Stray) (stopped bool) {
	log := r.log.With().Stringer("chat", t.Key).Int64("turn", t.ID).Str("session", t.Session).Logger()
	log.Info().Msg("the agent of an earlier run goes on; waiting for its end")
	work, stop := context.WithCancelCause(log.WithContext(ctx))
	defer stop(nil)
	c, err := r.db.Chats().Get(work, t.Key)
	if err != nil {
		log.Error().Err(err).Msg("chat of a turn not found; the language of its card is not known")
	}
	asked, err := r.db.Messages().Questions(work, t)
	if err != nil {
		log.Error().Err(err).Msg("questions not found; their reactions stay")
	}
	one := newTurn(r.cfg, r.db, db.Claim{Turn: t, Chat: c, Asked: asked})
	one.Turn.Attempts++ // it may have a card already
	shown := func(text string) {
		parts, err := r.db.Turns().Parts(work, t.ID, text)
		if err != nil {
			parts = []string{text}
		}
		one.view = one.view.WithAnswer(parts...)
	}
	shown(t.Draft)
	one.view = one.view.Doing(i18n.GoesOnAlone, time.Now())
	r.busy.begin(t.Key, t.ID, stop)
	stopPainting := r.display.startPainting(work, one)
	dir := r.transcriptDir(c, t)
	steers, err := r.db.Turns().PromptIDs(work, t)
	if err != nil {
		log.Error().Err(err).Msg("additions of a turn not read")
	}
	transcript, err := r.pool.Config().Transcripts(t.Key.String()).Path(dir, t.Session)
	if err != nil {
		log.Error().Err(err).Msg("transcript not found")
	}
	stray.Await(work, transcript, func() claude.Outcome {
		did, err := r.outcomeOf(dir, t, steers)
		if err == nil && len(did.Text) > len(t.Draft) && !did.Alone {
			shown(did.Text)
			one.setView(one.view)
		}
		return did
	})
	r.busy.end(t.Key)
	stopPainting()
	why := context.Cause(work)
	return errors.Is(why, errStopped) && !errors.Is(why, errRecalled)
}
