package bridge

import (
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// maxLoaded limits the messages of a chat that are read for a summary.
const maxLoaded = 500

// compactNow orders a summary: at once, or after the running turn.
func (cs *commandSet) compactNow(_ context.Context, o invocation) (commandResult, error) {
	if o.chat.Compacting != "" {
		return o.say(i18n.CompactBegun)
	}
	return commandResult{effects: []db.Effect{db.RequestSummary{}}}, nil // replied to when the summary is made
}

// makeSummary replaces old messages of the chat by a summary, after which a new session starts: so prompts stay short.
// The result goes to the user who ordered it. On any failure the chat keeps its session.
func (u *upkeep) makeSummary(ctx context.Context, key chat.Key, wanted <-chan struct{}) error {
	err := u.makeOnce(ctx, key, wanted)
	if errors.Is(err, errOutdated) {
		err = u.makeOnce(ctx, key, wanted) // from the current state
	}
	if errors.Is(err, errOutdated) {
		c, unknown := u.db.Chats().Get(ctx, key)
		return u.handleFailure(ctx, c, errors.Join(err, unknown))
	}
	return err
}

// atOnce is a closed channel, for a summary that a user has ordered.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// errOutdated means that a summary no longer matches its messages: while it was made, a new conversation was started or
// a message was recalled.
var errOutdated = errors.New("the conversation has changed meanwhile")

// makeOnce makes one summary. It asks the model without a lock or a transaction, so the chat may change meanwhile; the
// final write checks the epoch and the previous summary, and fails with errOutdated.
func (u *upkeep) makeOnce(ctx context.Context, key chat.Key, wanted <-chan struct{}) error {
	c, err := u.db.Chats().Get(ctx, key)
	if err != nil {
		return u.handleFailure(ctx, c, err)
	}
	if wanted == atOnce && c.Compacting == "" {
		return nil // whoever has ordered it has got one that was being made
	}
	list, err := u.db.Messages().Answered(ctx, key, c.Epoch, c.ContextAfter(), maxLoaded)
	if err != nil {
		return u.handleFailure(ctx, c, err)
	}
	slices.Reverse(list)
	older := u.rules.MessagesToSummarize(list)
	if len(older) == 0 {
		return u.handleTooShort(ctx, c)
	}
	if c.Compacting != "" {
		defer time.AfterFunc(noticeableWork, func() { u.announceStart(ctx, c) }).Stop()
		wanted = atOnce
	}
	lang, before := u.cfg.langOf(c), contextmgr.Summary{Text: c.Summary.Text, Until: c.Summary.Until}
	task := u.rules.SummaryTask(string(lang), c.Kind, before, older)
	// Failpoints mark where the crash tests end the process.
	failpoint.At("summary: asking")
	reply, err := u.budget.askAgent(ctx, key, "summary", claude.Task{
		System: task.Instruction, Text: task.Input, Owner: key.String(), Wanted: wanted,
	})
	failpoint.At("summary: made")
	if err != nil {
		return u.handleFailure(ctx, c, err)
	}
	last := older[len(older)-1]
	s := db.Summary{Text: u.rules.TruncateSummary(u.cfg.clean(reply), string(lang)), Seq: last.Seq, Until: last.Time}
	chars := 0
	for _, m := range older {
		chars += utf8.RuneCountInString(m.Text)
	}
	kept := len(list) - len(older)
	done := i18n.CompactDone.Sprintf(lang, len(older), chars, utf8.RuneCountInString(s.Text), kept)
	made := db.Compaction{Key: key, Epoch: c.Epoch, Before: c.Summary, Of: idsOf(older), Summary: s, Reply: done}
	// The summary is paid for, so a shutdown must not discard it.
	err = u.db.Chats().Compact(context.WithoutCancel(ctx), made)
	if errors.Is(err, db.ErrNotFound) {
		return errOutdated
	} else if err != nil {
		return u.handleFailure(ctx, c, err)
	}
	u.log.Info().Stringer("chat", key).Int("messages", len(older)).Int64("session_tokens", c.Session.Tokens).
		Bool("asked", c.Compacting != "").Msg("chat compacted")
	failpoint.At("summary: stored")
	// The running process still holds the long context, so it must not answer the next message.
	<-u.pool.Drop(key.String())
	u.outbox.Wake(key)
	// If the chat is due again right after a summary, every turn would be followed by another one, each at a cost.
	if again := c.Summary.Seq != 0 && len(list) <= u.rules.KeepRecent+2; again && c.Compacting == "" {
		u.log.Warn().Stringer("chat", key).
			Msg("a session was full after one turn: [context] window is small for what the agent reads there")
		return errFullAgain
	}
	return nil
}

// errFullAgain means that a summary did not help: the session that started with it was full after one turn. Another
// summary after every turn would cost more than it saves.
var errFullAgain = errors.New("the session was full after one turn")

// handleTooShort handles a chat that is too short for a summary. If its session is full anyway, because of tool
// results, the session is dropped; the next one starts with the recent messages.
func (u *upkeep) handleTooShort(ctx context.Context, c db.Chat) error {
	ctx = context.WithoutCancel(ctx)
	if err := u.db.Chats().Compact(ctx, db.Compaction{Key: c.Key, Reply: i18n.CompactNothing.In(u.cfg.langOf(c))}); err != nil {
		return u.handleFailure(ctx, c, err)
	}
	u.outbox.Wake(c.Key)
	// Tool results fill a session without being part of the History.
	if !u.rules.NeedsCompaction(c.Session.Tokens, c.Session.Window) {
		return nil
	}
	if err := u.db.Chats().ForgetSession(ctx, c.Key, c.Session.ID); err != nil {
		return u.handleFailure(ctx, c, err)
	}
	u.log.Info().Stringer("chat", c.Key).Int64("session_tokens", c.Session.Tokens).
		Msg("full session dropped; its chat is too short for a summary")
	<-u.pool.Drop(c.Key.String())
	return nil
}

// handleFailure handles a failed summary. The user who asked for it gets a reply, unless it will be retried: after the
// next turn, or at the next start.
func (u *upkeep) handleFailure(ctx context.Context, c db.Chat, err error) error {
	log := u.log.With().Stringer("chat", c.Key).Logger()
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
		if err := u.db.Chats().Compact(ctx, db.Compaction{Key: c.Key, Reply: text.In(u.cfg.langOf(c))}); err != nil {
			log.Error().Err(err).Msg("reply about a failed compaction not stored")
		}
		u.outbox.Wake(c.Key)
	}
	return err
}

// noticeableWork is how long a summary may take before its requester gets a progress message.
const noticeableWork = 5 * time.Second

// announceStart is best effort. The idempotency key prevents a second notice when a restart repeats it.
func (u *upkeep) announceStart(ctx context.Context, c db.Chat) {
	to := chat.Ref{Key: c.Key, ID: c.CompactTo}
	if _, err := u.out.Reply(ctx, to, i18n.CompactBegun.In(u.cfg.langOf(c)), "begun:"+c.Compacting); err != nil &&
		ctx.Err() == nil {
		u.log.Warn().Err(err).Stringer("chat", c.Key).Msg("reply failed")
	}
}
