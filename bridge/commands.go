package bridge

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"magpie/db"
	"magpie/internal/chat"
)

// order is what a command comes to. Its effects on the store happen together with the message's.
type order struct {
	reply     string
	startAnew bool               // the next prompt holds nothing from before
	compact   bool               // a summary is wanted; its reply comes later
	then      func()             // after the commit; nil = nothing
	set       func(*db.Settings) // changes the chat's settings; it may be called more than once; nil = nothing is changed
	memory    *db.MemoryOrder    // a change to a memory, whose reply takes the place of reply; nil = none
}

// ordered is a command as somebody has given it.
type ordered struct {
	b    *Bridge
	m    chat.Incoming
	args string  // what follows the command
	chat db.Chat // as it was before; of one that was never heard of only the key
	lang lang    // in which to reply
}

// say only replies.
func (o ordered) say(p phrase, args ...any) (order, error) {
	text := p.in(o.lang)
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	return order{reply: text}, nil
}

// plan works out an order before the message is stored, so it must be quick and change nothing.
type plan func(ctx context.Context, o ordered) (order, error)

// command is something that a user can order with a leading slash.
type command struct {
	name    string
	aliases []string
	help    phrase
	admin   bool // only the owner and admins may give it
	plan    plan
}

// commands is a function, not a variable: help lists it, and Go refuses the cycle.
func commands() []command {
	return []command{
		{name: "help", aliases: []string{"帮助"}, help: texts.Help, plan: help},
		{name: "new", aliases: []string{"新会话"}, help: texts.HelpNew, plan: startNew},
		{name: "reset", aliases: []string{"清空"}, help: texts.HelpReset, plan: reset},
		{name: "compact", aliases: []string{"压缩"}, help: texts.HelpCompact, plan: compactNow},
		{name: "stop", aliases: []string{"停止"}, help: texts.HelpStop, plan: stop},
		{name: "status", aliases: []string{"状态"}, help: texts.HelpStatus, plan: status},
		{name: "remember", aliases: []string{"记住"}, help: texts.HelpRemember, plan: rememberThis},
		{name: "memory", aliases: []string{"记忆"}, help: texts.HelpMemory, plan: aboutMemory},
		{name: "history", aliases: []string{"历史"}, help: texts.HelpHistory, plan: showHistory},
		{name: "context", aliases: []string{"上下文"}, help: texts.HelpContext, plan: showContext},
		{name: "projects", aliases: []string{"项目"}, help: accessTexts.HelpProjects, plan: listProjects},
		{name: "cd", aliases: []string{"切换"}, help: accessTexts.HelpCd, plan: changeProject},
		{name: "mode", aliases: []string{"模式"}, help: accessTexts.HelpMode, plan: changeMode},
	}
}

// called reports whether word, in lower case, is one of the command's names.
func (c command) called(word string) bool { return c.name == word || slices.Contains(c.aliases, word) }

// free reports whether somebody may give the command.
func (c command) free(a *Access, who chat.Actor) bool { return !c.admin || a.admin(who) }

var commandName = regexp.MustCompile(`^[a-zA-Z]+$`)

// parseCommand finds the command that a text orders, and what follows it. A text that looks like a command which does not
// exist gives its name only. "/etc/hosts ..." is talk, and so is "/" before any Chinese word that is no command.
func parseCommand(text string) (cmd *command, name, args string) {
	_, size := utf8.DecodeRuneInString(text)
	if slash := text[:size]; slash != "/" && slash != "／" || strings.IndexFunc(text[size:], isSpace) == 0 {
		return nil, "", ""
	}
	word, args := splitWord(text[size:])
	for _, c := range commands() {
		if c.called(strings.ToLower(word)) {
			return &c, "/" + c.name, args
		}
	}
	if !commandName.MatchString(word) {
		return nil, "", ""
	}
	return nil, "/" + word, args
}

// obey stores a message that is no talk, with the reply to it, and carries out what it orders, once.
func (b *Bridge) obey(ctx context.Context, m chat.Incoming, args string, p plan) error {
	c, err := b.db.Chats().Get(ctx, m.Key)
	if errors.Is(err, db.ErrNotFound) {
		c = db.Chat{Key: m.Key}
	} else if err != nil {
		return err
	}
	o, err := p(ctx, ordered{b: b, m: m, args: args, chat: c, lang: chatLang(c)})
	if err != nil {
		return err
	}
	got, err := b.accept(ctx, db.Entry{
		Incoming: m, Class: chat.Command, Reply: o.reply, StartAnew: o.startAnew, Compact: o.compact, Memory: o.memory, Set: o.set,
	})
	if err != nil || !got.Fresh {
		return err
	}
	if o.then != nil {
		o.then()
	}
	b.outbox.wake(m.Key)
	return nil
}

// say is the plan that only replies.
func say(p phrase, args ...any) plan {
	return func(_ context.Context, o ordered) (order, error) { return o.say(p, args...) }
}

// tooLate is the plan for a command that came so late that it is not carried out.
func tooLate(name string) plan {
	return func(_ context.Context, o ordered) (order, error) {
		return o.say(texts.LateCommand, name, span(time.Since(o.m.Time), o.lang))
	}
}

func help(_ context.Context, o ordered) (order, error) {
	var s strings.Builder
	s.WriteString(texts.HelpHead.in(o.lang) + "\n")
	for _, c := range commands() {
		if c.free(o.b.access.Load(), o.m.Actor) {
			fmt.Fprintf(&s, "- `/%s` %s\n", c.name, c.help.in(o.lang))
		}
	}
	return order{reply: s.String()}, nil
}

func startNew(_ context.Context, o ordered) (order, error) { return o.forget(texts.New), nil }

func reset(_ context.Context, o ordered) (order, error) { return o.forget(texts.Reset), nil }

// forget makes the next prompt hold nothing from before. A turn that runs goes on; it belongs to what was before.
func (o ordered) forget(answer phrase) order {
	drop := func() {
		o.b.turns.add(func(context.Context) { o.b.pool.Drop(o.m.Key.String()) })
	}
	return order{reply: answer.in(o.lang), startAnew: true, then: drop}
}

func stop(ctx context.Context, o ordered) (order, error) {
	b, key := o.b, o.m.Key
	turn := b.lanes.running(key)
	if turn == 0 { // the question may be so new that nobody has begun with it
		if err := b.recovery.await(ctx); err != nil {
			return order{}, err
		}
		var err error
		if turn, err = b.db.Turns().Queued(ctx, key); err != nil {
			return order{}, err
		}
	}
	if turn == 0 {
		return o.say(texts.NothingToStop)
	}
	return order{reply: texts.Stopped.in(o.lang), then: func() { b.lanes.halt(key, turn) }}, nil
}

func status(ctx context.Context, o ordered) (order, error) {
	b, c, l := o.b, o.chat, o.lang
	state, session := texts.StatusIdle, texts.StatusNoSession
	if b.lanes.running(c.Key) != 0 {
		state = texts.StatusRunning
	}
	switch {
	case c.Session.ID != "" && b.pool.Living(c.Key.String(), c.Session.ID):
		session = texts.StatusLive
	case c.Session.ID != "" && b.cfg.away(c) != "":
		session = texts.StatusAway
	case c.Session.ID != "":
		session = texts.StatusSession
	}
	return order{reply: fmt.Sprintf(texts.Status.in(l), state.in(l), b.cfg.projectShown(c), session.in(l), b.cfg.Context.Mode) + lastTold(ctx, b, c)}, nil
}
