package bridge

import (
	"cmp"
	"context"
	"errors"
	"time"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// planOf returns the plan of a command, if the sender may use it.
func (cs *commandSet) planOf(cmd *command, key chat.Key, by chat.Actor) plan {
	if !cmd.allowedFor(cs.access.At(key), by) {
		return say(i18n.ForAdminsCommand, "/"+cmd.name)
	}
	return func(ctx context.Context, o invocation) (commandResult, error) { return cmd.plan(cs, ctx, o) }
}

// execute stores a command message with its reply, and carries out the command exactly once.
func (cs *commandSet) execute(ctx context.Context, o invocation, p plan) error {
	key := o.Key
	c, err := cs.db.Chats().Get(ctx, key)
	if errors.Is(err, db.ErrNotFound) {
		c = db.Chat{Key: key}
	} else if err != nil {
		return err
	}
	detected := string(cs.languages.OfCommand(o.Text))
	if asked := questionIn(o.Text); asked != o.Text {
		m := o.Incoming
		m.Text = asked
		to, _ := cs.languages.Detect(ctx, m)
		detected = cmp.Or(to, detected)
	}
	c.Lang = cmp.Or(detected, c.Lang)
	o.chat, o.lang = c, cs.languages.Of(c)
	what, err := p(ctx, o)
	if err != nil {
		return err
	}
	e := db.Inbound{
		Incoming: o.Incoming, Class: chat.Command, Lang: detected,
		Reply: what.reply, Card: what.card, ReplyTo: o.answers, Effects: what.effects,
	}
	if what.ask != "" {
		e.Class, e.Text, e.Files = chat.Talk, what.ask, what.files
	}
	got, err := cs.history.accept(ctx, e)
	if err != nil || !got.Fresh {
		return err
	}
	cs.carryOut(o, what)
	if what.later {
		cs.replyLater(o, p)
	}
	cs.outbox.Wake(key)
	if got.Turn == 0 {
		return nil
	}
	if o.answers == "" { // otherwise it is a pressed button, which cannot carry a reaction
		cs.reactions.Set([]chat.Message{{Key: key, ID: o.ID}}, chat.Working)
	}
	cs.turns.wake(key)
	return nil
}

// carryOut does what follows from a command that is stored. Only then: a stop that is not recorded would be forgotten by
// a crash, which would run the turns again.
func (cs *commandSet) carryOut(o invocation, done commandResult) {
	key := o.Key
	for _, effect := range done.effects {
		switch e := effect.(type) {
		case db.StartConversation:
			cs.asks.Reconsider(key)
			cs.dropProcess(key, cs.ahead.expectNew)
		case db.ResumeSession:
			cs.dropProcess(key, cs.ahead.expectQuestion)
		case db.Happens:
			cs.follow(key, e.Event)
		case db.ChangeSchedules:
			cs.clock.Wake()
		case db.RequestSummary:
			cs.upkeep.Summarize(key)
		case db.ChangeSettings:
			if e.From.Model != e.To.Model {
				cs.limits.release(key) // another model has its own limits
			}
		}
	}
	cs.logins.Take(done.login, o.Incoming, o.lang)
}

// follow does what follows from what a command has made of the chat's turns.
func (cs *commandSet) follow(key chat.Key, what convo.Event) {
	switch e := what.(type) {
	case convo.Stops:
		cs.busy.halt(key, errStopped, e.Turns...)
		cs.turns.wake(key) // a turn that waits until a time ends at once
	case convo.Vanishes:
		cs.asks.EndTurnSoon(db.Turn{Key: key, ID: e.Turn}, convo.Cancelled)
		cs.pool.Stop(key.String())
	case convo.Decides:
		cs.asks.Reconsider(key)
	}
}

// dropProcess ends the chat's process. Then the next one is expected.
func (cs *commandSet) dropProcess(key chat.Key, expect func(chat.Key)) {
	gone, turns := cs.pool.Drop(key.String()), cs.turns
	turns.jobs.Enqueue(func(context.Context) { // that can take seconds
		<-gone
		expect(key)
	})
}

// press carries out the command of a button on behalf of the user who pressed it.
func (cs *commandSet) press(ctx context.Context, p chat.Press, l i18n.Lang) (toast string, err error) {
	cmd, _, args := parseCommand(p.Action.ID)
	goesOn := p.Action.Do == turncard.DoGoOn
	what, over := askToContinue, i18n.ConversationOver
	if !goesOn {
		if cmd == nil { // not a button of ours
			return "", nil
		}
		what, over = cs.planOf(cmd, p.Key, p.Actor), i18n.NewOver
	}
	belowAnswer := goesOn || cmd.name == "new" && p.Action.Turn != 0
	if belowAnswer {
		begin := what
		what = func(ctx context.Context, o invocation) (commandResult, error) {
			done, err := begin(ctx, o)
			done.effects = append([]db.Effect{db.IfLast{Turn: p.Action.Turn, More: goesOn}}, done.effects...)
			return done, err
		}
	}
	err = cs.executePress(ctx, p, db.PressID(p.ID), args, what)
	if belowAnswer && errors.Is(err, db.ErrNotFound) {
		return over.In(l), nil
	}
	return "", err
}

// executePress carries out the plan of a button on behalf of the user who pressed it. id is the message ID of the
// press; presses with the same ID are carried out once.
func (cs *commandSet) executePress(ctx context.Context, p chat.Press, id, args string, what plan) error {
	c, err := cs.db.Chats().Get(ctx, p.Key)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	m := chat.Incoming{
		Key: p.Key, Kind: c.Kind, ID: id, Actor: p.Actor, Text: p.Action.ID, Time: time.Now(), ToBot: true,
	}
	return cs.execute(ctx, invocation{Incoming: m, args: args, answers: p.Card}, what)
}

// replyLater replies with what a plan works out after the commit. Work interrupted by a shutdown is dropped: the user
// can repeat the command.
func (cs *commandSet) replyLater(o invocation, p plan) {
	o.late = true
	cs.jobs.Enqueue(func(ctx context.Context) {
		what, err := p(ctx, o)
		if err == nil && (what.reply != "" || what.card != nil) && ctx.Err() == nil {
			// The idempotency key contains the command's message, so a redelivered command is answered once.
			post := db.Post{Key: o.Key, Idem: "later:" + o.ID, ReplyTo: cmp.Or(o.answers, o.ID), Text: what.reply, Card: what.card}
			err = cs.outbox.Enqueue(context.WithoutCancel(ctx), post)
		}
		if err != nil {
			cs.log.Error().Err(err).Stringer("chat", o.Key).Msg("reply not stored")
		}
	})
}
