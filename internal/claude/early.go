package claude

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude/workspace"
)

// Processes are also started before they are requested: spare ones, which have no chat yet, and those of chats whose
// next question is near. Until they are used they get no input and write nothing, so they cost memory, but no request to
// the model. They give way to any request.

// aheadTime is the default of how long a process that was started ahead of a turn waits for it.
const aheadTime = time.Minute

// shortWait is how long a process waits for a turn for which there was only a hint.
func (pl *Pool) shortWait() time.Duration { return cmp.Or(pl.cfg.Ahead, aheadTime) }

// longWait is how long a process waits for a turn that is very likely: as long as a spare process, or the keep-alive
// time if that is shorter.
func (pl *Pool) longWait() time.Duration {
	return max(pl.shortWait(), min(spareAge, pl.Limits().Idle))
}

// StartAhead starts the process that owner's next turn is likely to need, so that the turn need not wait for it. It does
// nothing if owner has a process or a turn, or if there is no room, and it returns the error of [Pool.Acquire] for a
// session that cannot be resumed. The process ends if no turn comes within a minute.
func (pl *Pool) StartAhead(ctx context.Context, owner string, spec Spec) error {
	return ifRoom(pl.startEarly(ctx, owner, spec, pl.shortWait(), false))
}

// StartNew is [Pool.StartAhead] for the first turn of a new conversation that owner has requested. The process waits
// longer.
func (pl *Pool) StartNew(ctx context.Context, owner string, spec Spec) error {
	return ifRoom(pl.startEarly(ctx, owner, spec, pl.longWait(), false))
}

// ifRoom is the error of a start that need not take place.
func ifRoom(err error) error {
	if errors.Is(err, ErrNoRoom) || errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}

// StartAgain is [Pool.StartNew] for an owner who last spoke at that time, and whose process ended with an earlier run
// of the program. Nobody is waiting for it, so it starts alone: while any other process is starting, it returns
// [ErrBusy]. [ErrNoRoom] means that there is no slot or no memory for it.
func (pl *Pool) StartAgain(ctx context.Context, owner string, spec Spec, spoke time.Time) error {
	if pl.Holds(owner) {
		return nil
	}
	pl.mu.Lock()
	busy := pl.starts() > 0
	pl.mu.Unlock()
	if busy {
		return ErrBusy
	}
	err := pl.startEarly(ctx, owner, spec, pl.longWait(), false)
	if err == nil {
		pl.noteActivity(owner, spoke)
	}
	return err
}

// startEarly starts a process that waits that long for owner's turn. own means that this turn waits for its slot.
func (pl *Pool) startEarly(ctx context.Context, owner string, spec Spec, wait time.Duration, own bool) error {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	if spec.Budget > 0 { // a process with a limit serves one turn, which begins with its start
		return nil
	}
	pl.mu.Lock()
	if pl.closed || pl.of(owner) != nil {
		pl.mu.Unlock()
		return nil
	}
	e := pl.add(&entry{state: starting, owner: owner})
	pl.mu.Unlock()
	// One slot stays free for the next request.
	if err := pl.start(ctx, e, spec, func() error { return pl.tryRoom(e, 2, own) }); err != nil {
		return err
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.adopt(e, wait)
	return nil
}

// adopt has a process wait that long for its chat's first turn, unless it does not know the last login. The caller holds
// mu.
func (pl *Pool) adopt(e *entry, wait time.Duration) {
	switch {
	case e.state != starting: // the pool was closed
	case e.logins != pl.logins:
		pl.retire(e, EndReplaced)
	default:
		e.active = time.Now()
		pl.keep(e, idle, wait)
	}
}

// Holds reports whether owner has a turn, or a process that waits for one or is being started for it.
func (pl *Pool) Holds(owner string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	e := pl.of(owner)
	return e != nil && e.state != ending
}

// Prolong notes another sign that owner has a question: a process that waits for the first one waits as long again. It
// reports whether owner has a process or a turn.
func (pl *Pool) Prolong(owner string) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	e := pl.of(owner)
	if e != nil && e.state == idle && e.p.session.fresh {
		e.timer.Reset(e.wait)
	}
	return e != nil && e.state != ending
}

// spareAge is how long a spare process waits for a chat: what it has read at its start, such as the state of the
// project's repository, becomes outdated.
const spareAge = 30 * time.Minute

// spareRetry is how long the start of a spare process waits for the starts of others.
const spareRetry = 2 * time.Second

// Expect starts a spare process with this spec in the background, if there is room: turns are likely to need it. It has
// its own session, folder and files, which become those of the chat that takes it.
func (pl *Pool) Expect(spec Spec) error {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.request(spec)
	pl.fill()
	return nil
}

// request records that a chat without a process requests one with this spec. The caller holds mu.
func (pl *Pool) request(spec Spec) {
	if pl.cfg.Spare == 0 || spec.Spare == nil {
		return
	}
	if spec.Budget > 0 { // a process with a limit serves one turn, which begins with its start
		pl.recent = nil
		pl.retireAll(spare)
		return
	}
	pl.recent = slices.DeleteFunc(pl.recent, func(r Spec) bool { return r.Alike(spec) })
	pl.recent = slices.Insert(pl.recent, 0, spec.WithoutChat())
	pl.recent = pl.recent[:min(len(pl.recent), pl.cfg.Spare)]
}

// retireAll ends all processes in one of these states, which do not fit any turn any more. The caller holds mu.
func (pl *Pool) retireAll(in ...state) {
	for _, e := range slices.Clone(pl.table) {
		if slices.Contains(in, e.state) {
			pl.retire(e, EndReplaced)
		}
	}
}

// isSpareFor reports whether a turn with this spec can take the process.
func (e *entry) isSpareFor(spec Spec) bool {
	return e.state == spare && e.p.alive() && e.p.spec.Alike(spec)
}

// spareFor is a spare process that a turn with this spec can take; nil = there is none. The caller holds mu.
func (pl *Pool) spareFor(spec Spec) *entry {
	return pl.find(func(e *entry) bool { return e.isSpareFor(spec) })
}

// fill starts the missing spare processes one by one, if there is room for them. A spare that was not requested
// recently makes room for a missing one. The caller holds mu.
func (pl *Pool) fill() {
	missing := slices.IndexFunc(pl.recent, func(r Spec) bool { return pl.spareFor(r) == nil })
	begun := pl.find(func(e *entry) bool { return e.state == starting && e.folder != "" })
	if pl.closed || missing < 0 || begun != nil {
		return
	}
	if pl.count(func(e *entry) bool { return e.state == spare }) < pl.cfg.Spare {
		go pl.startSpare(pl.add(&entry{state: starting, folder: uuid.NewString()}), pl.recent[missing])
		return
	}
	old := pl.find(func(e *entry) bool { return e.state == spare && !slices.ContainsFunc(pl.recent, e.isSpareFor) })
	if old != nil {
		pl.retire(old, EndReplaced)
		go func() {
			<-old.gone
			pl.refill()
		}()
	}
}

// refill is fill for a caller without mu.
func (pl *Pool) refill() {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.fill()
}

// startSpare starts a spare process. If that fails, so does the next turn, which reports why.
func (pl *Pool) startSpare(e *entry, wanted Spec) {
	if err := pl.tryRoom(e, 2, false); err != nil { // one slot stays free for the next request
		pl.discard(e)
		if errors.Is(err, ErrBusy) { // all cores are busy with other starts
			time.AfterFunc(spareRetry, pl.refill)
		}
		return
	}
	spec := wanted.Unbound(e.folder)
	if err := pl.start(context.Background(), e, spec, func() error { return nil }); err != nil {
		pl.removeFiles(e.folder, spec.Files)
		return
	}
	pl.mu.Lock()
	defer pl.mu.Unlock()
	pl.putBack(e)
	if e.state == spare {
		pl.fill()
	}
}

// putBack has a process wait for a chat, unless it has ended or does not know the last login. The caller holds mu.
func (pl *Pool) putBack(e *entry) {
	switch {
	case e.state != starting: // the pool was closed
	case e.logins != pl.logins || !e.p.alive():
		pl.retire(e, EndReplaced)
	default:
		e.owner = ""
		pl.keep(e, spare, spareAge)
	}
}

// TakeSpare gives owner, who has no process, a spare process that fits spec, if there is one; the next Acquire returns
// it, with its own session. bind stores that owner's agents keep their state in the spare process's folder, and reports
// whether they do: nobody else can have it then. If bind fails, the process ends.
func (pl *Pool) TakeSpare(owner string, spec Spec, bind func(folder string) (bool, error)) error {
	dir, err := workspace.RealDir(spec.Dir)
	if err != nil {
		return err
	}
	spec.Dir = dir
	if spec.Resume {
		return nil
	}
	pl.mu.Lock()
	pl.request(spec)
	e := pl.spareFor(spec)
	if spec.Budget > 0 || e == nil || pl.of(owner) != nil {
		pl.mu.Unlock()
		return nil
	}
	folder := e.folder
	e.use(starting)
	e.owner, e.folder = owner, "" // from now on the folder may be owner's, and stays
	pl.mu.Unlock()
	bound, err := bind(folder)
	pl.give(e, spec, folder, bound, err)
	switch {
	case err != nil: // the next start of the program decides whose folder it is
		<-e.gone
		return err
	case !bound:
		return nil
	}
	return workspace.UnmarkSpare(pl.cfg, folder)
}

// give gives a spare process to the chat of its entry, if its folder is the chat's now. Otherwise it is a spare one
// again, or ends if nobody knows whose folder that is.
func (pl *Pool) give(e *entry, spec Spec, folder string, bound bool, err error) {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	switch {
	case err != nil:
		pl.retire(e, EndReplaced)
	case !bound:
		e.folder = folder
		pl.putBack(e)
	default:
		if e.p.tools.Bind != nil {
			e.p.tools.Bind(e.owner)
		}
		e.p.spec.Name, e.p.session.unnamed = spec.Name, spec.Name != ""
		pl.adopt(e, pl.shortWait())
	}
}

// spareAgent is the agent of a spare process.
func (pl *Pool) spareAgent(folder string) (a workspace.Agent, err error) {
	if pl.cfg.Folder == nil {
		return workspace.NewAgent(pl.cfg, "")
	}
	if a, err = workspace.NewAgent(pl.cfg, folder); err == nil {
		err = a.MarkSpare()
	}
	return a, err
}

// removeFiles removes the files of a spare process. If that fails, the next start of the program tries again.
func (pl *Pool) removeFiles(folder, files string) {
	if files != "" {
		_ = os.Remove(files) // it is empty
	}
	if pl.cfg.Folder == nil {
		return
	}
	if a, err := workspace.NewAgent(pl.cfg, folder); err == nil {
		_ = a.RemoveFolder()
	}
}
