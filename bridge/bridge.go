// Package bridge takes a message to its answer: it receives messages, runs one turn at a time per chat, draws the
// agent's output on a card, delivers the answer until the platform has confirmed it, and carries out commands.
//
// It does not know how the platform shows a card (feishu), how the CLI is driven (claude), what a prompt contains
// (contextmgr) or how data is stored (db).
package bridge

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/attachment"
	"magpie/bridge/budget"
	"magpie/bridge/clock"
	"magpie/bridge/delivery"
	"magpie/bridge/handoff"
	"magpie/bridge/homes"
	"magpie/bridge/language"
	"magpie/bridge/overheard"
	"magpie/bridge/workplace"
	"magpie/contextmgr"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// onlookers limits the claimed turns that wait for an agent process and say so on their cards. The turns of further
// chats wait in the store, unclaimed.
const onlookers = 64

// Config is the configuration of a bridge.
type Config struct {
	Access      access.Config           // at startup, see SetAccess
	Departments access.DepartmentLookup // nil = departments are ignored
	// the platform's ID of the app; empty = the owner is not looked up
	App        string
	AppChannel string                                  // of the platform of the app
	Founder    access.Founder                          // nil = the platform cannot be asked for the owner
	Found      db.Owner                                // the owner found earlier, if any
	Apps       []access.App                            // further apps, each with rules of its own
	Projects   workplace.Set                           // where agents may work
	Budget     budget.Limits                           // at startup, see SetBudget
	Reload     func(context.Context) (Reloaded, error) // reloads the configuration; nil = it cannot be reloaded
	// this machine; a session of another machine cannot be resumed here
	Node    string
	Context contextmgr.Config
	// what people call the door of a channel; nil = nobody can tell
	DoorName func(channel string) i18n.Phrase
	Groups   overheard.Groups   // lists group messages; nil = only events bring them
	Files    attachment.Config  // attachments, which are fetched after their messages
	Tools    *agenttools.Server // serves the agents' tools; nil = agents have none
	// what is removed from messages before they are stored, for good
	Redact  redact.Policy
	Secrets redact.Known // the program's own passwords and keys, which are never shown or stored
	Waits   Waits        // timeouts; tests on a busy machine need longer ones
	// a message that is older on arrival is answered only on request; 0 = no limit
	MaxAge time.Duration
	// how long ago a message was written; nil = by this machine's clock
	Age        func(chat.Incoming) time.Duration
	Mention    chat.MentionRule // default for groups; empty = they must mention the bot
	Outgoing   string           // folder for outgoing files; empty = agents cannot send files
	Private    []string         // folders and files that agents must never send, wherever they are
	LongAnswer int              // longer answers are also sent as a file, in characters; 0 = never
	// askers are notified when a turn took at least this long; 0 = never
	NotifyAfter time.Duration
	Shutdown    time.Duration      // shutdown timeout; running turns get most of it
	Observe     func(BuiltContext) // called with each built context; may be nil
	OnTurnEnd   func(TurnEnd)      // called after each turn; may be nil
	// the language of chats that have not chosen one; empty = the language that each chat writes in
	Lang      string
	NewLang   string // the language of a chat without messages; empty = Chinese
	OwnerLang string // the owner's language before his first message; empty = unknown
	// who uses the terminals of this machine; no ID = there is no way in for them
	Operator chat.Actor
	Version  string  // of the program; shown to admins
	Checks   []Check // the checks of /doctor

	// writes one record of an exported History as a line; nil = the export has no machine-readable file
	WriteRecord func(*bytes.Buffer, db.Record) error
}

// Waits are timeouts after which work continues without what it waits for; 0 = the default.
type Waits struct {
	Words       time.Duration // for the text that follows a picture or file without one
	Overheard   time.Duration // for the list of a group's messages
	Departments time.Duration // for the departments of a message's author
}

// BuiltContext is the context of one turn, as it goes to the agent.
type BuiltContext struct {
	Key    chat.Key
	Turn   int64
	Prompt contextmgr.Prompt
	Live   bool             // the chat's process is alive and needs no history
	Lost   claude.LostCause // why this turn gave up its session; empty = it did not
}

// TurnEnd describes how a turn ended.
type TurnEnd struct {
	Key       chat.Key
	State     convo.Phase
	Failure   string        // class of the failure; empty = none
	FirstText time.Duration // since the turn's start; 0 = there was no text
	Took      time.Duration
	Usage     *db.Usage // nil if the agent did not report it
}

// Bridge takes messages to their answers.
type Bridge struct {
	queues
	cfg       *Config
	db        *db.DB
	pool      *claude.Pool
	log       zerolog.Logger
	context   *contextmgr.Manager
	access    access.Control
	languages language.Chooser
	receiver  *receiver
	presses   *pressHandler
	recovery  *cutOffTurns
	runner    *turnRunner
	budget    *budget.Budget
	files     *attachment.Store
	followUps followUps
	limits    *usageLimits
	handoffs  *handoff.Handoffs
	ahead     *aheadStarts
	clock     *clock.Clock
	arrivals  arrivals
	homes     homes.Homes
}

// TellAway tells whoever has asked something that no machine with the chat's project is there, if that is so. It reports
// whether it did: one of several bridges does.
func (b *Bridge) TellAway(ctx context.Context, m chat.Incoming) (told bool, err error) {
	return b.homes.TellAway(ctx, m)
}

// AskOnce has the agent answer a text for a user outside of all conversations, without tools. The user and the chat pay.
func (b *Bridge) AskOnce(ctx context.Context, key chat.Key, user, system, text string) (string, error) {
	return b.budget.AskFor(ctx, key, user, "once", claude.Errand{System: system, Text: text})
}

// Admits reports whether somebody may talk to the bot in a chat.
func (b *Bridge) Admits(ctx context.Context, key chat.Key, who chat.Actor) (bool, error) {
	decided, err := b.access.Authorize(ctx, key, who)
	return decided == access.Admitted, err
}

// Denies reports whether the configuration denies somebody access, whatever the chat.
func (b *Bridge) Denies(who string) bool { return b.access.Denies(who) }

// LangOf is the language of a user.
func (b *Bridge) LangOf(ctx context.Context, user string) i18n.Lang {
	return b.languages.OfUser(ctx, user)
}

// Triggers is what programs may start.
func (b *Bridge) Triggers() *clock.Clock { return b.clock }

// SetBudget changes the budget, from the next turn on.
func (b *Bridge) SetBudget(limits budget.Limits) { b.budget.Store(&limits) }

// SetAccess changes who may talk to the bot, from the next message on.
func (b *Bridge) SetAccess(a access.Config) { b.access.Set(a) }

// Run takes up what an earlier process left, and answers messages until ctx is done. Then it ends within the configured
// time.
func (b *Bridge) Run(ctx context.Context) error {
	ctx = b.log.WithContext(ctx)
	if err := b.recovery.run(ctx); ctx.Err() != nil {
		return nil // the next start finds what is left
	} else if err != nil {
		return err
	}
	b.outbox.RemoveDeliveredCopies(ctx) // before an agent leaves something there
	b.runner.startSpare(ctx)
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { b.context.Run(ctx) })
	others.Go(func() { b.access.Run(ctx) })
	others.Go(func() { b.sendDigests(ctx) })
	others.Go(func() { b.clock.Run(ctx) })
	others.Go(func() { b.limits.Run(ctx) })
	others.Go(func() { b.handoffs.Run(ctx) })
	others.Go(func() { b.upkeep.WatchStale(ctx) })
	others.Go(func() { b.ahead.restore(ctx) })
	b.queues.run(ctx, b.cfg.Shutdown)
	return nil
}

// langOf is the language to use in a chat.
func (cfg Config) langOf(c db.Chat) i18n.Lang { return language.Of(c, cfg.Lang, cfg.NewLang) }

// spool is the folder of outgoing files.
func (cfg Config) spool() delivery.Spool {
	return delivery.Spool{Dir: cfg.Outgoing, Private: cfg.Private, Known: cfg.Secrets}
}

// isLate reports whether a message is so old that its author may no longer want an answer.
func (cfg Config) isLate(m chat.Incoming) bool {
	return cfg.MaxAge > 0 && cfg.Age(m) > cfg.MaxAge
}

// GuardedFiles are patterns of the names of files and folders that make others obey, see [approval.Guarded].
func GuardedFiles() []string { return approval.Guarded() }
