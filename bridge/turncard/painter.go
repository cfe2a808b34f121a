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

// Painter shows how a turn goes on. Only it writes to the turn's card while the turn runs, and it draws the latest view
// as often as the platform allows. How the turn ended is shown by the outbox.
type Painter struct {
	Target
	out Messenger

	mu    sync.Mutex
	view  State
	dirty chan struct{} // there is a view that has not been drawn
}

// Target is the card that a painter draws on.
type Target struct {
	To   chat.Ref // what it answers
	Idem string   // makes posting it idempotent
	ID   string   // that exists already; empty = none yet
	// looks for a card that an earlier process has posted; empty = none
	Find   func(ctx context.Context) (string, error)
	Posted func(ctx context.Context, cardID string)  // told of the card once it exists
	Shows  func(ctx context.Context, parts []string) // told of an answer before it can be seen; see [State.Parts]
}

// Messenger is what a painter asks of a chat platform. An error that matches [chat.ErrGone] or [chat.ErrUnreachable] is
// permanent; after any other the same call can be made again.
type Messenger interface {
	// Post answers a message with a card and returns the card's durable name.
	Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error)
	// Ready waits until the platform takes another edit of the card.
	Ready(ctx context.Context, cardID string) error
	// Edit redraws the card.
	Edit(ctx context.Context, cardID string, card chat.Card) error
}

// NewPainter makes a painter whose first picture is v. Run starts it.
func NewPainter(out Messenger, on Target, v State) *Painter {
	return &Painter{Target: on, out: out, view: v, dirty: make(chan struct{}, 1)}
}

// Show makes v what is to be seen. It does not wait for the platform.
func (p *Painter) Show(v State) {
	p.mu.Lock()
	p.view = v
	p.mu.Unlock()
	select {
	case p.dirty <- struct{}{}:
	default: // what is pending will be drawn with this view
	}
}

func (p *Painter) latest() State {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view
}

// repost is the wait before a card that could not be posted is tried again.
const repost = 5 * time.Second

// Run draws until the turn is over, which is when idle ends: then it waits for nothing more, while a call that is under
// way may end well, until ctx ends. When it returns, nothing of it is under way any more.
func (p *Painter) Run(ctx, idle context.Context) {
	drawn, err := p.open(ctx)
	for err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("no card yet")
		if inVain(err) {
			return
		}
		workqueue.Sleep(idle, repost)
		if idle.Err() != nil {
			return
		}
		drawn, err = p.open(ctx)
	}
	for {
		if !p.stir(idle) {
			return
		}
		if reflect.DeepEqual(p.latest().Card(time.Now()), drawn) {
			continue // a picture that changes nothing would cost the platform's patience for one that does
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

// stir waits until there may be something to draw: a new state, or an elapsed time that the state
// shows. It returns false when the turn has ended.
func (p *Painter) stir(idle context.Context) bool {
	var passed <-chan time.Time
	if v := p.latest(); v.outcome.State == "" {
		t := time.NewTimer(v.phase.changes(time.Now()))
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

// inVain reports that trying again would not help.
func inVain(err error) bool {
	return errors.Is(err, chat.ErrGone) || errors.Is(err, chat.ErrUnreachable)
}

// draw draws v, which looks like c, on the existing card. A failed drawing is skipped: the next one, or
// the last, contains everything. Only the end of all drawing is an error.
func (p *Painter) draw(ctx context.Context, v State, c chat.Card) error {
	// The draft first: after a crash the card must not show more than is stored.
	p.Shows(ctx, v.Parts())
	failpoint.At("card: drawing")
	err := p.out.Edit(ctx, p.ID, c)
	failpoint.At("card: drawn")
	if err != nil {
		zerolog.Ctx(ctx).Warn().Err(err).Msg("card not drawn")
	}
	if inVain(err) {
		return err
	}
	return nil
}

// open posts the card, or draws on the one that an earlier process posted for the turn.
func (p *Painter) open(ctx context.Context) (chat.Card, error) {
	v := p.latest()
	c := v.Card(time.Now())
	if p.ID == "" {
		id, err := p.Find(ctx)
		if err != nil {
			return c, err
		}
		p.keep(ctx, id)
	}
	if p.ID != "" {
		return c, p.draw(ctx, v, c)
	}
	// The draft is stored before it becomes visible, so that a restart never shows less than people have seen.
	p.Shows(ctx, v.Parts())
	failpoint.At("card: posting")
	id, err := p.out.Post(ctx, p.To, c, p.Idem)
	if err == nil {
		p.keep(ctx, id)
	}
	return c, err
}

// keep takes up which card there is; empty = none.
func (p *Painter) keep(ctx context.Context, card string) {
	if p.ID = card; card != "" {
		p.Posted(ctx, card)
	}
}
