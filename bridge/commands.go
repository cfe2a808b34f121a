package bridge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"magpie/db"
	"magpie/internal/chat"
)

// order is what a command comes to. Its effects on the store happen together with the message's.
type order struct {
	reply     string
	startAnew bool            // the next prompt holds nothing from before
	compact   bool            // a summary is wanted; its reply comes later
	then      func()          // after the commit; nil = nothing
	memory    *db.MemoryOrder // a change to a memory, whose reply takes the place of reply; nil = none
}

// plan works out an order before the message is stored, so it must be quick and change nothing.
type plan func(b *Bridge, ctx context.Context, m chat.Incoming) (order, error)

// command is something that a user can order with a leading slash.
type command struct {
	name string
	help phrase
	plan plan
}

// commands is a function, not a variable: help lists it, and Go refuses the cycle.
func commands() []command {
	return []command{
		{"help", texts.Help, (*Bridge).help},
		{"new", texts.HelpNew, (*Bridge).startNew},
		{"reset", texts.HelpReset, (*Bridge).reset},
		{"compact", texts.HelpCompact, compactNow},
		{"stop", texts.HelpStop, (*Bridge).stop},
		{"status", texts.HelpStatus, (*Bridge).status},
		{"remember", texts.HelpRemember, rememberThis},
		{"memory", texts.HelpMemory, aboutMemory},
		{"history", texts.HelpHistory, (*Bridge).showHistory},
		{"context", texts.HelpContext, (*Bridge).showContext},
	}
}

var commandLine = regexp.MustCompile(`^/([a-zA-Z]+)(\s|$)`)

// parseCommand finds the command that a text orders. A text that looks like a command which does not exist gives its
// name only. "/etc/hosts ..." is talk.
func parseCommand(text string) (*command, string) {
	word := commandLine.FindStringSubmatch(text)
	if word == nil {
		return nil, ""
	}
	for _, c := range commands() {
		if c.name == strings.ToLower(word[1]) {
			return &c, "/" + c.name
		}
	}
	return nil, "/" + word[1]
}

// obey stores a message that is no talk, with the reply to it, and carries out what it orders, once.
func (b *Bridge) obey(ctx context.Context, m chat.Incoming, p plan) error {
	o, err := p(b, ctx, m)
	if err != nil {
		return err
	}
	got, err := b.accept(ctx, db.Entry{Incoming: m, Class: chat.Command, Reply: o.reply, StartAnew: o.startAnew, Compact: o.compact, Memory: o.memory})
	if err != nil || !got.Fresh {
		return err
	}
	if o.then != nil {
		o.then()
	}
	b.outbox.wake(m.Key)
	return nil
}

// say only replies.
func say(p phrase, args ...any) plan {
	return func(b *Bridge, ctx context.Context, m chat.Incoming) (order, error) {
		text := p.in(b.lang(ctx, m.Key))
		if len(args) > 0 {
			text = fmt.Sprintf(text, args...)
		}
		return order{reply: text}, nil
	}
}

func (b *Bridge) help(ctx context.Context, m chat.Incoming) (order, error) {
	l := b.lang(ctx, m.Key)
	var s strings.Builder
	s.WriteString(texts.HelpHead.in(l) + "\n")
	for _, c := range commands() {
		fmt.Fprintf(&s, "- `/%s` %s\n", c.name, c.help.in(l))
	}
	return order{reply: s.String()}, nil
}

func (b *Bridge) startNew(ctx context.Context, m chat.Incoming) (order, error) {
	return b.forget(ctx, m, texts.New), nil
}

func (b *Bridge) reset(ctx context.Context, m chat.Incoming) (order, error) {
	return b.forget(ctx, m, texts.Reset), nil
}

// forget makes the next prompt hold nothing from before. A turn that runs goes on; it belongs to what was before.
func (b *Bridge) forget(ctx context.Context, m chat.Incoming, answer phrase) order {
	drop := func() {
		b.turns.add(func(context.Context) { b.pool.Drop(m.Key.String()) })
	}
	return order{reply: answer.in(b.lang(ctx, m.Key)), startAnew: true, then: drop}
}

func (b *Bridge) stop(ctx context.Context, m chat.Incoming) (order, error) {
	l := b.lang(ctx, m.Key)
	turn := b.lanes.running(m.Key)
	if turn == 0 { // the question may be so new that nobody has begun with it
		if err := b.recovered(ctx); err != nil {
			return order{}, err
		}
		var err error
		if turn, err = b.db.Turns().Queued(ctx, m.Key); err != nil {
			return order{}, err
		}
	}
	if turn == 0 {
		return order{reply: texts.NothingToStop.in(l)}, nil
	}
	return order{reply: texts.Stopped.in(l), then: func() { b.lanes.halt(m.Key, turn) }}, nil
}

func (b *Bridge) status(ctx context.Context, m chat.Incoming) (order, error) {
	c, err := b.db.Chats().Get(ctx, m.Key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return order{}, err
	}
	l := chatLang(c)
	state, session := texts.StatusIdle, texts.StatusNoSession
	if b.lanes.running(m.Key) != 0 {
		state = texts.StatusRunning
	}
	switch {
	case c.Session.ID != "" && b.pool.Living(m.Key.String(), c.Session.ID):
		session = texts.StatusLive
	case c.Session.ID != "" && b.cfg.away(c) != "":
		session = texts.StatusAway
	case c.Session.ID != "":
		session = texts.StatusSession
	}
	return order{reply: fmt.Sprintf(texts.Status.in(l), state.in(l), projectName(b.cfg.project(c)), session.in(l), b.cfg.Context.Mode) + b.lastTold(ctx, c)}, nil
}
