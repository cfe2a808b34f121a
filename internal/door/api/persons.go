package api

import (
	"context"
	"errors"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/door"
)

// Persons are how the persons of programs are reached, who decide what the agents may do.
type Persons interface {
	Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error)
	Edit(ctx context.Context, cardID string, card chat.Card) error
	Close(ctx context.Context, cardID string, card chat.Card) error
	// CardOf is the first message of the card of which a message shows a part.
	CardOf(messageID string) (first string)
}

// askPerson shows the person of a program what its agent asks, as it looks now, and reports whether there is one. What is
// asked of somebody who cannot be reached is refused.
func (d *Door) askPerson(ctx context.Context, key chat.Key, id string, s shown) (asked bool, err error) {
	at, err := d.store.AskedOf(ctx, key, id)
	if errors.Is(err, programs.ErrNotShown) {
		t, err := d.store.TokenOf(ctx, key)
		if errors.Is(err, programs.ErrUnknown) || err == nil && t.Person == "" {
			return false, nil
		} else if err != nil {
			return false, err
		}
		at = programs.Asked{Key: key, ID: id}
		at.Card, err = d.Persons.Post(ctx, chat.Ref{Key: chat.PersonKey(t.Person)}, *s.Card, "person:"+id)
		if isTemporary(err) || ctx.Err() != nil {
			return false, err
		} else if err != nil {
			d.log.Warn().Err(err).Str("token", t.Name).Msg("the person of a program cannot be reached; what its agent asks is refused")
			go d.refuse(context.WithoutCancel(ctx), key, id, s)
			return true, nil
		}
		if err := d.store.Ask(ctx, at); err != nil {
			return false, err
		}
	} else if err != nil {
		return false, err
	}
	return true, d.Persons.Close(ctx, at.Card, *s.Card)
}

// isTemporary reports whether the same may succeed later, without anybody changing something.
func isTemporary(err error) bool {
	var platform interface{ Obstacle() chat.Obstacle }
	return errors.As(err, &platform) && platform.Obstacle() == chat.NotAvailable
}

// closeAsked shows the person of a program what has become of what its agent has asked.
func (d *Door) closeAsked(ctx context.Context, key chat.Key, id string, s shown) error {
	at, err := d.store.AskedOf(ctx, key, id)
	if errors.Is(err, programs.ErrNotShown) {
		return nil
	} else if err != nil {
		return err
	}
	if err = d.Persons.Close(ctx, at.Card, *s.Card); errors.Is(err, chat.ErrUnreachable) || errors.Is(err, chat.ErrGone) {
		err = nil
	}
	return err
}

// ForPersons has the person of a program decide what its agent may do: a press of the card that the person was shown counts
// as one of the card in the program's chat.
func (d *Door) ForPersons(h door.Handler, admits func(context.Context, chat.Key, chat.Actor) (bool, error)) door.Handler {
	return forPersons{h, d, admits}
}

type forPersons struct {
	door.Handler

	door   *Door
	admits func(context.Context, chat.Key, chat.Actor) (bool, error) // whether somebody may talk to the bot
}

// HandlePress implements [door.Handler].
func (f forPersons) HandlePress(ctx context.Context, p chat.Press) (toast string, err error) {
	if p.Key.Channel == chat.HTTP {
		return f.Handler.HandlePress(ctx, p)
	}
	at, err := f.door.store.AskedBy(ctx, f.door.Persons.CardOf(p.Card))
	if errors.Is(err, programs.ErrNotShown) {
		return f.Handler.HandlePress(ctx, p)
	} else if err != nil {
		return "", err
	}
	t, err := f.door.store.TokenOf(ctx, at.Key)
	if err != nil && !errors.Is(err, programs.ErrUnknown) {
		return "", err
	}
	if t.Person == p.Actor.ID && t.Person != "" {
		in, err := f.admits(ctx, p.Key, p.Actor)
		if err != nil {
			return "", err
		} else if in {
			p.Key, p.Card, p.Actor.ID = at.Key, chat.FirstMessage(at.ID), t.ID
		}
	}
	return f.Handler.HandlePress(ctx, p) // which answers whoever may not decide
}
