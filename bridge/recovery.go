package bridge

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/approval"
	"magpie/bridge/budget"
	"magpie/bridge/delivery"
	"magpie/bridge/turncard"
	"magpie/bridge/upkeep"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// maxAttempts is how often a turn without any visible effect is claimed again after a crash. The turn may be what makes
// the program crash.
const maxAttempts = 3

// cutOffTurns says what becomes of turns whose agent is gone: after a crash, when work in the background was cut off, and
// when people decide whether an interrupted one goes on.
type cutOffTurns struct {
	cfg       *Config
	places    workplace.Set
	db        *db.DB
	pool      *claude.Pool
	budget    *budget.Budget
	history   historyWriter
	turns     *turnQueue
	busy      *busyChats
	resumes   bool // a session goes on with the next turn
	outbox    *delivery.Outbox
	display   turnDisplay
	approvals *approval.Requests
	upkeep    *upkeep.Keeper
	log       zerolog.Logger

	// turns that an earlier process has left running, and its agents that may finish theirs, by session
	running []db.Turn
	alone   map[string]claude.Stray
}

// run finds what an earlier process has left, and ends its agents, but those that may finish their turns. Each chat in
// which something is left is recovered by itself, before its turns; the others do not wait for it. Chats that have work are
// woken. If other bridges serve the database, that is done for each room that this one takes, now or later.
func (r *cutOffTurns) run(ctx context.Context) error {
	// A message that arrives from here on wakes its chat itself: a picture first waits for its text.
	cut, waiting, awaited, err := r.lookForLeft(ctx)
	if err != nil {
		return err
	}
	if r.running, err = r.db.Turns().Running(ctx); err != nil {
		return err
	}
	r.running = slices.DeleteFunc(r.running, func(t db.Turn) bool { return !r.db.Place().Has(t.Key) })
	// Before any turn: an agent of the earlier run may still be writing into the session that a new one would resume.
	r.alone = r.working(ctx, r.running)
	if n, err := claude.Sweep(ctx, r.pool.Config(), slices.Collect(maps.Keys(r.alone))...); err != nil {
		r.log.Error().Err(err).Msg("agents of an earlier run may still be there")
	} else if n > 0 {
		r.log.Warn().Int("processes", n).Msg("agents of an earlier run were ended")
	}
	files := r.cfg.Files
	if err := r.pool.Config().RemoveSpares(files.Folder, r.isChatFolder(ctx)); err != nil {
		r.log.Error().Err(err).Msg("what processes without a chat have left is not removed")
	}
	if err := r.takeOver(ctx, cut, waiting, awaited); err != nil {
		return err
	}
	close(r.turns.listed)
	return nil
}

// takeOver takes up what an earlier process has left, in the rooms that this bridge has or takes.
func (r *cutOffTurns) takeOver(ctx context.Context, cut, waiting, awaited []chat.Key) error {
	place := r.db.Place()
	if place == nil {
		r.takeUp(cut, waiting, awaited)
		return nil
	}
	before, err := place.OnTake(r.takeRooms) // of the earlier process, and of events that have arrived already
	if err == nil {
		err = r.takeRooms(ctx, before...)
	}
	if err == nil {
		place.OnRenewal(r.takeFree)
		r.takeFree(ctx)
	}
	return err
}

// lookForLeft lists the chats in which something is to be done without being asked for: where an agent has left something,
// where a question waits, and where somebody waits for a summary. It leaves out those of other bridges.
func (r *cutOffTurns) lookForLeft(ctx context.Context) (cut, waiting, awaited []chat.Key, err error) {
	if waiting, err = r.db.Turns().Queued(ctx); err != nil {
		return nil, nil, nil, err
	}
	if cut, err = r.db.Turns().Left(ctx); err != nil {
		return nil, nil, nil, err
	}
	awaited, err = r.db.Chats().AwaitedCompactions(ctx)
	return cut, waiting, awaited, err
}

// takeUp has chats recovered before their turns, and wakes them.
func (r *cutOffTurns) takeUp(cut, waiting, awaited []chat.Key) {
	turns := r.turns
	for _, key := range cut {
		recovered := make(chan struct{})
		open := func(context.Context) error { close(recovered); return nil }
		first := inOrder(func(ctx context.Context) error { return r.recover(ctx, key) }, open)
		finishes := func(t db.Turn) bool { _, ok := r.alone[t.Session]; return ok && t.Key == key && t.Follows == 0 }
		if i := slices.IndexFunc(r.running, finishes); i >= 0 {
			first = r.letFinish(r.running[i], r.alone[r.running[i].Session], open)
		}
		turns.recovered.Store(key, recovered)
		turns.first.Store(key, first)
	}
	for _, key := range slices.Concat(cut, waiting) {
		turns.wake(key)
	}
	for _, key := range awaited {
		r.upkeep.Summarize(key)
	}
}

// takeRooms takes up what an earlier bridge has left in rooms that this one takes.
func (r *cutOffTurns) takeRooms(ctx context.Context, rooms ...chat.Key) error {
	cut, waiting, awaited, err := r.lookForLeft(ctx)
	if err != nil {
		return err
	}
	elsewhere := func(key chat.Key) bool { return !slices.Contains(rooms, key.Parent()) }
	r.takeUp(slices.DeleteFunc(cut, elsewhere), slices.DeleteFunc(waiting, elsewhere), slices.DeleteFunc(awaited, elsewhere))
	return nil
}

// takeFree takes the rooms in which something is to be done and that no bridge has.
func (r *cutOffTurns) takeFree(ctx context.Context) {
	cut, waiting, awaited, err := r.lookForLeft(ctx)
	for _, key := range slices.Concat(cut, waiting, awaited) {
		if err == nil {
			_, err = r.db.Place().Take(ctx, key)
		}
	}
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("chats of bridges that are gone are not taken over; trying again")
	}
}

// recover takes up what is left in a chat whose agent is gone.
func (r *cutOffTurns) recover(ctx context.Context, key chat.Key) error {
	defer r.outbox.Wake(key)
	left, err := r.db.Turns().WithAgent(ctx, key)
	if err != nil {
		return err
	}
	for _, t := range left {
		if err := r.settleLeft(ctx, t); err != nil {
			return err
		}
	}
	return r.reopen(ctx, key)
}

// reopen takes up what waits in a chat for people to decide, after the turns: whether an approval is needed depends on
// them.
func (r *cutOffTurns) reopen(ctx context.Context, key chat.Key) error {
	for _, step := range []func(context.Context, chat.Key) error{r.endOutdated, r.approvals.Recover} {
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

// settleLeft settles a turn that an earlier process has left.
func (r *cutOffTurns) settleLeft(ctx context.Context, t db.Turn) (err error) {
	if t.Follows != 0 && t.State == convo.Queued { // its agent was about to start it
		_, err = r.db.Turns().Happens(ctx, t.Key, convo.Sleeps{Turn: t.ID})
	}
	if err == nil {
		err = r.settle(ctx, t, cutOutcome(t))
	}
	if db.Permanent(err) { // it has ended meanwhile, or nothing of it can be read
		r.log.Warn().Err(err).Stringer("chat", t.Key).Int64("turn", t.ID).Msg("turn not recovered")
		return nil
	}
	return err
}

// settle decides what becomes of a turn whose agent is gone, and ends it unless it runs again. Its transcript tells what
// the agent did, also after the bridge had gone; the store tells what users have seen. If the agent has not finished, and
// nobody has stopped the turn, it ends with cut. One that cannot be read any more ends where people see it.
func (r *cutOffTurns) settle(ctx context.Context, t db.Turn, cut turncard.Outcome) error {
	log := r.log.With().Stringer("chat", t.Key).Int64("turn", t.ID).Str("session", t.Session).Logger()
	ctx = log.WithContext(ctx)
	c, noChat := r.db.Chats().Get(ctx, t.Key)
	life, noLife := r.db.Turns().Of(ctx, t.Key)
	seen, noParts := r.db.Turns().Parts(ctx, t.ID, t.Draft)
	known, unknown := r.db.Turns().PromptIDs(ctx, t)
	lost := errors.Join(noChat, noLife, noParts, unknown)
	if lost != nil && !errors.Is(lost, db.ErrUnreadable) {
		return lost
	}
	dir := r.transcriptDir(c, t)
	did, err := r.outcomeOf(dir, t, known)
	if err != nil {
		log.Error().Err(err).Msg("transcript not read")
	}
	fate := life.Fate(t.ID, remainsOf(t, did, err, seen), maxAttempts)
	if lost == nil && fate == convo.Queued {
		log.Warn().Msg("turn was cut off before it changed anything; running it again")
		if err := r.bookUnread(ctx, t); err != nil {
			log.Error().Err(err).Msg("cost of a turn that runs again is not known")
		}
		return r.db.Turns().Requeue(ctx, t, r.halfDone(t, did, dir))
	}
	e := db.TurnResult{Turn: t, SteersRead: did.Steered, Unstopped: !t.Stopped}
	e.Usage = r.usage(ctx, dir, t, did, time.Time{})
	if t.Follows == 0 && did.Known && !did.Failure.OfContents() {
		e.Session = r.sessionIn(t, dir)
	}
	end := r.outcome(ctx, t, life, did, fate, cut)
	if end.Notice == replaced.Notice {
		did = claude.Outcome{}
	}
	text := cutOffText(t, did, life.Asks(t.ID))
	if lost != nil {
		log.Error().Err(lost).Msg("turn not recovered")
		text, end = "", turncard.Outcome{State: convo.Failed, Failure: "internal", Notice: i18n.FailUnknown}
	}
	log.Warn().Bool("finished", did.Ended).Stringer("state", end.State).Msg("turn was cut off")
	err = r.end(ctx, e, r.cfg.langOf(c), text, end)
	if errors.Is(err, db.ErrStopped) {
		t.Stopped = true
		return r.settle(ctx, t, cut)
	}
	return err
}

// end ends a turn whose agent is gone, which has answered text.
func (r *cutOffTurns) end(ctx context.Context, e db.TurnResult, l i18n.Lang, text string, end turncard.Outcome) error {
	view, t := turncard.New(e.Turn.ID, l, time.Now()), e.Turn
	if text != "" {
		parts, err := r.db.Turns().Parts(ctx, t.ID, text)
		if err != nil {
			return err
		}
		view = view.WithAnswer(parts...)
	}
	if t.Follows != 0 {
		r.approvals.EndTurn(ctx, t, end.State)
	}
	e.Answer = text
	if err := r.history.finish(ctx, e, view, end); err != nil {
		return err
	}
	var asked []chat.Message // without what is asked again
	if t.Follows == 0 {
		var err error
		if asked, err = r.db.Messages().Questions(ctx, t); err != nil {
			zerolog.Ctx(ctx).Error().Err(err).Msg("questions not found; their reactions stay")
		}
	}
	r.display.ended(t.Key, asked, TurnEnd{State: end.State, Failure: end.Failure, Usage: e.Usage, Took: time.Since(t.Created)})
	return nil
}

// outcomeOf is what the transcript says about a turn that ran in the folder dir.
func (r *cutOffTurns) outcomeOf(dir string, t db.Turn, known []string) (claude.Outcome, error) {
	transcripts := r.pool.Config().Transcripts(t.Key.String())
	if t.Follows != 0 {
		return transcripts.ReadUnasked(dir, t.Session, known...)
	}
	return transcripts.ReadOutcome(dir, t.Session, t.Prompt, known...)
}

// sessionIn is the session of a turn that ran in the folder dir; none if no session is resumed.
func (r *cutOffTurns) sessionIn(t db.Turn, dir string) db.Session {
	if !r.resumes {
		return db.Session{}
	}
	return db.Session{ID: t.Session, Node: r.cfg.Node, Cwd: realPath(dir)}
}

// halfDone is the session of a turn that runs again, if its agent has said or read something there.
func (r *cutOffTurns) halfDone(t db.Turn, did claude.Outcome, dir string) db.Session {
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

// cutOutcome is the outcome of a turn that was cut off, and with which people may go on.
func cutOutcome(t db.Turn) turncard.Outcome {
	if t.Follows != 0 {
		return turncard.Outcome{State: convo.Interrupted, Notice: i18n.BackgroundCut}
	}
	return turncard.Outcome{State: convo.Interrupted, Notice: i18n.Interrupted}
}

// outcome is the outcome of a turn that is not run again.
func (r *cutOffTurns) outcome(
	ctx context.Context, t db.Turn, life convo.Chat, did claude.Outcome, fate convo.Phase, cut turncard.Outcome,
) turncard.Outcome {
	switch {
	case t.Follows != 0 && t.Epoch != life.Epoch: // /new came just before
		end := replaced
		end.Failure = conversationOver.Failure
		return end
	case cut.State != convo.Interrupted:
	case fate == convo.Done:
		return ownOutcome(did.Failure)
	case fate == convo.Cancelled && t.Stopped:
		return stoppedOutcome(ctx, r.db.Turns(), t)
	case fate == convo.Cancelled:
		return conversationOver
	case life.Asks(t.ID):
		cut.Notice = i18n.InterruptedAsking
	}
	return cut
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

// transcriptDir is the folder in which the session of a turn was running: the chat may have changed its project since.
func (r *cutOffTurns) transcriptDir(c db.Chat, t db.Turn) string {
	dir, transcripts := r.places.DirOf(c), r.pool.Config().Transcripts(t.Key.String())
	// The CLI files sessions by working folder, so all known folders are tried.
	for _, s := range append([]workplace.Place{{Dir: dir}}, r.places.List()...) {
		if path, err := transcripts.Path(s.Dir, t.Session); err != nil || s.Dir == "" {
			continue
		} else if _, err := os.Stat(path); err == nil {
			return s.Dir
		}
	}
	return dir
}

// isChatFolder returns a function that reports whether a folder belongs to a chat's agents.
func (r *cutOffTurns) isChatFolder(ctx context.Context) func(folder string) (bool, error) {
	return func(folder string) (bool, error) {
		_, err := r.db.Chats().ChatOfFolder(ctx, folder)
		if errors.Is(err, db.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
}
