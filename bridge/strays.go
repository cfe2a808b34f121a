package bridge

import (
	"context"
	"errors"
	"time"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// working finds the agents that have outlived the bridge and may finish their turns alone, by their sessions. One whose
// request waits may not: nobody could hear what it asks.
func (r recovery) working(ctx context.Context, left []db.Turn) map[string]claude.Stray {
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
		if asks, err := r.db.Approvals().UndeliveredTo(ctx, t.ID); err == nil && len(asks) == 0 {
			alone[t.Session] = stray
		}
	}
	return alone
}

// letFinish lets agents finish their turns before anything else happens in their chats. It returns the turns of the
// other chats.
func (r recovery) letFinish(left []db.Turn, alone map[string]claude.Stray) (others []db.Turn) {
	chats := map[chat.Key][]db.Turn{}
	for _, t := range left {
		if _, ok := alone[t.Session]; ok && t.Follows == 0 {
			chats[t.Key] = nil
		}
	}
	for _, t := range left {
		if list, ok := chats[t.Key]; ok {
			chats[t.Key] = append(list, t)
		} else {
			others = append(others, t)
		}
	}
	for key, list := range chats {
		r.turns.first.Store(key, func(ctx context.Context) {
			for _, t := range list {
				if stray, ok := alone[t.Session]; ok && t.Follows == 0 {
					t.Stopped = r.await(ctx, t, stray)
				}
				// Also at the end of the program; otherwise the next start decides.
				decide, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
				_ = r.decide(decide, t)
				cancel()
				r.display.outbox.Wake(key)
			}
		})
		r.turns.wake(key)
	}
	return others
}

// await waits for an agent to finish its turn, and shows meanwhile that it goes on, and what it says. It reports whether
// somebody has stopped the turn.
func (r recovery) await(ctx context.Context, t db.Turn, stray claude.Stray) (stopped bool) {
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
	one := newTurn(r.cutOff.cfg, r.db, db.Claim{Turn: t, Chat: c, Asked: asked})
	one.Turn.Attempts++ // it may have a card already
	shown := func(text string) {
		parts, err := r.db.Turns().Drafts().Parts(work, t.ID, text)
		if err != nil {
			parts = []string{text}
		}
		one.view = one.view.WithAnswer(parts...)
	}
	shown(t.Draft)
	one.view = one.view.Doing(i18n.GoesOnAlone, time.Now())
	r.turns.busy.begin(t.Key, t.ID, stop)
	stopPainting := r.display.startPainting(work, one)
	dir := r.cutOff.transcriptDir(c, t)
	steers, err := r.db.Turns().Steers().Prompts(work, t.ID)
	if err != nil {
		log.Error().Err(err).Msg("additions of a turn not read")
	}
	transcript, err := r.pool.Config().Transcripts(t.Key.String()).Path(dir, t.Session)
	if err != nil {
		log.Error().Err(err).Msg("transcript not found")
	}
	stray.Await(work, transcript, func() claude.Outcome {
		did, err := r.cutOff.outcomeOf(dir, t, steers)
		if err == nil && len(did.Text) > len(t.Draft) && !did.Alone {
			shown(did.Text)
			one.setView(one.view)
		}
		return did
	})
	r.turns.busy.end(t.Key)
	stopPainting()
	return errors.Is(context.Cause(work), errStopped)
}
