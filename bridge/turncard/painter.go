package turncard

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/workqueue"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// Painter shows the progress of a turn. While the turn runs, only the painter writes to its card, and it draws the
// latest view as often as the platform allows. The outbox shows how the turn ended.
type Painter struct {
	Target
	out Messenger

	mu    sync.Mutex
	view  State
	dirty chan struct{} // there is an undrawn view
}

// Target is the card that a painter draws on.
type Target struct {
	To   chat.Ref // the message it replies to
	Idem string   // makes posting it idempotent
	ID   string   // of an existing card; empty = none yet
	// finds a card posted by an earlier process; empty = none
	Find   func(ctx context.Context) (string, error)
	Posted func(ctx context.Context, cardID string)  // called once the card exists
	Shows  func(ctx context.Context, parts []string) // called before an answer becomes visible; see [State.Parts]
}

// Messenger is what a painter needs of a chat platform. An error that matches [chat.ErrGone] or [chat.ErrUnreachable]
// is permanent; after any other the same call can be retried.
type Messenger interface {
	// Post replies to a message with a card and returns the card's durable ID.
	Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error)
	// Ready waits until the platform accepts another edit of the card.
	Ready(ctx context.Context, cardID string) error
	// Edit redraws the card.
	Edit(ctx context.Context, cardID string, card chat.Card) error
}

// NewPainter makes a painter whose first view is v. Run starts it.
func NewPainter(out Messenger, on Target, v State) *Painter {
	return &Painter{Target: on, out: out, view: v, dirty: make(chan struct{}, 1)}
}

// Update sets the view to draw. It does not wait for the platform.
func (p *Painter) Update(v State) {
	p.mu.Lock()
	p.view = v
	p.mu.Unlock()
	select {
	case p.dirty <- struct{}{}:
	default: // a pending draw will use this view
	}
}

func (p *Painter) latest() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view
}

// repost is the wait before another attempt to post a card.
const repost = 5 * time.Second

// Run draws until idle ends, which is when the turn ends. Then it starts nothing new, but a running call may finish
// until ctx ends. When it returns, no call is running.
func (p *Painter) Run(ctx, idle context.Context) {
	drawn, err := p.openCard(ctx)
	for err != nil {
		if ctx.Err() != nil {
			return
		}
		zerolog.Ctx(ctx).Warn().Err(err).Msg("card not posted yet")
		if isPermanent(err) {
			return
		}
		workqueue.Sleep(idle, repost)
		if idle.Err() != nil {
			return
		}
		drawn, err = p.openCard(ctx)
	}
	for {
		if !p.waitForChange(idle) {
			return
		}
		if reflect.DeepEqual(p.latest().Card(time.Now()), drawn) {
			continue // an update without a visible change would use up the platform's rate limit
		}
		if p.out.Ready(idle, p.ID) != nil {
			continue
		}
		v := p.latest()
		drawn = v.Card(time.Now())
		if p.draw(ctx, v, drawn) != nil {
			return
		}
	}
}

// waitForChange waits until there may be something to draw: a new view, or a change of the elapsed time shown. It
// returns false when the turn has ended.
func (p *Painter) waitForChange(idle context.Context) bool {
	var passed <-chan time.Time
	if v := p.latest(); v.outcome.State == 0 {
		t := time.NewTimer(v.phase.untilChange(time.Now()))
		defer t.Stop()
		passed = t.C
	}
	select {
	case <-p.dirty:
	case <-passed:
	case <-idle.Done():
		return false
	}
	return true
}

// isPermanent reports whether an error is permanent.
func isPermanent(err error) bool {
	return errors.Is(err, chat.ErrGone) || errors.Is(err, chat.ErrUnreachable)
}

// draw draws v, which looks like c, on the existing card. A failed drawing is skipped: the next one, or the last,
// contains everything. It returns an error only if drawing must stop.
func (p *Painter) draw(ctx context.Context, v State, c chat.Card) error {
	// The draft first: after a crash the card must not show more than is stored.
	p.Shows(ctx, v.Parts())
	failpoint.At("card: drawing")
	err := p.out.Edit(ctx, p.ID, c)
	failpoint.At("card: drawn")
	if err != nil && ctx.Err() == nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("card not drawn")
	}
	if isPermanent(err) {
		return err
	}
	return nil
}

// openCard posts the card, or draws on the one that an earlier process posted for the turn.
func (p *Painter) openCard(ctx context.Context) (chat.Card, error) {
	v := p.latest()
	c := v.Card(time.Now())
	if p.ID == "" {
		id, err := p.Find(ctx)
		if err != nil {
			return c, err
		}
		p.recordCard(ctx, id)
	}
	if p.ID != "" {
		return c, p.draw(ctx, v, c)
	}
	// The draft is stored before it becomes visible, so that a restart never shows less than people have seen.
	p.Shows(ctx, v.Parts())
	failpoint.At("card: posting")
	id, err := p.out.Post(ctx, p.To, c, p.Idem)
	if err == nil {
		p.recordCard(ctx, id)
	}
	return c, err
}

// recordCard records the ID of the card; empty = none.
func (p *Painter) recordCard(ctx context.Context, card string) {
	if p.ID = card; card != "" {
		p.Posted(ctx, card)
	}
}
