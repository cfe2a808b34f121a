package upkeep

import (
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"magpie/bridge/budget"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// maxLoaded limits the messages of a chat that are read for a summary.
const maxLoaded = 500

// MakeSummary replaces old messages of the chat by a summary, after which a new session starts: so prompts stay short.
// The result goes to the user who ordered it. On any failure the chat keeps its session.
func (u *Keeper) MakeSummary(ctx context.Context, key chat.Key, wanted <-chan struct{}) error {
	err := u.makeOnce(ctx, key, wanted)
	if errors.Is(err, errOutdated) {
		err = u.makeOnce(ctx, key, wanted) // from the current state
	}
	if errors.Is(err, errOutdated) {
		c, unknown := u.DB.Chats().Get(ctx, key)
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
func (u *Keeper) makeOnce(ctx context.Context, key chat.Key, wanted <-chan struct{}) error {
	c, err := u.DB.Chats().Get(ctx, key)
	if err != nil {
		return u.handleFailure(ctx, c, err)
	}
	if wanted == atOnce && c.Compacting == "" {
		return nil // whoever has ordered it has got one that was being made
	}
	list, err := u.DB.Messages().Answered(ctx, key, c.Epoch, c.ContextAfter(), maxLoaded)
	if err != nil {
		return u.handleFailure(ctx, c, err)
	}
	slices.Reverse(list)
	older := u.Rules.MessagesToSummarize(list)
	if len(older) == 0 {
		return u.handleTooShort(ctx, c)
	}
	if c.Compacting != "" {
		defer time.AfterFunc(noticeableWork, func() { u.announceStart(ctx, c) }).Stop()
		wanted = atOnce
	}
	lang, before := u.Languages.Of(c), contextmgr.Summary{Text: c.Summary.Text, Until: c.Summary.Until}
	task := u.Rules.SummaryTask(string(lang), c.Kind, before, older)
	// Failpoints mark where the crash tests end the process.
	failpoint.At("summary: asking")
	reply, err := u.Budget.AskAgent(ctx, key, "summary", claude.Errand{
		System: task.Instruction, Text: task.Input, Owner: key.String(), Wanted: wanted,
	})
	failpoint.At("summary: made")
	if err != nil {
		return u.handleFailure(ctx, c, err)
	}
	last := older[len(older)-1]
	s := db.Summary{Text: u.Rules.TruncateSummary(u.Clean(reply), string(lang)), Seq: last.Seq, Until: last.Time}
	chars := 0
	for _, m := range older {
		chars += utf8.RuneCountInString(m.Text)
	}
	kept := len(list) - len(older)
	done := i18n.CompactDone.Sprintf(lang, len(older), chars, utf8.RuneCountInString(s.Text), kept)
	made := db.Compaction{Key: key, Epoch: c.Epoch, Before: c.Summary, Of: idsOf(older), Summary: s, Reply: done}
	// The summary is paid for, so a shutdown must not discard it.
	err = u.DB.Chats().Compact(context.WithoutCancel(ctx), made)
	if errors.Is(err, db.ErrNotFound) {
		return errOutdated
	} else if err != nil {
		return u.handleFailure(ctx, c, err)
	}
	u.Log.Info().Stringer("chat", key).Int("messages", len(older)).Int64("session_tokens", c.Session.Tokens).
		Bool("asked", c.Compacting != "").Msg("chat compacted")
	failpoint.At("summary: stored")
	// The running process still holds the long context, so it must not answer the next message.
	<-u.Pool.Drop(key.String())
	u.Outbox.Wake(key)
	// If the chat is due again right after a summary, every turn would be followed by another one, each at a cost.
	if again := c.Summary.Seq != 0 && len(list) <= u.Rules.KeepRecent+2; again && c.Compacting == "" {
		u.Log.Warn().Stringer("chat", key).
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
func (u *Keeper) handleTooShort(ctx context.Context, c db.Chat) error {
	ctx = context.WithoutCancel(ctx)
	if err := u.DB.Chats().Compact(ctx, db.Compaction{Key: c.Key, Reply: i18n.CompactNothing.In(u.Languages.Of(c))}); err != nil {
		return u.handleFailure(ctx, c, err)
	}
	u.Outbox.Wake(c.Key)
	// Tool results fill a session without being part of the History.
	if !u.Rules.NeedsCompaction(c.Session.Tokens, c.Session.Window) {
		return nil
	}
	if err := u.DB.Chats().ForgetSession(ctx, c.Key, c.Session.ID); err != nil {
		return u.handleFailure(ctx, c, err)
	}
	u.Log.Info().Stringer("chat", c.Key).Int64("session_tokens", c.Session.Tokens).
		Msg("full session dropped; its chat is too short for a summary")
	<-u.Pool.Drop(c.Key.String())
	return nil
}

// handleFailure handles a failed summary. The user who asked for it gets a reply, unless it will be retried: after the
// next turn, or at the next start.
func (u *Keeper) handleFailure(ctx context.Context, c db.Chat, err error) error {
	log := u.Log.With().Stringer("chat", c.Key).Logger()
	switch {
	case errors.Is(err, errImpatient) || errors.Is(err, claude.ErrErrandBusy) && c.Compacting == "":
		log.Warn().Err(err).Msg("chat not compacted yet")
		return err
	case ctx.Err() != nil:
		return err
	}
	log.Error().Err(err).Msg("chat not compacted")
	if c.Compacting != "" {
		text := i18n.CompactFailed
		if spent, ok := errors.AsType[*budget.SpentError](err); ok {
			text = spent.Notice
		} else if errors.Is(err, errOutdated) {
			text = i18n.CompactChanged
		}
		if err := u.DB.Chats().Compact(ctx, db.Compaction{Key: c.Key, Reply: text.In(u.Languages.Of(c))}); err != nil {
			log.Error().Err(err).Msg("reply about a failed compaction not stored")
		}
		u.Outbox.Wake(c.Key)
	}
	return err
}

// noticeableWork is how long a summary may take before its requester gets a progress message.
const noticeableWork = 5 * time.Second

// announceStart is best effort. The idempotency key prevents a second notice when a restart repeats it.
func (u *Keeper) announceStart(ctx context.Context, c db.Chat) {
	to := chat.Ref{Key: c.Key, ID: c.CompactTo}
	if _, err := u.Out.Reply(ctx, to, i18n.CompactBegun.In(u.Languages.Of(c)), "begun:"+c.Compacting); err != nil &&
		ctx.Err() == nil {
		u.Log.Warn().Err(err).Stringer("chat", c.Key).Msg("reply failed")
	}
}
