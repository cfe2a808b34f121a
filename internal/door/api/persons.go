package api

import (
	"context"
	"errors"
	"strings"

	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/door"
	"magpie/internal/i18n"
)

// Persons are how the persons of programs are reached, who decide what the agents may do.
type Persons interface {
	Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error)
	Close(ctx context.Context, cardID string, card chat.Card) error
}

// askPerson shows the person of a program what its agent asks, or what has become of that, and reports whether there is
// one. What is asked of somebody who cannot be reached is refused.
func (d *Door) askPerson(ctx context.Context, key chat.Key, id string, s shown) (asked bool, err error) {
	at, err := d.store.AskedOf(ctx, key, id)
	isNew := errors.Is(err, programs.ErrNotShown)
	if err != nil && !isNew || isNew && s.Card.State != chat.CardNeedsYou {
		return false, ignore(err, programs.ErrNotShown)
	}
	t, err := d.store.ByID(ctx, at.Token)
	if isNew {
		t, err = d.store.Of(ctx, key, s.To)
	}
	if errors.Is(err, programs.ErrUnknown) || err == nil && t.Person == "" {
		return false, nil
	} else if err != nil {
		return false, err
	}
	card := *s.Card
	card.Status = strings.TrimSpace(i18n.AskedForProgram.Sprintf(d.Lang(ctx, t.Person), i18n.PlainText(t.Name)) + " " + card.Status)
	if isNew {
		at = programs.Asked{Token: t.ID, Key: key, ID: id}
		at.Card, err = d.Persons.Post(ctx, chat.Ref{Key: chat.PersonKey(t.Person)}, card, "person:"+id)
		if isTemporary(err) || ctx.Err() != nil {
			return false, err
		} else if err != nil {
			d.log.Warn().Err(err).Str("token", t.Name).Msg("the person of a program cannot be reached; what its agent asks is refused")
			go d.refuse(context.WithoutCancel(ctx), key, id, s)
			return true, nil
		}
	}
	// The buttons of a long card are in another message than its first.
	var shown chat.Shown
	card.Shown = &shown
	if err := d.Persons.Close(ctx, at.Card, card); isTemporary(err) || ctx.Err() != nil {
		return true, err
	} else if err != nil { // the person has left, or has deleted it
		d.log.Warn().Err(err).Str("token", t.Name).Msg("a card for the person of a program is not drawn")
	}
	messages := []string{chat.FirstMessage(at.Card)}
	if shown.Buttons != "" {
		messages = append(messages, chat.FirstMessage(shown.Buttons))
	}
	return true, d.store.Ask(ctx, at, messages...)
}

// isTemporary reports whether the same may succeed later, without anybody changing something.
func isTemporary(err error) bool {
	var platform interface{ Obstacle() chat.Obstacle }
	return errors.As(err, &platform) && platform.Obstacle() == chat.NotAvailable
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

// HandlePress implements [door.Handler]. While the database is away, the bridge still stops turns.
func (f forPersons) HandlePress(ctx context.Context, p chat.Press) (toast string, err error) {
	to, err := f.ofProgram(ctx, p)
	if err != nil {
		f.door.log.Error().Err(err).Stringer("chat", p.Key).Msg("whether a press is for a program is not known")
	}
	return f.Handler.HandlePress(ctx, to) // which answers whoever may not decide
}

// ofProgram is a press as one in the chat of a program, if it is for one.
func (f forPersons) ofProgram(ctx context.Context, p chat.Press) (chat.Press, error) {
	if p.Key.Channel == chat.HTTP {
		return p, nil
	}
	at, err := f.door.store.AskedBy(ctx, p.Card)
	if err != nil {
		return p, ignore(err, programs.ErrNotShown)
	}
	t, err := f.door.store.ByID(ctx, at.Token)
	if err != nil || t.Person == "" || t.Person != p.Actor.ID {
		return p, ignore(err, programs.ErrUnknown)
	}
	if in, err := f.admits(ctx, p.Key, p.Actor); err != nil || !in {
		return p, err
	}
	p.Key, p.Card, p.Actor.ID = at.Key, chat.FirstMessage(at.ID), t.ID
	p.Tenant = "" // that of the person, not of the program's chat
	return p, nil
}

// ignore is an error, unless it is one that is expected.
func ignore(err, expected error) error {
	if errors.Is(err, expected) {
		return nil
	}
	return err
}
