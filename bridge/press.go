package bridge

import (
	"context"
	"errors"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/language"
	"magpie/bridge/login"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// pressHandler handles the buttons of cards.
type pressHandler struct {
	access      access.Control
	languages   language.Chooser
	busy        *busyChats
	turns       db.Turns
	interrupted *cutOffTurns
	commands    *commandSet
	approvals   *approval.Requests
	ahead       *aheadStarts
	limits      *usageLimits
	log         zerolog.Logger
}

// HandlePress handles a pressed button. It returns the toast to show, even with an error.
func (b *Bridge) HandlePress(ctx context.Context, p chat.Press) (toast string, err error) {
	defer b.arrivals.arrived()()
	err = b.checkEvent(ctx, chat.Ref{Key: p.Key, ID: p.Card}, p.Tenant, p.Actor)
	if errors.Is(err, chat.ErrOtherDoor) || errors.Is(err, chat.ErrNoChat) { // without the store a turn can still be stopped
		return i18n.NotForYou.In(b.languages.OfChat(ctx, p.Key)), err
	}
	if err := b.receiver.enterChat(ctx, &chat.Incoming{Key: p.Key, ID: p.Card, Actor: p.Actor}); err != nil {
		return i18n.NotForYou.In(b.languages.OfChat(ctx, p.Key)), err
	}
	toast, err = b.presses.press(ctx, p)
	b.turns.wakeIfUnsure(p.Key, err)
	return toast, err
}

// press handles a pressed button. It returns the toast to show, even with an error.
func (ph *pressHandler) press(ctx context.Context, p chat.Press) (toast string, err error) {
	switch who, err := ph.access.Authorize(ctx, p.Key, p.Actor); {
	case err != nil:
		return i18n.PressFailed.In(ph.languages.OfChat(ctx, p.Key)), err
	case who != access.Admitted:
		return i18n.NotForYou.In(ph.languages.OfChat(ctx, p.Key)), nil
	}
	p.Key, p.Action.Turn = ph.chatOf(ctx, p)
	p.Values = login.FormWithoutCodes(p.Values)
	l := ph.languages.OfChat(ctx, p.Key)
	if ph.busy.running(p.Key) == 0 {
		ph.ahead.notePress(p.Key)
	}
	defer func() {
		if err != nil {
			toast = i18n.PressFailed.In(l)
		}
	}()
	stops := convo.Stops{Turns: []int64{p.Action.Turn}}
	switch {
	case p.Action.Do == access.DoLetIn || p.Action.Do == access.DoTurnAway:
		return ph.access.Answer(ctx, p, l)
	case p.Action.Do == turncard.DoStop && ph.busy.stop(p.Key, p.Action.Turn):
		// the turn ends anyway, unless the program crashes first
		if _, err := ph.turns.Happens(context.WithoutCancel(ctx), p.Key, stops); err != nil {
			ph.log.Error().Err(err).Stringer("chat", p.Key).Int64("turn", p.Action.Turn).Msg("stop not stored")
		}
		return i18n.StopAsked.In(l), nil
	case p.Action.Do == turncard.DoStop && p.Action.Turn != 0: // it may be about to begin again
		if unended, err := ph.turns.Happens(ctx, p.Key, stops); err != nil || len(unended) == 0 {
			return i18n.StopOver.In(l), err
		}
		ph.busy.halt(p.Key, errStopped, p.Action.Turn)
		ph.interrupted.Wake(p.Key) // one that waits until a time ends at once
		return i18n.StopAsked.In(l), nil
	case p.Action.Do == turncard.DoContinue || p.Action.Do == turncard.DoDrop:
		toast, err := ph.interrupted.decide(ctx, p, l)
		ph.approvals.Reconsider(p.Key)
		return toast, err
	case p.Action.Do == turncard.DoCommand || p.Action.Do == turncard.DoGoOn:
		return ph.commands.press(ctx, p, l)
	case p.Action.Do == turncard.DoAskAgain:
		return ph.limits.askAgain(ctx, p, l)
	case p.Action.Do == turncard.DoAsk:
		return ph.commands.askSuggested(ctx, p, l)
	case approval.HasAction(p.Action.Do):
		return ph.approvals.Press(ctx, p, l)
	}
	return i18n.StopOver.In(l), nil
}

// topicOf is the topic of a press that is about no turn. The value may be forged: a topic that is not known does not count.
func (ph *pressHandler) topicOf(ctx context.Context, press chat.Press) chat.Key {
	topic := press.Key
	if thread := press.Action.Thread; thread != "" && topic.Thread == "" && chat.ValidID(thread) == nil {
		topic.Thread = thread
		store := ph.commands.db
		if _, err := store.Chats().Get(ctx, topic); err == nil {
			return topic
		} else if !errors.Is(err, db.ErrNotFound) {
			ph.log.Error().Err(err).Stringer("chat", press.Key).Msg("topic of a press not found; using the chat")
		}
	}
	return press.Key
}

// chatOf is the chat or topic that a press belongs to, and its turn. The event does not name the topic, but the turn has
// one. A running turn is found without the store, so it can be stopped while the store is unavailable. The value may be
// forged: a turn of another chat is one that does not exist.
func (ph *pressHandler) chatOf(ctx context.Context, press chat.Press) (chat.Key, int64) {
	turn := press.Action.Turn
	if turn == 0 {
		return ph.topicOf(ctx, press), 0
	}
	if key, running := ph.busy.chatOf(turn); running && key.Parent() == press.Key.Parent() {
		return key, turn
	}
	key, err := ph.turns.ChatOf(ctx, turn)
	switch {
	case err != nil && !errors.Is(err, db.ErrNotFound):
		ph.log.Error().Err(err).Stringer("chat", press.Key).Msg("topic of a press not found; using the chat")
		return press.Key, turn
	case key.Parent() != press.Key.Parent():
		return press.Key, noTurn
	}
	return key, turn
}
