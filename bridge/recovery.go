package bridge

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/approval"
	"magpie/bridge/delivery"
	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
)

// maxAttempts is how often a turn without any visible effect is claimed again after a crash. The turn may be what makes
// the program crash.
const maxAttempts = 3

// recovery takes over what an earlier process left behind.
type recovery struct {
	db          *db.DB
	pool        *claude.Pool
	approvals   *approval.Requests
	cutOff      cutOffTurns
	interrupted interruptedTurns
	turns       *turnQueue
	upkeep      *upkeep
	display     turnDisplay
	log         zerolog.Logger
}

// run finds what an earlier process has left, and ends its agents, but those that may finish their turns. Each chat in
// which something is left is recovered by itself, before its turns; the others do not wait for it. Then run wakes the
// chats that have work.
func (r recovery) run(ctx context.Context) error {
	// A message that arrives from here on wakes its chat itself: a picture first waits for its text.
	waiting, err := r.db.Queue().Chats(ctx)
	if err != nil {
		return err
	}
	left, err := r.db.Turns().Left(ctx)
	if err != nil {
		return err
	}
	running, err := r.db.Turns().Running(ctx)
	if err != nil {
		return err
	}
	awaited, err := r.db.Chats().AwaitedCompactions(ctx)
	if err != nil {
		return err
	}
	// Before any turn: an agent of the earlier run may still be writing into the session that a new one would resume.
	alone := r.working(ctx, running)
	if n, err := claude.Sweep(ctx, r.pool.Config(), slices.Collect(maps.Keys(alone))...); err != nil {
		r.log.Error().Err(err).Msg("agents of an earlier run may still be there")
	} else if n > 0 {
		r.log.Warn().Int("processes", n).Msg("agents of an earlier run were ended")
	}
	if err := r.pool.Config().RemoveSpares(r.cutOff.cfg.Files.Folder, r.isChatFolder(ctx)); err != nil {
		r.log.Error().Err(err).Msg("what processes without a chat have left is not removed")
	}
	turns := r.turns
	for _, key := range left {
		recovered := make(chan struct{})
		open := func(context.Context) error { close(recovered); return nil }
		first := inOrder(func(ctx context.Context) error { return r.recover(ctx, key, 0) }, open)
		finishes := func(t db.Turn) bool { _, ok := alone[t.Session]; return ok && t.Key == key && t.Follows == 0 }
		if i := slices.IndexFunc(running, finishes); i >= 0 {
			first = r.letFinish(running[i], alone[running[i].Session], open)
		}
		turns.recovered.Store(key, recovered)
		turns.first.Store(key, first)
	}
	for _, key := range slices.Concat(left, waiting) {
		turns.wake(key)
	}
	for _, key := range awaited {
		r.upkeep.summarize(key)
	}
	close(turns.listed)
	return nil
}

// recover takes up what is left in a chat whose agent is gone. Somebody has stopped one of its turns, unless that is 0.
func (r recovery) recover(ctx context.Context, key chat.Key, stopped int64) error {
	defer r.display.outbox.Wake(key)
	left, err := r.db.Turns().WithAgent(ctx, key)
	if err != nil {
		return err
	}
	for _, t := range left {
		t.Stopped = t.Stopped || t.ID == stopped
		if err := r.decide(ctx, t); err != nil {
			return err
		}
	}
	return r.reopen(ctx, key)
}

// reopen takes up what waits in a chat for people to decide, after the turns: whether an approval is needed depends on
// them.
func (r recovery) reopen(ctx context.Context, key chat.Key) error {
	for _, step := range []func(context.Context, chat.Key) error{r.interrupted.endOutdated, r.approvals.Recover} {
		err := step(ctx, key)
		switch {
		case db.Permanent(err):
			r.log.Error().Err(err).Stringer("chat", key).Msg("what waits for a decision not recovered")
		case err != nil:
			return err
		}
	}
	return nil
}

// decide recovers a turn, as soon as the store allows it. One that cannot be read any more ends where people see it.
func (r recovery) decide(ctx context.Context, t db.Turn) error {
	err := r.cutOff.recover(ctx, t)
	switch {
	case errors.Is(err, db.ErrStopped):
		t.Stopped = true
		return r.decide(ctx, t)
	case errors.Is(err, db.ErrUnreadable):
		r.log.Error().Err(err).Stringer("chat", t.Key).Int64("turn", t.ID).Msg("turn not recovered")
		err = r.cutOff.giveUp(ctx, t)
	}
	if db.Permanent(err) { // it has ended meanwhile, or nothing of it can be read
		r.log.Warn().Err(err).Stringer("chat", t.Key).Int64("turn", t.ID).Msg("turn not recovered")
		return nil
	}
	return err
}

// cutOffTurns decides about turns that were running when their process died.
type cutOffTurns struct {
	cfg       *Config
	db        *db.DB
	pool      *claude.Pool
	budget    *budget
	history   historyWriter
	reactions *delivery.Reactions
	log       zerolog.Logger
}

// recover decides about a turn that a dead process left. Its transcript tells what the agent did after the bridge had
// gone; the store tells what users have seen.
func (r cutOffTurns) recover(ctx context.Context, t db.Turn) error {
	if t.Follows != 0 {
		return r.cutFollowUp(ctx, t)
	}
	log := r.log.With().Stringer("chat", t.Key).Int64("turn", t.ID).Str("session", t.Session).Logger()
	c, err := r.db.Chats().Get(ctx, t.Key)
	if err != nil {
		return err
	}
	dir := r.transcriptDir(c, t)
	steers, err := r.db.Turns().Steered(ctx, t.ID)
	if err != nil {
		return err
	}
	seen, err := r.db.Turns().Drafts().Parts(ctx, t.ID, t.Draft)
	if err != nil {
		return err
	}
	did, err := r.outcomeOf(dir, t, steers)
	if err != nil {
		log.Error().Err(err).Msg("transcript not read")
	}
	life, readErr := r.db.Turns().Of(ctx, t.Key)
	if readErr != nil {
		return readErr
	}
	fate := life.Fate(t.ID, remainsOf(t, did, err, seen), maxAttempts)
	if fate == convo.Queued {
		log.Warn().Msg("turn was cut off before it changed anything; running it again")
		if err := r.bookUnread(ctx, t); err != nil {
			log.Error().Err(err).Msg("cost of a turn that runs again is not known")
		}
		return r.db.Queue().Requeue(ctx, t, r.halfDone(t, did, dir))
	}
	unanswered := slices.ContainsFunc(life.Requests, func(q convo.Request) bool { return q.NeededBy == t.ID && q.Verdict == convo.Waiting })
	end := r.outcome(log.WithContext(ctx), t, did, fate, unanswered)
	text := cutOffText(t, did, unanswered)
	parts, err := r.db.Turns().Drafts().Parts(ctx, t.ID, text)
	if err != nil {
		return err
	}
	e := db.TurnResult{
		Turn: t, State: end.State, Failure: end.Failure, Answer: text,
		Card:       turncard.New(t.ID, r.cfg.langOf(c), time.Now()).WithAnswer(parts...).Finish(end).Card(time.Now()),
		SteersRead: did.Steered, Unstopped: !t.Stopped,
	}
	if did.Known && !did.Failure.OfContents() {
		e.Session = r.sessionIn(t, dir)
	}
	e.Usage = r.usage(ctx, dir, t, did, time.Time{})
	if err := r.history.finish(ctx, e); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	asked, err := r.db.Messages().Questions(ctx, t) // without what is asked again
	if err != nil {
		log.Error().Err(err).Msg("questions not found; their reactions stay")
	}
	r.reactions.Set(asked, delivery.ReactionOf(end.State))
	r.cfg.reportTurnEnd(TurnEnd{State: end.State, Failure: end.Failure, Usage: e.Usage, Took: time.Since(t.Created)})
	return nil
}

// giveUp ends a turn of which nothing can be told.
func (r cutOffTurns) giveUp(ctx context.Context, t db.Turn) error {
	end := turncard.Outcome{State: db.Failed, Failure: "internal", Notice: i18n.FailUnknown}
	return r.history.finish(ctx, db.TurnResult{
		Turn: t, State: end.State, Failure: end.Failure,
		Card: turncard.New(t.ID, r.cfg.langOf(db.Chat{}), time.Now()).Finish(end).Card(time.Now()),
	})
}

// outcomeOf is what the transcript says about a turn that ran in the folder dir.
func (r cutOffTurns) outcomeOf(dir string, t db.Turn, steers []string) (claude.Outcome, error) {
	return r.pool.Config().Transcripts(t.Key.String()).ReadOutcome(dir, t.Session, t.Prompt, steers...)
}

// sessionIn is the session of a turn that ran in the folder dir; none if no session is resumed.
func (r cutOffTurns) sessionIn(t db.Turn, dir string) db.Session {
	if !r.cfg.Context.Resumes() {
		return db.Session{}
	}
	return db.Session{ID: t.Session, Node: r.cfg.Node, Cwd: realPath(dir)}
}

// halfDone is the session of a turn that runs again, if its agent has said or read something there.
func (r cutOffTurns) halfDone(t db.Turn, did claude.Outcome, dir string) db.Session {
	if !did.Acted && did.Text == "" || did.Failure.OfContents() {
		return db.Session{}
	}
	return r.sessionIn(t, dir)
}

// remainsOf is what is left of a turn: what its agent did, unless its transcript could not be read, and what people have
// seen.
func remainsOf(t db.Turn, did claude.Outcome, err error, seen []string) convo.Remains {
	left := convo.Remains{
		Unknown: err != nil, Ended: did.Ended, Failed: did.Failure != "", Refused: did.Failure.OfContents(),
		Said: did.Text != "", Used: did.Acted, Changed: did.Changed || did.Alone,
	}
	if t.Draft != "" {
		left.Pages = len(seen)
	}
	return left
}

// outcome is the outcome of a turn that is not run again.
func (r cutOffTurns) outcome(
	ctx context.Context, t db.Turn, did claude.Outcome, fate convo.Phase, unanswered bool,
) turncard.Outcome {
	log := zerolog.Ctx(ctx)
	switch {
	case fate == convo.Done:
		end := ownOutcome(did.Failure)
		log.Warn().Str("state", string(end.State)).
			Msg("turn was cut off after the agent had finished; delivering its answer")
		return end
	case fate == convo.Cancelled && t.Stopped:
		log.Warn().Msg("turn was cut off while it was being stopped")
		return stoppedOutcome(ctx, r.db.Turns(), t)
	case fate == convo.Cancelled:
		log.Warn().Msg("turn was cut off after its conversation had ended; it is not continued")
		return conversationOver
	case unanswered:
		log.Warn().Msg("turn was cut off while people were asked; people decide whether it goes on")
		return turncard.Outcome{State: db.Interrupted, Notice: i18n.InterruptedAsking}
	}
	log.Warn().Msg("turn was cut off; people decide whether it goes on")
	return turncard.Outcome{State: db.Interrupted, Notice: i18n.Interrupted}
}

// ownOutcome is the outcome of a turn that its agent has finished alone.
func ownOutcome(f claude.Failure) turncard.Outcome {
	end := turncard.OutcomeOf(f)
	if end.IsForOperators() {
		return end.Followed(i18n.TellAdmin)
	}
	return end
}

// cutOffText is the answer of a turn that was cut off: what the agent said, or what people have seen if that is more,
// or if they were being asked.
func cutOffText(t db.Turn, did claude.Outcome, unanswered bool) string {
	if unanswered || !did.Ended && len(t.Draft) > len(did.Text) {
		return t.Draft
	}
	return did.Text
}

// cutFollowUp ends a turn that its agent has started by itself, or was about to start.
func (r cutOffTurns) cutFollowUp(ctx context.Context, t db.Turn) error {
	if t.State == db.Queued {
		if _, err := r.db.Turns().Happens(ctx, t.Key, convo.Sleeps{Turn: t.ID}); err != nil {
			return err
		}
	}
	e, err := r.followUpResult(ctx, t, turncard.Outcome{State: db.Interrupted, Notice: i18n.BackgroundCut})
	if err != nil {
		return err
	}
	e.Unstopped = !t.Stopped
	if err := r.history.finish(ctx, e); err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	r.cfg.reportTurnEnd(TurnEnd{State: e.State, Failure: e.Failure, Usage: e.Usage, Took: time.Since(t.Created)})
	return nil
}

// followUpResult is how a follow-up ends whose agent is gone: with the agent's finished answer if there is one,
// otherwise with cut. Nobody has asked for it, so it is not started again automatically.
func (r cutOffTurns) followUpResult(ctx context.Context, t db.Turn, cut turncard.Outcome) (e db.TurnResult, err error) {
	log := r.log.With().Stringer("chat", t.Key).Int64("turn", t.ID).Str("session", t.Session).Logger()
	c, err := r.db.Chats().Get(ctx, t.Key)
	if err != nil {
		return e, err
	}
	unanswered, err := r.db.Approvals().HasUnanswered(ctx, t.ID)
	if err != nil {
		return e, err
	}
	if c.Epoch != t.Epoch { // /new came just before the shutdown
		cut = replaced
		cut.Failure = conversationOver.Failure
	}
	did := r.readUnasked(log.WithContext(ctx), c, t)
	usage := r.usage(ctx, r.transcriptDir(c, t), t, did, time.Time{})
	end := cut
	if cut.State != db.Interrupted { // the text is out of date
		did = claude.Outcome{}
	}
	switch {
	case cut.State != db.Interrupted:
	case t.Stopped && !(did.Ended && did.Failure == ""):
		end = turncard.Outcome{State: db.Cancelled, Notice: i18n.Stopped}
	case unanswered: // the agent may have continued without the permission, but nobody has decided that it should
		end.Notice = i18n.InterruptedAsking
	case did.Ended:
		end = ownOutcome(did.Failure)
	}
	text := cutOffText(t, did, unanswered)
	parts, err := r.db.Turns().Drafts().Parts(ctx, t.ID, text)
	if err != nil {
		return e, err
	}
	log.Warn().Bool("finished", did.Ended).Str("state", string(end.State)).Msg("work in the background was cut off")
	return db.TurnResult{
		Turn: t, State: end.State, Failure: end.Failure, Answer: text, Usage: usage,
		Card: turncard.New(t.ID, r.cfg.langOf(c), time.Now()).WithAnswer(parts...).Finish(end).Card(time.Now()),
	}, nil
}

// readUnasked returns the agent's text of a follow-up that no turn has read.
func (r cutOffTurns) readUnasked(ctx context.Context, c db.Chat, t db.Turn) claude.Outcome {
	transcripts := r.pool.Config().Transcripts(t.Key.String())
	consumed, err := r.db.Turns().FollowUps().PromptIDs(ctx, t.Session)
	var did claude.Outcome
	if err == nil {
		did, err = transcripts.ReadUnasked(r.transcriptDir(c, t), t.Session, consumed...)
	}
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("transcript not read")
	}
	return did
}

// transcriptDir is the folder in which the session of a turn was running: the chat may have changed its project since.
func (r cutOffTurns) transcriptDir(c db.Chat, t db.Turn) string {
	dir, transcripts := r.cfg.projectDir(c), r.pool.Config().Transcripts(t.Key.String())
	// The CLI files sessions by working folder, so all known folders are tried.
	for _, s := range append([]Workplace{{Dir: dir}}, r.cfg.workplaces()...) {
		if path, err := transcripts.Path(s.Dir, t.Session); err != nil || s.Dir == "" {
			continue
		} else if _, err := os.Stat(path); err == nil {
			return s.Dir
		}
	}
	return dir
}

func (cfg Config) reportTurnEnd(e TurnEnd) {
	if cfg.OnTurnEnd != nil {
		cfg.OnTurnEnd(e)
	}
}

// isChatFolder returns a function that reports whether a folder belongs to a chat's agents.
func (r recovery) isChatFolder(ctx context.Context) func(folder string) (bool, error) {
	return func(folder string) (bool, error) {
		_, err := r.db.Folders().Chat(ctx, folder)
		if errors.Is(err, db.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
}
