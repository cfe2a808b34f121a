package bridge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"magpie/bridge/i18n"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// mostLoaded is how many messages of a chat are looked at for a summary.
const mostLoaded = 500

// compactNow orders a summary: at once, or when the turn that runs is over.
func compactNow(_ context.Context, o ordered) (order, error) {
	if o.chat.Compacting != "" {
		return o.say(i18n.CompactBegun)
	}
	return order{compact: true, then: func() { o.b.scheduler.make(o.m.Key) }}, nil
}

// summaries keeps what a prompt carries of a chat short: what is old becomes a summary, and after a long silence the
// context begins anew.
type summaries struct{ b *Bridge }

// due reports whether the chat's next turn should find a summary in place of its session.
func (sm summaries) due(c db.Chat) bool {
	return c.Compacting != "" || sm.b.cfg.Context.Full(c.Session.Tokens, c.Session.Window) && sm.b.scheduler.mayRetry(c.Key, time.Now())
}

// make makes the chat's summary, and a new session begins from it. Who asked for it is told what came of it. Whatever
// fails, the chat goes on as it is.
func (sm summaries) make(ctx context.Context, key chat.Key, wanted <-chan struct{}) error {
	err := sm.try(ctx, key, wanted)
	if errors.Is(err, errOutdated) {
		err = sm.try(ctx, key, wanted) // of what stands now
	}
	if errors.Is(err, errOutdated) {
		c, unknown := sm.b.db.Chats().Get(ctx, key)
		return sm.failed(ctx, c, errors.Join(err, unknown))
	}
	return err
}

// atOnce is for a summary that somebody waits for from the beginning.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// errOutdated says that a summary is not true any more of what it was made of: the chat has begun anew meanwhile, or
// something of it was taken back.
var errOutdated = errors.New("the conversation has changed meanwhile")

func (sm summaries) try(ctx context.Context, key chat.Key, wanted <-chan struct{}) error {
	c, err := sm.b.db.Chats().Get(ctx, key)
	if err != nil {
		return sm.failed(ctx, c, err)
	}
	list, err := sm.b.db.Messages().Settled(ctx, key, c.Epoch, c.After(), mostLoaded)
	if err != nil {
		return sm.failed(ctx, c, err)
	}
	slices.Reverse(list)
	older := sm.b.cfg.Context.Older(list)
	if len(older) == 0 {
		return sm.nothing(ctx, c)
	}
	if c.Compacting != "" {
		defer time.AfterFunc(noticeableWork, func() { sm.tellBegun(ctx, c) }).Stop()
		wanted = atOnce
	}
	task := sm.b.cfg.Context.SummaryTask(string(sm.b.cfg.langOf(c)), c.Kind, contextmgr.Summary{Text: c.Summary.Text, Until: c.Summary.Until}, older)
	failpoint.At("summary: asking")
	reply, err := sm.b.budget.askAgent(ctx, key, "summary", claude.Task{System: task.Do, Text: task.With, Owner: key.String(), Wanted: wanted})
	failpoint.At("summary: made")
	if err != nil {
		return sm.failed(ctx, c, err)
	}
	s := db.Summary{Text: sm.b.cfg.Context.Bounded(sm.b.cfg.clean(reply)), Seq: older[len(older)-1].Seq, Until: older[len(older)-1].Time}
	chars, of := 0, make([]string, len(older))
	for i, m := range older {
		chars += utf8.RuneCountInString(m.Text)
		of[i] = m.ID
	}
	done := fmt.Sprintf(i18n.CompactDone.In(sm.b.cfg.langOf(c)), len(older), chars, utf8.RuneCountInString(s.Text), len(list)-len(older))
	made := db.Compaction{Key: key, Epoch: c.Epoch, Before: c.Summary, Of: of, Summary: s, Reply: done}
	err = sm.b.db.Chats().Compact(context.WithoutCancel(ctx), made)
	if errors.Is(err, db.ErrNotFound) {
		return errOutdated
	} else if err != nil {
		return sm.failed(ctx, c, err)
	}
	sm.b.log.Info().Stringer("chat", key).Int("messages", len(older)).Int64("session_tokens", c.Session.Tokens).
		Bool("asked", c.Compacting != "").Msg("chat compacted")
	failpoint.At("summary: stored")
	sm.b.pool.Drop(key.String())
	sm.b.outbox.wake(key)
	if again := c.Summary.Seq != 0 && len(list) <= sm.b.cfg.Context.KeepRecent+2; again && c.Compacting == "" {
		sm.b.log.Warn().Stringer("chat", key).Msg("a session was full after one turn: [context] window is small for what the agent reads there")
		return errFullAgain
	}
	return nil
}

// errFullAgain says that a summary did not help: the session that began from it was full at once. To make one after
// every turn would cost more than it gains.
var errFullAgain = errors.New("the session was full after one turn")

// nothing is for a chat that is short. A session that is full anyway, of what tools have said, is left
// behind: the next one begins with the recent messages.
func (sm summaries) nothing(ctx context.Context, c db.Chat) error {
	ctx = context.WithoutCancel(ctx)
	if err := sm.b.db.Chats().AnswerCompact(ctx, c.Key, i18n.CompactNothing.In(sm.b.cfg.langOf(c))); err != nil {
		return sm.failed(ctx, c, err)
	}
	sm.b.outbox.wake(c.Key)
	if !sm.b.cfg.Context.Full(c.Session.Tokens, c.Session.Window) {
		return nil
	}
	if err := sm.b.db.Chats().ForgetSession(ctx, c.Key, c.Session.ID); err != nil {
		return sm.failed(ctx, c, err)
	}
	sm.b.log.Info().Stringer("chat", c.Key).Int64("session_tokens", c.Session.Tokens).Msg("full session dropped; its chat is too short for a summary")
	sm.b.pool.Drop(c.Key.String())
	return nil
}

// failed is for a summary that could not be made. Who asked for it is told, unless it will be tried again: after the
// turn that did not wait for it, or at the next start of the program.
func (sm summaries) failed(ctx context.Context, c db.Chat, err error) error {
	log := sm.b.log.With().Stringer("chat", c.Key).Logger()
	switch {
	case errors.Is(err, errImpatient) || errors.Is(err, claude.ErrTaskBusy) && c.Compacting == "":
		log.Warn().Err(err).Msg("chat not compacted yet")
		return err
	case ctx.Err() != nil:
		return err
	}
	log.Error().Err(err).Msg("chat not compacted")
	if c.Compacting != "" {
		text := i18n.CompactFailed
		if spent, ok := errors.AsType[*spentError](err); ok {
			text = spent.notice
		} else if errors.Is(err, errOutdated) {
			text = i18n.CompactChanged
		}
		if err := sm.b.db.Chats().AnswerCompact(ctx, c.Key, text.In(sm.b.cfg.langOf(c))); err != nil {
			log.Error().Err(err).Msg("failed compaction not told")
		}
		sm.b.outbox.wake(c.Key)
	}
	return err
}

// noticeableWork is how long a summary is being made before who asked for it is told that it is.
const noticeableWork = 5 * time.Second

func (sm summaries) tellBegun(ctx context.Context, c db.Chat) {
	to := chat.Ref{Key: c.Key, ID: c.CompactTo}
	if _, err := sm.b.out.Reply(ctx, to, i18n.CompactBegun.In(sm.b.cfg.langOf(c)), "begun:"+c.Compacting); err != nil {
		sm.b.log.Warn().Err(err).Stringer("chat", c.Key).Msg("reply failed")
	}
}
