package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
)

// What the buttons of a stranger's request do; Action.ID is who asks.
const (
	doLetIn    = "let-in"
	doTurnAway = "turn-away"
)

// doorbell tells the owner of strangers who write to the bot, and does what he decides.
type doorbell struct {
	gate   *gate
	grants db.Grants
	out    Messenger
	jobs   *jobs                                        // deliveries
	lang   func(context.Context, chat.Key, string) lang // in which a chat is spoken to that has just spoken another; empty = it has not
	log    zerolog.Logger
}

// ring takes in a message of a stranger, which is not kept. In private it asks the owner to let him in; while the bot has
// no owner, who writes is told how to become it.
func (d *doorbell) ring(ctx context.Context, m chat.Incoming) error {
	d.log.Info().Stringer("chat", m.Key).Str("user", m.Actor.ID).Msg("message of a stranger ignored")
	a := d.gate.Load()
	switch {
	case m.Kind != chat.Private:
		return nil
	case a.Unset():
		d.reply(chat.Ref{Key: m.Key, ID: m.ID}, fmt.Sprintf(texts.NotAllowed.in(d.lang(ctx, m.Key, string(langOf(m.Text)))), m.Actor.ID), "reply:"+m.ID)
		return nil
	}
	fresh, err := d.grants.Ask(ctx, db.Grant{Subject: m.Actor.ID, Name: visible(m.Actor.Name), Key: m.Key, Message: m.ID})
	if err != nil || !fresh {
		return err
	}
	if a.StrangerReply != "" {
		d.reply(chat.Ref{Key: m.Key, ID: m.ID}, a.StrangerReply, "stranger:"+m.ID)
	}
	if porter := porter(a); porter != "" {
		d.jobs.add(func(ctx context.Context) { d.show(ctx, porter, m) })
	}
	return nil
}

// porter is who decides about strangers: the owner, or an admin when there is none.
func porter(a *Access) string {
	if a.Owner == "" && len(a.Admins) > 0 {
		return a.Admins[0]
	}
	return a.Owner
}

// show asks the porter. When that fails, the stranger's next message asks again.
func (d *doorbell) show(ctx context.Context, porter string, m chat.Incoming) {
	var who db.Grant
	to := chat.FeishuUser(porter)
	l := d.lang(ctx, to, "")
	card, err := d.out.Post(ctx, chat.Ref{Key: to}, requestCard(m, l), "request:"+m.ID)
	if err == nil {
		who, err = d.grants.SetCard(ctx, m.Actor.ID, card)
	}
	switch {
	case err != nil:
		d.log.Error().Err(err).Str("user", m.Actor.ID).Msg("request of a stranger not shown")
	case who.State != db.Asked: // the button was quicker
		d.settle(ctx, who, l)
	}
}

// glimpse is how much of a stranger's message is shown, in runes.
const glimpse = 100

func requestCard(m chat.Incoming, l lang) chat.Card {
	text := fmt.Sprintf(accessTexts.Request.in(l), personName(m.Actor.Name, m.Actor.ID), m.Actor.ID)
	if words := visible(m.Text); words != "" {
		text += "\n\n> " + shortened(words, glimpse)
	}
	return chat.Card{Body: text, Summary: accessTexts.RequestSummary.in(l), Buttons: []chat.Button{
		{Label: accessTexts.LetIn.in(l), Action: chat.Action{Do: doLetIn, ID: m.Actor.ID}},
		{Label: accessTexts.TurnAway.in(l), Action: chat.Action{Do: doTurnAway, ID: m.Actor.ID}},
	}}
}

// personName is how somebody is called, or else his id.
func personName(name, id string) string {
	if name = visible(name); name != "" {
		return name
	}
	return id
}

// answer does what a button of a request orders.
func (d *doorbell) answer(ctx context.Context, p chat.Press, l lang) (string, error) {
	if !d.gate.Load().admin(p.Actor) {
		d.log.Warn().Stringer("chat", p.Key).Str("user", p.Actor.ID).Msg("somebody who is no admin wants to let a stranger in")
		return accessTexts.AdminsOnly.in(l), nil
	}
	state := db.Ignored
	if p.Action.Do == doLetIn {
		state = db.Allowed
	}
	who, err := d.grants.Decide(ctx, p.Action.ID, state, p.Actor.ID)
	if errors.Is(err, db.ErrNotFound) {
		return accessTexts.AlreadyDecided.in(l), nil
	} else if err != nil {
		return "", err
	}
	d.log.Info().Str("user", who.Subject).Str("by", who.By).Str("state", string(who.State)).Msg("decided about a stranger")
	if who.Card != "" { // else it is about to be known
		d.jobs.add(func(ctx context.Context) { d.settle(ctx, who, l) })
	}
	if state == db.Allowed {
		d.reply(chat.Ref{Key: who.Key, ID: who.Message}, accessTexts.Welcome.in(d.lang(ctx, who.Key, "")), "welcome:"+who.Message)
	}
	return decided(who, l), nil
}

// decided says what was decided about somebody.
func decided(who db.Grant, l lang) string {
	said := accessTexts.TurnedAway
	if who.State == db.Allowed {
		said = accessTexts.HasLetIn
	}
	return fmt.Sprintf(said.in(l), personName(who.Name, who.Subject))
}

// settle shows on the card what was decided.
func (d *doorbell) settle(ctx context.Context, who db.Grant, l lang) {
	said := decided(who, l)
	if err := d.out.Close(ctx, who.Card, chat.Card{Body: fmt.Sprintf(accessTexts.Decided.in(l), said, who.Subject), Summary: said}); err != nil {
		d.log.Error().Err(err).Msg("card of a request not drawn")
	}
}

// replyPatience bounds how long a short text is tried to be sent that nobody misses.
const replyPatience = time.Minute

func (d *doorbell) reply(to chat.Ref, text, idem string) {
	d.jobs.add(func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(ctx, replyPatience)
		defer cancel()
		if _, err := d.out.Reply(ctx, to, text, idem); err != nil {
			d.log.Error().Err(err).Msg("reply failed")
		}
	})
}
