package bridge

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/chat"
)

// commandRunner carries out commands from messages and buttons.
type commandRunner struct {
	cfg       *Config
	chats     db.Chats
	languages languages
	access    *access.Authorizer
	set       *commandSet
	inbox     inbox
	late      lateReplies
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
	if what.then != nil {
		what.then()
	}
	if what.later != nil {
		r.late.replyLater(o, what.later)
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

// lateReplies sends replies that take longer than the command itself.
type lateReplies struct {
	jobs   *workqueue.Queue
	outbox *delivery.Outbox
	log    zerolog.Logger
}

// replyLater replies with the result of work when it is done. Work interrupted by a shutdown is dropped: the user can
// repeat the command.
func (l lateReplies) replyLater(o invocation, work func(context.Context) string) {
	l.jobs.Enqueue(func(ctx context.Context) {
		text := work(ctx)
		if text == "" || ctx.Err() != nil {
			return
		}
		// The idempotency key contains the command's message, so a redelivered command is answered once.
		p := db.Post{Key: o.m.Key, Idem: "later:" + o.m.ID, ReplyTo: cmp.Or(o.answers, o.m.ID), Text: text}
		if err := l.outbox.Enqueue(context.WithoutCancel(ctx), p); err != nil {
			l.log.Error().Err(err).Stringer("chat", o.m.Key).Msg("reply not stored")
		}
	})
}
