package bridge

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/attachment"
	"magpie/bridge/budget"
	"magpie/bridge/toolset"
	"magpie/bridge/turncard"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// processSpecs describes the processes that turns need.
type processSpecs struct {
	places workplace.Set
	budget *budget.Budget
	tools  *toolset.Set
	files  *attachment.Store
}

// specFor returns the specification of the process for a turn.
func (ps processSpecs) specFor(ctx context.Context, t *turn) (claude.Spec, error) {
	s := t.session
	// Checked before anything costs money: a session of another machine cannot be resumed here.
	if err := s.checkResumable(); err != nil {
		return claude.Spec{}, err
	}
	known := func() []string { return s.promptIDs(ctx) }
	spec, err := ps.sessionSpec(ctx, t.Claim, s.resume, known)
	spec.Plain = s.refused.Session != ""
	return spec, err
}

// sessionSpec is the specification of the process for a claimed turn, whose session holds the prompts that known lists.
func (ps processSpecs) sessionSpec(
	ctx context.Context, c db.Claim, resume bool, known func() []string,
) (claude.Spec, error) {
	spec, err := ps.chatSpec(c.Chat)
	spec.Session, spec.Resume, spec.Known = c.Turn.Session, resume, known
	spec.Files = ps.files.Dir(ctx, c.Turn.Key)
	return spec, err
}

// chatSpec is the specification of a chat's process, without its session and files.
func (ps processSpecs) chatSpec(c db.Chat) (claude.Spec, error) {
	dir, err := ps.places.Resolve(c)
	return claude.Spec{
		Model: c.Settings.Model, Effort: c.Settings.Effort, Budget: ps.budget.TurnLimit(c.Key),
		Dir: dir, Mode: ps.places.ModeOf(c), Name: c.Key.StableID("magpie-"), Kind: string(c.Kind),
		Suggest: c.Kind == chat.Private, // in a group a suggestion would be addressed to nobody in particular
		Tools:   ps.tools.For(c), Spare: ps.spareSpec(c.Kind),
	}, err
}

// spareSpec returns the specification of a spare process, by the ID of its folder, for a chat of this kind that is not
// known yet.
func (ps processSpecs) spareSpec(kind chat.Kind) func(folder string) claude.Spec {
	return func(folder string) claude.Spec {
		return claude.Spec{Tools: ps.tools.Unbound(kind), Files: ps.files.DirFor(folder)}
	}
}

// startSpare starts a spare process for a new chat, of the same kind as the chat that was active last.
func (r *turnRunner) startSpare(ctx context.Context) {
	last := db.Chat{Kind: chat.Private}
	list, err := r.db.Chats().Active(ctx, "", time.Time{}, 1)
	if err == nil && len(list) > 0 {
		last.Kind = list[0].Kind
	}
	var spec claude.Spec
	if err == nil {
		spec, err = r.specs.chatSpec(last)
	}
	if err == nil {
		err = r.pool.Expect(spec)
	}
	if err != nil && ctx.Err() == nil { // the first turn reports what is wrong
		zerolog.Ctx(ctx).Warn().Err(err).Msg("spare process not started")
	}
}

// takeSpare gives a chat without any agent so far a spare process, if there is one.
func (r *turnRunner) takeSpare(ctx context.Context, t *turn) {
	key := t.Turn.Key
	if t.session.resume {
		return
	}
	if _, err := r.db.Chats().Folder(ctx, key); !errors.Is(err, db.ErrNotFound) {
		return
	}
	spec, err := r.specs.chatSpec(t.Chat)
	if err == nil {
		err = r.pool.TakeSpare(key.String(), spec, func(folder string) (bool, error) {
			id, err := r.db.Chats().MakeFolder(context.WithoutCancel(ctx), key, folder)
			return id == folder, err
		})
	}
	if err != nil && ctx.Err() == nil { // the turn starts a process of its own, or reports why it cannot
		zerolog.Ctx(ctx).Warn().Err(err).Msg("spare process not taken")
	}
}

// noticeable is how long a turn waits for a free process before its card says so. A notice about a shorter wait would
// only flicker.
const noticeable = 500 * time.Millisecond

// acquire gets a process for the turn, and shows on the card when it has to wait for one.
func (r *turnRunner) acquire(ctx context.Context, t *turn, spec claude.Spec) (*claude.Process, error) {
	key, began := t.Turn.Key, time.Now()
	places, acquired, notice := make(chan int, 1), make(chan struct{}), sync.WaitGroup{}
	var queued time.Time
	var waited time.Duration
	spec.Queued = func(place int) {
		switch {
		case queued.IsZero():
			queued = time.Now()
		case place == 0:
			waited = time.Since(queued)
		}
		select {
		case <-places: // an earlier one, which nobody has seen
		default:
		}
		places <- place // the only sender, one at a time
	}
	notice.Go(func() {
		long, place := time.After(noticeable), 0
		for seen := false; ; {
			select {
			case place = <-places:
			case <-long:
				seen = true
			case <-acquired:
				return
			}
			switch {
			case seen && place > 0:
				t.painter.Update(t.view.Waiting(place, began))
			case seen:
				t.painter.Update(t.view.Doing(i18n.Starting, began))
			}
		}
	})
	defer func() { // the notice must not overwrite what the turn shows next
		close(acquired)
		notice.Wait()
		t.view = turncard.Waited(t.view, waited)
	}()
	failpoint.At("process: starting")
	defer failpoint.At("process: started")
	r.busy.setWaiting(key, !t.sent)
	defer r.busy.setWaiting(key, false)
	p, err := r.pool.Acquire(ctx, key.String(), spec)
	if err != nil || p.Session() == t.Turn.Session {
		return p, err
	}
	if err := t.session.rename(ctx, p.Session()); err != nil { // started ahead, with its own session
		r.pool.Release(p)
		return nil, err
	}
	return p, nil
}
