// Package bridge takes a message to its answer: it receives, keeps one turn at a time per chat, runs the agent,
// draws what it says, and obeys commands.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// Messenger is all that the bridge asks of a chat platform. The strings called idem make a repeated call harmless.
type Messenger interface {
	// Reply answers a message with a short text.
	Reply(ctx context.Context, to chat.Ref, text, idem string) (messageID string, err error)
	// Post answers a message with a card and returns the card's durable name.
	Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error)
	// Ready waits until the platform takes another edit of the card.
	Ready(ctx context.Context, cardID string) error
	// Edit draws the card anew.
	Edit(ctx context.Context, cardID string, card chat.Card) error
	// Close draws the card for the last time; nothing of it may be lost.
	Close(ctx context.Context, cardID string, card chat.Card) error
}

// Config is what the bridge must know beside its parts.
type Config struct {
	Access         Access
	Project        string // working folder of chats that have none of their own
	PermissionMode string // of chats that have none of their own
	Node           string // this machine; a session of another one cannot be resumed here
	Context        contextmgr.Config
	Observe        func(Built) // told of every context that is built; may be nil
}

// Built is the context of one turn, as it goes to the agent.
type Built struct {
	Key    chat.Key
	Turn   int64
	Prompt contextmgr.Prompt
	Live   bool             // the chat's process lives and needs no history
	Lost   claude.LostCause // why a session was given up in this turn; empty = it was not
}

// Bridge is the line from a message to its answer.
type Bridge struct {
	cfg     Config
	db      *db.DB
	context *contextmgr.Manager
	pool    *claude.Pool
	out     Messenger
	log     zerolog.Logger
	jobs    jobs
	lanes   lanes
}

// New makes a bridge. Run starts it.
func New(cfg Config, store *db.DB, pool *claude.Pool, out Messenger, log zerolog.Logger) *Bridge {
	return &Bridge{
		cfg: cfg, db: store, context: contextmgr.New(store, cfg.Context, log), pool: pool, out: out, log: log,
		jobs: jobs{signal: make(chan struct{}, 1)}, lanes: lanes{byChat: map[chat.Key]*lane{}},
	}
}

// Run answers messages until ctx is done, then stops the turns that run and waits for them.
func (b *Bridge) Run(ctx context.Context) error {
	ctx = b.log.WithContext(ctx)
	cut, err := b.db.InterruptRunning(ctx)
	if err != nil {
		return err
	}
	keys, err := b.db.QueuedChats(ctx)
	if err != nil {
		return err
	}
	for _, t := range cut {
		b.jobs.add(func(ctx context.Context) { b.tellInterrupted(ctx, t) })
	}
	for _, key := range keys {
		b.wake(key)
	}
	b.jobs.run(ctx)
	return nil
}

// Message takes in what a platform delivered. The platform delivers it again until nil comes back, so the commit comes
// first and the work later.
func (b *Bridge) Message(ctx context.Context, m chat.Incoming) error {
	if !b.cfg.Access.allows(m.Key, m.Actor) {
		b.refuse(m)
		return nil
	}
	switch cmd, name := parseCommand(m.Text); {
	case !m.ToBot:
		return b.accept(ctx, m, chat.Overheard, nil)
	case m.Unreadable != "":
		m.Text = "[" + m.Unreadable + "]"
		return b.accept(ctx, m, chat.Command, b.say(m, texts.Unreadable))
	case strings.TrimSpace(m.Text) == "":
		return b.accept(ctx, m, chat.Command, b.say(m, texts.AskMe))
	case cmd != nil:
		return b.accept(ctx, m, chat.Command, func(ctx context.Context) error { return cmd.run(b, ctx, m) })
	case name != "":
		return b.accept(ctx, m, chat.Command, b.say(m, texts.UnknownCommand, name))
	default:
		return b.accept(ctx, m, chat.Talk, func(context.Context) error { b.wake(m.Key); return nil })
	}
}

// accept stores a message and then, unless it was known already, acts on it.
func (b *Bridge) accept(ctx context.Context, m chat.Incoming, class chat.Class, act func(context.Context) error) error {
	e := db.Entry{Incoming: m, Class: class}
	if class == chat.Talk {
		e.Lang = string(langOf(m.Text))
	}
	got, err := b.db.Accept(ctx, e)
	if err != nil || !got.Fresh || act == nil {
		return err
	}
	if err := act(ctx); err != nil {
		// The message is stored; delivering it again would not help.
		b.log.Error().Err(err).Stringer("chat", m.Key).Str("message", m.ID).Msg("command failed")
		return b.say(m, texts.Trouble)(ctx)
	}
	return nil
}

// say makes an action that replies to m, later: the platform waits for the acknowledgement.
func (b *Bridge) say(m chat.Incoming, p phrase, args ...any) func(context.Context) error {
	return func(ctx context.Context) error {
		b.reply(m, format(p, b.lang(ctx, m.Key), args...))
		return nil
	}
}

func format(p phrase, l lang, args ...any) string {
	if len(args) == 0 {
		return p.in(l)
	}
	return fmt.Sprintf(p.in(l), args...)
}

// reply answers m with a text that is no part of the conversation.
func (b *Bridge) reply(m chat.Incoming, text string) {
	b.jobs.add(func(ctx context.Context) {
		ref := chat.Ref{Key: m.Key, ID: m.ID}
		id, err := b.out.Reply(ctx, ref, text, "reply:"+m.ID)
		if err == nil {
			err = b.db.Record(ctx, chat.Message{Key: m.Key, ID: id, Role: chat.Assistant, Class: chat.Command, Text: text, Time: time.Now()})
		}
		if err != nil {
			b.log.Error().Err(err).Stringer("chat", m.Key).Str("message", m.ID).Msg("reply failed")
		}
	})
}

// lang is the language in which the chat was last spoken to the bot; Chinese as long as nobody has spoken.
func (b *Bridge) lang(ctx context.Context, key chat.Key) lang {
	c, err := b.db.Chat(ctx, key)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		b.log.Error().Err(err).Stringer("chat", key).Msg("language of the chat is not known")
	}
	if lang(c.Lang) == en {
		return en
	}
	return zh
}

// refuse lets a message of a stranger go. Only while nobody owns the bot, who tries is told how to become its owner.
func (b *Bridge) refuse(m chat.Incoming) {
	b.log.Info().Stringer("chat", m.Key).Str("user", m.Actor.ID).Msg("message of a stranger ignored")
	if b.cfg.Access.Unset() && m.Kind == chat.Private {
		b.jobs.add(func(ctx context.Context) {
			l := langOf(m.Text)
			if _, err := b.out.Reply(ctx, chat.Ref{Key: m.Key, ID: m.ID}, format(texts.NotAllowed, l, m.Actor.ID), "reply:"+m.ID); err != nil {
				b.log.Error().Err(err).Msg("reply failed")
			}
		})
	}
}

// Press takes in a button that somebody pressed, and returns what to tell him.
func (b *Bridge) Press(ctx context.Context, p chat.Press) (string, error) {
	if !b.cfg.Access.allows(p.Key, p.Actor) {
		return "", nil
	}
	l := b.lang(ctx, p.Key)
	if p.Action.Do == doStop && b.lanes.stop(p.Key, p.Action.Turn) {
		return texts.StopAsked.in(l), nil
	}
	return texts.StopOver.in(l), nil
}

// tellInterrupted ends the card of a turn that was cut off by the end of the program.
func (b *Bridge) tellInterrupted(ctx context.Context, t db.Turn) {
	l := b.lang(ctx, t.Key)
	log := b.log.With().Stringer("chat", t.Key).Int64("turn", t.ID).Logger()
	log.Warn().Msg("turn was cut off by the end of the program")
	var err error
	if t.Card != "" {
		err = b.out.Close(ctx, t.Card, chat.Card{Body: texts.Interrupted.in(l), Summary: texts.Interrupted.in(l)})
	} else {
		var asked []chat.Message
		if asked, err = b.db.Asked(ctx, t); err == nil && len(asked) > 0 {
			ref := chat.Ref{Key: t.Key, ID: asked[len(asked)-1].ID}
			_, err = b.out.Reply(ctx, ref, texts.Interrupted.in(l), fmt.Sprintf("interrupted:%d", t.ID))
		}
	}
	if err != nil {
		log.Error().Err(err).Msg("nobody could be told of the interruption")
	}
}
