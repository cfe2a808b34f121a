// Package bridge takes a message to its answer: it receives messages, runs one turn at a time per chat, draws what the
// agent says on a card, delivers the answer until the platform has confirmed it, and carries out commands.
//
// How the platform shows a card (feishu), how the CLI is driven (claude), what a prompt contains (contextmgr)
// and how anything is stored (db) does not belong here.
package bridge

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/attachment"
	"magpie/bridge/delivery"
	"magpie/contextmgr"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// onlookers is how many claimed turns may wait for a process of the agent: their cards say so. The turns of further
// chats wait in the store, unclaimed.
const onlookers = 64

// Config is the configuration of a bridge.
type Config struct {
	Access      access.Config           // at the start, see SetAccess
	Departments access.DepartmentLookup // nil = departments mean nothing
	// the platform's id of the app; empty = its owner is not looked for
	App            string
	Founder        access.Founder // nil = the platform cannot be asked for the owner
	Found          db.Owner       // who was found earlier to be the owner, if anybody
	Project        string         // working folder of chats that have none of their own
	PermissionMode string         // of chats that have none of their own
	// the CLI asks for each use of a tool, also where it only reads
	AskEverything bool
	Projects      map[string]Project                      // to which chats can change, by name
	Guard         Guard                                   // where no agent may work
	Budget        Budget                                  // at the start, see SetBudget
	Reload        func(context.Context) (Reloaded, error) // reads the configuration again; nil = it cannot be
	// this machine; a session of another one cannot be resumed here
	Node    string
	Context contextmgr.Config
	Groups  Groups             // lists what was said in groups; nil = only events tell of it
	Files   attachment.Config  // for attachments, which are fetched after their messages
	Tools   *agenttools.Server // serves the agents' tools; nil = they have none
	// what is removed from messages before they are stored: neither people nor the agent can read it there later
	Redact  redact.Policy
	Secrets redact.Known // the program's own passwords and keys, which are neither shown nor stored
	Waits   Waits        // timeouts; tests on a busy machine need longer ones
	// a message that is older than this when it arrives is answered only on request; 0 = no limit
	MaxAge     time.Duration
	Mention    chat.MentionRule // of groups that have no rule of their own; empty = they must mention the bot
	Outgoing   string           // the folder for files on their way out; empty = agents send none
	Private    []string         // folders and files that agents never send, wherever they lie
	LongAnswer int              // characters from which an answer is also given as a file; 0 = never
	// how long a turn must have taken for its askers to be called when it ends; 0 = nobody ever is
	NotifyAfter time.Duration
	Shutdown    time.Duration // timeout of the program's end; running turns may go on for most of it
	Simulated   bool          // the model is a double, and nothing is charged
	Observe     func(Built)   // told of every context that is built; may be nil
	Ended       func(Ended)   // told of every turn that has ended; may be nil
	// the language of all chats that have not chosen another one; empty = the one that each chat writes in
	Lang      string
	NewLang   string  // the language of a chat before anybody has written there; empty = Chinese
	OwnerLang string  // the language of the owner before he has written; empty = not known
	Version   string  // of the program; shown to admins
	Checks    []Check // what /doctor looks at

	// writes a line of an exported History; nil = it is exported for people only
	Line func(*bytes.Buffer, db.Record) error
}

// Waits are timeouts after which something goes on without what it waits for; 0 = the default.
type Waits struct {
	Words       time.Duration // how long a picture or a file without text waits for a text
	Said        time.Duration // how long a turn waits for the list of what was said in its group
	Departments time.Duration // how long a message waits for its author's departments
}

// Built is the context of one turn, as it goes to the agent.
type Built struct {
	Key    chat.Key
	Turn   int64
	Prompt contextmgr.Prompt
	Live   bool             // the chat's process lives and needs no history
	Lost   claude.LostCause // why a session was given up in this turn; empty = it was not
}

// Ended is how a turn ended.
type Ended struct {
	State     db.TurnState
	Failure   string        // class of the failure; empty = none
	FirstText time.Duration // from the turn's start; 0 = no text came
	Took      time.Duration
	Usage     *db.Usage // nil when the agent did not report any
}

// Bridge is the line from a message to its answer.
type Bridge struct {
	cfg        *Config
	db         *db.DB
	log        zerolog.Logger
	context    *contextmgr.Manager
	access     access.Control
	receiver   *receiver
	presses    *pressHandler
	membership chatMembership
	recovery   recovery
	queues     queues
	runner     *turnRunner
	digests    digests
}

// SetBudget changes what agents may cost, from the next turn on.
func (b *Bridge) SetBudget(limits Budget) { b.runner.agents.budget.Store(&limits) }

// SetAccess changes who may talk to the bot, from the next message on.
func (b *Bridge) SetAccess(a access.Config) { b.access.Ownership.Set(a) }

// Run takes up what an earlier process left, and answers messages until ctx is done. Then it ends within the configured
// time.
func (b *Bridge) Run(ctx context.Context) error {
	ctx = b.log.WithContext(ctx)
	if err := b.recovery.run(ctx); ctx.Err() != nil {
		return nil // what is not taken up yet is found at the next start
	} else if err != nil {
		return err
	}
	b.queues.outbox.RemoveUnneeded(ctx) // before an agent leaves something there
	b.runner.agents.attempts.expect(ctx)
	b.queues.scheduler.jobs.Enqueue(b.receiver.inbox.history.cleanCommands)
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { b.context.Run(ctx) })
	others.Go(func() { b.access.Ownership.Run(ctx) })
	others.Go(func() { b.digests.Run(ctx) })
	b.queues.run(ctx, b.cfg.Shutdown)
	return nil
}

// Message takes in what a platform delivered. The platform delivers it again until nil comes back.
func (b *Bridge) Message(ctx context.Context, m chat.Incoming) error {
	return b.receiver.message(ctx, m)
}

// Edited takes in that the author of a message has changed it.
func (b *Bridge) Edited(ctx context.Context, m chat.Incoming) error { return b.receiver.edited(ctx, m) }

// Press handles a pressed button, and returns the toast to show, also when it fails.
func (b *Bridge) Press(ctx context.Context, p chat.Press) (toast string, err error) {
	return b.presses.press(ctx, p)
}

// outgoing is the folder of files on their way out.
func (cfg Config) spool() delivery.Spool {
	return delivery.Spool{Dir: cfg.Outgoing, Private: cfg.Private, Known: cfg.Secrets}
}

// late reports whether a message is so old that its author may not want it answered any more.
func (cfg Config) late(m chat.Incoming) bool {
	return cfg.MaxAge > 0 && time.Since(m.Time) > cfg.MaxAge
}
