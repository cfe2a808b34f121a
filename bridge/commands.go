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

// command is something that a user can order with a leading slash.
type command struct {
	name string
	help phrase
	// run does the work before the platform is told that the message has arrived, so it must be quick.
	run func(b *Bridge, ctx context.Context, m chat.Incoming) error
}

// commands is a function, not a variable: help lists it, and Go refuses the cycle.
func commands() []command {
	return []command{
		{"help", texts.Help, (*Bridge).help},
		{"new", texts.HelpNew, (*Bridge).startNew},
		{"reset", texts.HelpReset, (*Bridge).reset},
		{"stop", texts.HelpStop, (*Bridge).stop},
		{"status", texts.HelpStatus, (*Bridge).status},
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

func (b *Bridge) help(ctx context.Context, m chat.Incoming) error {
	l := b.lang(ctx, m.Key)
	var s strings.Builder
	s.WriteString(texts.HelpHead.in(l) + "\n")
	for _, c := range commands() {
		fmt.Fprintf(&s, "- `/%s` %s\n", c.name, c.help.in(l))
	}
	b.reply(m, s.String())
	return nil
}

func (b *Bridge) startNew(ctx context.Context, m chat.Incoming) error {
	return b.forget(ctx, m, texts.New)
}

func (b *Bridge) reset(ctx context.Context, m chat.Incoming) error {
	return b.forget(ctx, m, texts.Reset)
}

// forget makes the next prompt hold nothing from before. A turn that runs goes on; it belongs to what was before.
func (b *Bridge) forget(ctx context.Context, m chat.Incoming, answer phrase) error {
	if err := b.db.RaiseEpoch(ctx, m.Key); err != nil {
		return err
	}
	b.jobs.add(func(context.Context) { b.pool.Drop(m.Key.String()) })
	return b.say(m, answer)(ctx)
}

func (b *Bridge) stop(ctx context.Context, m chat.Incoming) error {
	if b.lanes.stop(m.Key, 0) {
		return b.say(m, texts.Stopped)(ctx)
	}
	return b.say(m, texts.NothingToStop)(ctx)
}

func (b *Bridge) status(ctx context.Context, m chat.Incoming) error {
	c, err := b.db.Chat(ctx, m.Key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	l := b.lang(ctx, m.Key)
	state, session := texts.StatusIdle, texts.StatusNoSession
	if b.lanes.running(m.Key) {
		state = texts.StatusRunning
	}
	switch {
	case c.Session.ID != "" && b.pool.Living(m.Key.String(), c.Session.ID):
		session = texts.StatusLive
	case c.Session.ID != "":
		session = texts.StatusSession
	}
	return b.say(m, texts.Status, state.in(l), projectName(b.project(c)), session.in(l), b.cfg.Context.Mode)(ctx)
}
