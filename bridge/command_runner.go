package bridge

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// commandRunner carries out commands from messages and buttons.
type commandRunner struct {
	cfg       *Config
	chats     db.Chats
	languages languages
	access    *access.Authorizer
	set       *commandSet
	inbox     inbox
	pool      *claude.Pool
	scheduler *compactionScheduler
	ahead     *aheadStarts
	asks      *approval.Requests
	limits    *usageLimits
	log       zerolog.Logger
}

// planOf returns the plan of a command, if the sender may use it.
func (r commandRunner) planOf(cmd *command, by chat.Actor) plan {
	if !cmd.allowedFor(r.access.Load(), by) {
		return say(i18n.ForAdminsCommand, "/"+cmd.name)
	}
	return func(ctx context.Context, o invocation) (commandResult, error) { return cmd.plan(r.set, ctx, o) }
}

// execute stores a command message with its reply, and carries out the command exactly once.
func (r commandRunner) execute(ctx context.Context, o invocation, p plan) error {
	key := o.m.Key
	c, err := r.chats.Get(ctx, key)
	if errors.Is(err, db.ErrNotFound) {
		c = db.Chat{Key: key}
	} else if err != nil {
		return err
	}
	detected := string(r.languages.commandLanguage(o.m.Text))
	if asked := questionIn(o.m.Text); asked != o.m.Text {
		m := o.m
		m.Text = asked
		detected = cmp.Or(r.languages.detect(ctx, m), detected)
	}
	c.Lang = cmp.Or(detected, c.Lang)
	o.chat, o.lang = c, r.cfg.langOf(c)
	what, err := p(ctx, o)
	if err != nil {
		return err
	}
	e := db.Inbound{
		Incoming: o.m, Class: chat.Command, Lang: detected,
		Reply: what.reply, Card: what.card, ReplyTo: o.answers, Effects: what.effects,
	}
	if what.ask != "" {
		e.Class, e.Text, e.Files = chat.Talk, what.ask, what.files
	}
	got, err := r.inbox.history.accept(ctx, e)
	if err != nil || !got.Fresh {
		return err
	}
	r.carryOut(o, what)
	if what.later {
		r.replyLater(o, p)
	}
	r.inbox.outbox.Wake(key)
	if got.Turn == 0 {
		return nil
	}
	if o.answers == "" { // otherwise it is a pressed button, which cannot carry a reaction
		r.inbox.reactions.Set([]chat.Message{{Key: key, ID: o.m.ID}}, chat.Working)
	}
	r.inbox.turns.wake(key)
	return nil
}

// carryOut does what follows from a command that is stored. Only then: a stop that is not recorded would be forgotten by
// a crash, which would run the turns again.
func (r commandRunner) carryOut(o invocation, done commandResult) {
	key, turns := o.m.Key, r.inbox.turns
	for _, effect := range done.effects {
		switch e := effect.(type) {
		case db.StartConversation:
			r.asks.Reconsider(key)
			r.dropProcess(key, r.ahead.expectNew)
		case db.ResumeSession:
			r.dropProcess(key, r.ahead.expectQuestion)
		case db.StopTurns:
			turns.lanes.HaltTurns(key, e.Turns...)
			turns.wake(key) // a turn that waits until a time ends at once
		case db.DropFollowUp:
			r.asks.EndTurnSoon(db.Turn{Key: key, ID: e.Turn}, db.Cancelled)
			r.pool.Stop(key.String())
		case db.DropTurn:
			r.asks.Reconsider(key)
		case db.RequestSummary:
			r.scheduler.make(key)
		case db.SetModel:
			r.limits.release(key) // another model has its own limits
		}
	}
	switch done.login {
	case beginLogin:
		r.set.startLogin(o)
	case cancelLogin:
		r.set.finishLogin()
	case handCode:
		r.set.handCode(o.m.ID)
	}
}

// dropProcess ends the chat's process. Then the next one is expected.
func (r commandRunner) dropProcess(key chat.Key, expect func(chat.Key)) {
	gone := r.pool.Drop(key.String())
	r.inbox.turns.jobs.Enqueue(func(context.Context) { // that can take seconds
		<-gone
		expect(key)
	})
}

// press carries out the command of a button on behalf of the user who pressed it.
func (r commandRunner) press(ctx context.Context, p chat.Press, l i18n.Lang) (toast string, err error) {
	cmd, _, args := parseCommand(p.Action.ID)
	what := askToContinue
	if p.Action.Do != turncard.DoGoOn {
		if cmd == nil { // not a button of ours
			return "", nil
		}
		what = r.planOf(cmd, p.Actor)
	}
	belowAnswer := cmd != nil && cmd.name == "new" && p.Action.Turn != 0
	if belowAnswer {
		begin := what
		what = func(ctx context.Context, o invocation) (commandResult, error) {
			done, err := begin(ctx, o)
			done.effects = append([]db.Effect{db.IfLast{Turn: p.Action.Turn}}, done.effects...)
			return done, err
		}
	}
	err = r.executePress(ctx, p, db.PressID(p.ID), args, what)
	if belowAnswer && errors.Is(err, db.ErrNotFound) {
		return i18n.NewOver.In(l), nil
	}
	return "", err
}

// executePress carries out the plan of a button on behalf of the user who pressed it. id is the message ID of the
// press; presses with the same ID are carried out once.
func (r commandRunner) executePress(ctx context.Context, p chat.Press, id, args string, what plan) error {
	c, err := r.chats.Get(ctx, p.Key)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	m := chat.Incoming{
		Key: p.Key, Kind: c.Kind, ID: id, Actor: p.Actor, Text: p.Action.ID, Time: time.Now(), ToBot: true,
	}
	return r.execute(ctx, invocation{m: m, args: args, answers: p.Card}, what)
}

// replyLater replies with what a plan works out after the commit. Work interrupted by a shutdown is dropped: the user
// can repeat the command.
func (r commandRunner) replyLater(o invocation, p plan) {
	o.late = true
	r.scheduler.jobs.Enqueue(func(ctx context.Context) {
		what, err := p(ctx, o)
		if err == nil && what.reply != "" && ctx.Err() == nil {
			// The idempotency key contains the command's message, so a redelivered command is answered once.
			post := db.Post{Key: o.m.Key, Idem: "later:" + o.m.ID, ReplyTo: cmp.Or(o.answers, o.m.ID), Text: what.reply}
			err = r.inbox.outbox.Enqueue(context.WithoutCancel(ctx), post)
		}
		if err != nil {
			r.log.Error().Err(err).Stringer("chat", o.m.Key).Msg("reply not stored")
		}
	})
}
