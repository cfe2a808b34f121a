package bridge

import (
	"context"
	"reflect"
	"sync"

	"github.com/rs/zerolog"

	"magpie/internal/chat"
)

// painter shows one turn's view. It is the only one to write to the turn's card, draws the latest view as often as the
// platform allows, and always draws the last one.
type painter struct {
	out    Messenger
	to     chat.Ref
	idem   string
	card   string              // the card that exists already; empty = none yet
	posted func(cardID string) // told of the card once it exists

	mu    sync.Mutex
	view  view
	dirty chan struct{} // there is a view that has not been drawn
}

// show makes v what is to be seen, unless the end has been shown already. It does not wait for the platform.
func (p *painter) show(v view) {
	p.mu.Lock()
	if !p.view.ended {
		p.view = v
	}
	p.mu.Unlock()
	select {
	case p.dirty <- struct{}{}:
	default: // what is pending will be drawn with this view
	}
}

func (p *painter) latest() view {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.view
}

// run draws until a view that has ended is drawn. An error means that the last view is not visible.
func (p *painter) run(ctx context.Context) error {
	v := p.latest()
	drawn := v.card()
	id, err := p.open(ctx, drawn)
	if err != nil {
		return p.last(ctx, err)
	}
	for !v.ended {
		<-p.dirty
		if v = p.latest(); reflect.DeepEqual(v.card(), drawn) {
			continue // a picture that changes nothing would cost the platform's patience for one that does
		}
		if err := p.out.Ready(ctx, id); err != nil {
			return err
		}
		if v = p.latest(); v.ended {
			break
		}
		drawn = v.card()
		if err := p.out.Edit(ctx, id, drawn); err != nil {
			// One picture is missing; the next, or the last, shows what this one would have.
			zerolog.Ctx(ctx).Warn().Err(err).Msg("card not drawn")
		}
	}
	return p.out.Close(ctx, id, v.card())
}

// open posts the card, or draws on the one that the turn has from before a restart.
func (p *painter) open(ctx context.Context, c chat.Card) (string, error) {
	if p.card != "" {
		return p.card, p.out.Edit(ctx, p.card, c)
	}
	id, err := p.out.Post(ctx, p.to, c, p.idem)
	if err == nil {
		p.posted(id)
	}
	return id, err
}

// last is for a turn whose card could not be posted: its answer is a plain reply at its end.
func (p *painter) last(ctx context.Context, err error) error {
	zerolog.Ctx(ctx).Warn().Err(err).Msg("no card; the answer will be a plain reply")
	v := p.latest()
	for !v.ended {
		<-p.dirty
		v = p.latest()
	}
	c := v.card()
	text := c.Body
	if c.Status != "" {
		text += "\n\n" + c.Status
	}
	_, err = p.out.Reply(ctx, p.to, text, p.idem+":last")
	return err
}
