package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// maxAttempts is how often a turn that has done and shown nothing is begun again after a crash. It may be the cause.
const maxAttempts = 3

// recovery deals with turns that were cut off: at once, or when their asker has decided.
type recovery struct {
	b    *Bridge
	done chan struct{} // closed when it is known what became of the turns that an earlier process left
}

// run takes up what an earlier process left: its agents are ended, the turns that ran are finished, begun again, or
// interrupted, and what waits is woken.
func (r recovery) run(ctx context.Context) error {
	if n, err := r.b.pool.Sweep(ctx); err != nil {
		r.b.log.Error().Err(err).Msg("agents of an earlier run may still be there")
	} else if n > 0 {
		r.b.log.Warn().Int("processes", n).Msg("agents of an earlier run were ended")
	}
	left, err := r.b.db.Turns().Running(ctx)
	if err != nil {
		return err
	}
	for err := r.b.approvals.recover(ctx); err != nil && !hopeless(err); err = r.b.approvals.recover(ctx) {
		r.b.log.Error().Err(err).Msg("approvals not recovered; trying again")
		if workqueue.Sleep(ctx, workqueue.StoreRetry); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, t := range left {
		for err := r.turn(ctx, t); err != nil; err = r.turn(ctx, t) {
			log := r.b.log.Error().Err(err).Stringer("chat", t.Key).Int64("turn", t.ID)
			if hopeless(err) {
				log.Msg("turn not recovered")
				break
			}
			log.Msg("turn not recovered; trying again")
			if workqueue.Sleep(ctx, workqueue.StoreRetry); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	keys, err := r.b.db.Queue().Chats(ctx)
	if err != nil {
		return err
	}
	for _, key := range keys {
		r.b.wake(key)
	}
	awaited, err := r.b.db.Chats().AwaitedCompactions(ctx)
	if err != nil {
		return err
	}
	for _, key := range awaited {
		r.b.scheduler.make(key)
	}
	close(r.done)
	return nil
}

// hopeless reports whether trying again would end in the same way, and keep a start waiting for ever.
func hopeless(err error) bool {
	return errors.Is(err, db.ErrUnreadable) || errors.Is(err, db.ErrNotFound)
}

// await waits until it is known what became of the turns that an earlier process left. When that takes too long, the
// platform delivers the message again.
func (r recovery) await(ctx context.Context) error {
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// turn decides about a turn that a dead process left. Its transcript tells what the agent did after the bridge
// had gone; the store tells what people have seen.
func (r recovery) turn(ctx context.Context, t db.Turn) error {
	log := r.b.log.With().Stringer("chat", t.Key).Int64("turn", t.ID).Str("session", t.Session).Logger()
	c, err := r.b.db.Chats().Get(ctx, t.Key)
	if err != nil {
		return err
	}
	transcripts := r.b.pool.Config().Transcripts(t.Key.String())
	dir := r.b.cfg.workedIn(c, transcripts, t.Session)
	did, err := transcripts.ReadOutcome(dir, t.Session, t.Prompt)
	if err != nil {
		log.Error().Err(err).Msg("transcript not read")
	}
	idle := err == nil && !did.Ended && !did.Acted && did.Text == "" && !t.Acted && t.Draft == ""
	if idle && !t.Stopped && t.Attempts < maxAttempts {
		log.Warn().Msg("turn was cut off before it did anything; beginning it again")
		return r.b.db.Queue().Requeue(ctx, t.ID)
	}
	unanswered, err := r.b.db.Approvals().Unanswered(ctx, t.ID)
	if err != nil {
		return err
	}
	end := turncard.Outcome{State: db.Interrupted, Notice: i18n.Interrupted}
	text := did.Text
	switch {
	case t.Stopped && !(did.Ended && did.Failure == ""):
		end = r.b.stopped(ctx, t)
		log.Warn().Msg("turn was cut off while it was being stopped")
	case unanswered: // the agent may have gone on without what was asked for, but nobody has decided that
		log.Warn().Msg("turn was cut off while people were asked; its asker decides whether it goes on")
	case did.Ended:
		end = turncard.OutcomeOf(did.Failure)
		log.Warn().Str("state", string(end.State)).Msg("turn was cut off after the agent had finished; delivering its answer")
	default:
		log.Warn().Msg("turn was cut off; its asker decides whether it goes on")
	}
	if !did.Ended && !unanswered && len(t.Draft) > len(text) {
		text = t.Draft
	}
	e := db.TurnResult{
		Turn: t, State: end.State, Failure: end.Failure, Answer: text,
		Card: turncard.New(t.ID, r.b.cfg.langOf(c), time.Now()).Saying(text).End(end).Card(time.Now()),
	}
	if did.Known && r.b.cfg.Context.Resumes() {
		e.Session = db.Session{ID: t.Session, Node: r.b.cfg.Node, Cwd: realPath(dir)}
	}
	if did.Known {
		e.Usage = &db.Usage{
			Model: did.Model, Input: did.Usage.Input, Output: did.Usage.Output,
			CacheRead: did.Usage.CacheRead, CacheNew: did.Usage.CacheNew, Duration: time.Since(t.Created),
		}
		e.Usage.CostUSD = r.b.budget.estimate(ctx, *e.Usage)
	}
	if err := r.b.finish(ctx, e); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	r.b.reactions.set([]chat.Message{{Key: t.Key, ID: t.ReplyTo}}, signalOf(end.State))
	r.b.cfg.ended(Ended{State: end.State, Failure: end.Failure, Usage: e.Usage, Took: time.Since(t.Created)})
	return nil
}

// workedIn is the folder in which a session of a chat has run: the chat may have changed its project since.
func (cfg Config) workedIn(c db.Chat, transcripts claude.Transcripts, session string) string {
	dir := cfg.project(c)
	for _, s := range append([]site{{path: dir}}, cfg.sites()...) {
		if path, err := transcripts.Path(s.path, session); err != nil || s.path == "" {
			continue
		} else if _, err := os.Stat(path); err == nil {
			return s.path
		}
	}
	return dir
}

func (cfg Config) ended(e Ended) {
	if cfg.Ended != nil {
		cfg.Ended(e)
	}
}
