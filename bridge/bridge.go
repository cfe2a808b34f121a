// Package bridge takes a message to its answer: it receives, keeps one turn at a time per chat, runs the agent,
// draws what it says, delivers the answer until it has arrived, and obeys commands.
package bridge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/attachment"
	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// Messenger is all that the bridge asks of a chat platform. The strings called idem make a repeated call harmless for
// an hour. An error that matches [chat.ErrGone] or [chat.ErrUnreachable] is permanent: trying again does not help;
// after one that matches [chat.ErrRefused] other words may be taken, and after [chat.ErrNotTaken] another file. After
// any other the same call can be made again, also by a later process.
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
	// Upload gives a file to the platform, unseen, and returns its durable name.
	Upload(ctx context.Context, u chat.Upload) (name string, err error)
	// Attach answers a message with a file that was uploaded, and a caption; empty = none.
	Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (messageID string, err error)
	// Find lists what the bot has sent in answer to a message, oldest first.
	Find(ctx context.Context, to chat.Ref) ([]chat.Sent, error)
	// Signal shows on a message, without words, what becomes of it, in place of what was shown before.
	Signal(ctx context.Context, to chat.Ref, s chat.Signal) error
}

// onlookers is how many turns may wait for one of the agent's processes while their askers can see that they wait. The
// turns of other chats stay in the store until then.
const onlookers = 64

// Config is what the bridge must know beside its parts.
type Config struct {
	Access      access.Config           // at the start, see SetAccess
	Departments access.DepartmentLookup // nil = departments mean nothing
	// the platform's id of the app; empty = its owner is not looked for
	App            string
	Founder        Founder  // nil = the platform cannot be asked for the owner
	Found          db.Owner // who was found earlier to be the owner, if anybody
	Project        string   // working folder of chats that have none of their own
	PermissionMode string   // of chats that have none of their own
	// the CLI asks for each use of a tool, also where it only reads
	AskEverything bool
	Projects      map[string]Project                      // to which chats can change, by name
	Guard         Guard                                   // where no agent may work
	Budget        Budget                                  // at the start, see SetBudget
	Reload        func(context.Context) (Reloaded, error) // reads the configuration anew; nil = it cannot be
	// this machine; a session of another one cannot be resumed here
	Node    string
	Context contextmgr.Config
	Groups  Groups             // what was said there; nil = only what events tell
	Files   attachment.Config  // what belongs to messages and does not come with them
	Tools   *agenttools.Server // of which the agents get tools; nil = they get none
	// what is kept out of the History; nobody can read it there later, nor can the agent
	Redact  redact.Policy
	Secrets redact.Known // the program's own, which are neither shown nor kept
	Waits   Waits        // how long something waits for something else
	// a message that is older when it is first seen is run only on request; 0 = any age will do
	MaxAge     time.Duration
	Mention    chat.MentionRule // of groups that have no rule of their own; empty = they must mention the bot
	Outgoing   string           // the folder for files on their way out; empty = agents send none
	Private    []string         // folders and files that agents never send, wherever they lie
	LongAnswer int              // characters from which an answer is also given as a file; 0 = never
	Shutdown   time.Duration    // all that the end of the program may take: turns that run go on for most of it
	Observe    func(Built)      // told of every context that is built; may be nil
	Ended      func(Ended)      // told of every turn that has ended; may be nil
	// in which all chats are spoken to that have not chosen another; empty = as they speak
	Lang    string
	NewLang string  // in which a chat is spoken to before anybody has spoken there; empty = Chinese
	Version string  // of the program; admins are told
	Checks  []Check // what /doctor looks at

	// writes a line of an exported History; nil = it is exported for people only
	Line func(*bytes.Buffer, db.Record) error
}

// Waits are how long something waits for something else before it goes on without it; 0 is the usual time. Tests on a
// busy machine are more patient.
type Waits struct {
	Words time.Duration // a picture or a file without words, for them
	Said  time.Duration // a turn, for what was said in its group while no event told of it
	// a message, for what is not known of its author's departments
	Departments time.Duration
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
	cfg            Config
	db             *db.DB
	context        *contextmgr.Manager
	pool           *claude.Pool
	out            Messenger
	log            zerolog.Logger
	turns          *workqueue.Queue
	lanes          workqueue.Lanes
	outbox         *outbox
	reactions      *reactions
	toolHandlers   *toolHandlers
	background     *background
	scheduler      *compactionScheduler
	summaries      summaries
	notes          notes
	chatMembership chatMembership
	listening      listening
	recovery       recovery
	approvals      *approvals
	ownership      *ownership
	access         *access.Authorizer
	accessRequests *accessRequests
	budget         *budget
	logins         logins
	files          *attachment.Store
	exports        sync.Map                                      // chats whose History is being made into files, by chat.Key
	answer         func(*turn, context.Context) turncard.Outcome // has the agent answer a claimed turn
}

// New makes a bridge. Run starts it.
func New(cfg Config, store *db.DB, pool *claude.Pool, out Messenger, log zerolog.Logger) *Bridge {
	out = redactingMessenger{out, cfg.Secrets}
	b := &Bridge{
		cfg: cfg, db: store, context: contextmgr.New(store, cfg.Context, log), pool: pool, out: out, log: log,
		turns: workqueue.New(pool.Limits().Turns + onlookers), reactions: newReactions(out, log), answer: (*turn).answer,
	}
	tongue := func(ctx context.Context, key chat.Key) i18n.Lang { return b.lang(ctx, key, "") }
	b.outbox = newOutbox(store, out, cfg.spool(), tongue, log)
	b.chatMembership, b.listening = chatMembership{b}, listening{store, cfg.Mention, log}
	b.summaries, b.recovery = summaries{b}, recovery{b, make(chan struct{})}
	b.scheduler = newCompactionScheduler(b.summaries.make)
	b.files = attachment.New(cfg.Files, store, cfg.kept, withoutCodes)
	b.toolHandlers = newToolHandlers(cfg, store, b.context, b.outbox, log)
	b.logins = logins{pool: pool, out: out, jobs: b.scheduler.jobs, log: log, patience: loginTime}
	b.access = access.NewAuthorizer(cfg.Access, store.Grants(), cfg.Departments, cfg.Waits.Departments, log)
	b.approvals = newApprovals(cfg, store, b.outbox, b.access, log)
	b.budget = &budget{pool: pool, ledger: store.Ledger(), zone: b.context.Zone(), log: log}
	b.notes = notes{&b.cfg, store, b.budget, b.scheduler, log}
	b.SetBudget(cfg.Budget)
	b.ownership = newOwnership(cfg, store, out, log, func(a access.Config) { b.access.Store(&a) })
	b.SetAccess(cfg.Access)
	b.accessRequests = &accessRequests{
		authorizer: b.access, grants: store.Grants(), outbox: b.outbox, secrets: cfg.Secrets, lang: b.lang, own: b.ownLang, log: log,
	}
	b.background = newBackground(cfg, store, b.access)
	return b
}

// SetBudget changes what agents may cost, from the next turn on.
func (b *Bridge) SetBudget(limits Budget) { b.budget.Store(&limits) }

// SetAccess changes who may talk to the bot, from the next message on.
func (b *Bridge) SetAccess(a access.Config) { b.ownership.set(a) }

// Run takes up what an earlier process left, and answers messages until ctx is done. Then it begins nothing new,
// interrupts the turns that wait for people, gives the others most of the configured time, interrupts what is left, and
// delivers as much as the rest of the time allows.
func (b *Bridge) Run(ctx context.Context) error {
	ctx = b.log.WithContext(ctx)
	if err := b.recovery.run(ctx); ctx.Err() != nil {
		return nil // what is not taken up yet is found at the next start
	} else if err != nil {
		return err
	}
	b.outbox.fileDelivery.tidyUp(ctx, b.log) // before an agent leaves something there
	work, interrupt := context.WithCancel(context.WithoutCancel(ctx))
	defer interrupt()
	last, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	defer context.AfterFunc(ctx, func() {
		b.lanes.Close()
		time.AfterFunc(b.cfg.Shutdown-min(b.cfg.Shutdown/4, lastWords), interrupt)
		time.AfterFunc(b.cfg.Shutdown-min(b.cfg.Shutdown/10, closing), cut)
	})()

	b.scheduler.jobs.Enqueue(b.cleanCommands)
	quiet, tended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(tended)
		// nothing of it is worth waiting for at the end, but turns may be waiting for it
		b.scheduler.jobs.Run(ctx, quiet)
	}()
	var aside sync.WaitGroup
	aside.Go(func() { b.context.Run(ctx) })
	aside.Go(func() { b.ownership.run(ctx) })
	defer aside.Wait()
	answered, decided, delivered := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(decided)
		b.approvals.jobs.Run(last, answered)
	}()
	go func() {
		defer close(delivered)
		b.outbox.run(last, answered)
	}()
	var signalled sync.WaitGroup
	signalled.Go(func() { b.reactions.run(last, answered) })
	defer signalled.Wait()
	b.turns.Run(work, ctx.Done())
	close(quiet)
	<-tended
	close(answered)
	<-decided
	<-delivered
	return nil
}

// Parts of the time for the program's end.
const (
	lastWords = 3 * time.Second // in which interrupted turns are stored and shown; the last of it is
	closing   = time.Second     // in which processes are ended and the store is closed
)

// Message takes in what a platform delivered. The platform delivers it again until nil comes back, so the commit comes
// first and the work later.
func (b *Bridge) Message(ctx context.Context, m chat.Incoming) error {
	if taken, err := b.ownership.claim(ctx, m); taken || err != nil {
		b.outbox.jobs.Enqueue(b.ownership.welcome)
		return err
	}
	code, isCode := b.logins.take(&m) // before anybody else sees it
	b.background.heard(m)
	switch who, err := b.access.Authorize(ctx, m.Key, m.Actor); {
	case err != nil:
		return err
	case who == access.Stranger:
		return b.accessRequests.record(ctx, m)
	case who == access.Denied:
		return nil
	}
	if isCode {
		return b.obey(ctx, m, "", code)
	}
	if !b.listening.toBot(ctx, m) {
		m.Files = slices.DeleteFunc(m.Files, func(f chat.File) bool { return f.Kind == chat.Quote })
		_, err := b.accept(ctx, db.Inbound{Incoming: m, Class: chat.Overheard})
		return err
	}
	switch cmd, name, args := parseCommand(m.Text); {
	case m.Unreadable != "":
		return b.obey(ctx, m, "", say(i18n.Unreadable))
	case strings.TrimSpace(m.Text) == "" && len(m.Files) == 0:
		return b.obey(ctx, m, "", say(i18n.AskMe))
	case name != "" && b.cfg.late(m):
		return b.obey(ctx, m, args, tooLate(name))
	case cmd != nil && !cmd.free(b.access.Load(), m.Actor):
		return b.obey(ctx, m, args, say(i18n.ForAdmins))
	case cmd != nil:
		return b.obey(ctx, m, args, cmd.plan)
	case name != "":
		return b.obey(ctx, m, args, unknown(name))
	case passedOn.MatchString(strings.TrimSpace(m.Text)):
		return b.obey(ctx, m, "", forwardCommand)
	}
	return b.ask(ctx, m)
}

// outgoing is the folder of files on their way out.
func (cfg Config) spool() fileSpool {
	return fileSpool{dir: cfg.Outgoing, private: cfg.Private, known: cfg.Secrets}
}

// late reports whether a message is so old that its author may not want it answered any more.
func (cfg Config) late(m chat.Incoming) bool {
	return cfg.MaxAge > 0 && time.Since(m.Time) > cfg.MaxAge
}

// goOn is what people write to make an interrupted answer go on.
var goOn = regexp.MustCompile(`(?i)^\s*(继续|接着说|continue|go on)\s*[。.!！~]*\s*$`)

// ask takes in a question.
func (b *Bridge) ask(ctx context.Context, m chat.Incoming) error {
	e := db.Inbound{Incoming: m, Class: chat.Talk, Lang: b.spoken(ctx, m)}
	l := b.lang(ctx, m.Key, e.Lang)
	switch {
	case b.cfg.late(m):
		e.Held = func(turn int64) chat.Card { return heldCard(turn, l, m.Time) }
	case goOn.MatchString(m.Text):
		if err := b.recovery.continues(ctx, &e, l); err != nil {
			return err
		}
	}
	files, err := b.files.Of(ctx, m)
	if err != nil {
		return err
	}
	e.Files = files
	failpoint.At("message: received")
	got, err := b.accept(ctx, e)
	failpoint.At("message: stored")
	if err != nil || !got.Fresh {
		return err
	}
	if e.Held != nil || e.Continues != 0 {
		b.outbox.wake(m.Key)
	}
	if e.Held == nil {
		b.reactions.set([]chat.Message{{Key: m.Key, ID: m.ID}}, chat.Working)
	}
	if wordless(m) {
		// at the end of the program it stays in the queue
		time.AfterFunc(cmp.Or(b.cfg.Waits.Words, wordsWait), func() { b.wake(m.Key) })
		return nil
	}
	b.wake(m.Key)
	return nil
}

// kept is what of a text may be in the History. A command is answered as soon as it is there, and nobody reads it
// again: its effect counts, such as a memory, and that has no private data and no secrets either.
func (cfg Config) kept(text string) string {
	p := cfg.Redact
	if _, name, _ := parseCommand(strings.TrimSpace(text)); name != "" && questionIn(text) == text {
		p = redact.All()
	}
	return cfg.Secrets.Text(redact.Text(withoutCodes(text), p))
}

// accept stores a message, without what is kept out of the History.
func (b *Bridge) accept(ctx context.Context, e db.Inbound) (db.AcceptResult, error) {
	e.Text, e.Reply = b.cfg.kept(e.Text), b.cfg.Secrets.Text(e.Reply)
	if e.Card != nil {
		card := redactCard(*e.Card, b.cfg.Secrets)
		e.Card = &card
	}
	return b.db.Accept(ctx, e)
}

// finish stores the end of a turn. Its answer loses what is kept out of the History; its card does not, because those
// who read it have asked for it.
func (b *Bridge) finish(ctx context.Context, e db.TurnResult) error {
	e.Answer, e.Card = b.cfg.kept(e.Answer), redactCard(e.Card, b.cfg.Secrets)
	if long := b.cfg.LongAnswer; long > 0 && e.State == db.Done && utf8.RuneCountInString(e.Answer) > long {
		name := fmt.Sprintf(i18n.AnswerFile.In(b.lang(ctx, e.Turn.Key, "")), time.Now().In(b.context.Zone()).Format("20060102-150405"))
		e.File = &db.LongAnswer{Name: name, Text: e.Answer}
	}
	return b.db.Turns().Finish(ctx, e)
}

// langOf is the language that was set for the chat, else the configured one, else the one that it speaks, else the one
// in which a new chat is spoken to.
func (cfg Config) langOf(c db.Chat) i18n.Lang {
	if i18n.Lang(cmp.Or(c.Settings.Lang, cfg.Lang, c.Lang, cfg.NewLang)) == i18n.English {
		return i18n.English
	}
	return i18n.Chinese
}

// ownLang is the language in which somebody is spoken to in private.
func (b *Bridge) ownLang(ctx context.Context, user string) i18n.Lang {
	key, err := b.db.Chats().Private(ctx, user)
	if errors.Is(err, db.ErrNotFound) {
		key = chat.FeishuUser(user)
	} else if err != nil {
		b.log.Error().Err(err).Str("user", user).Msg("private chat of a user is not known")
	}
	return b.lang(ctx, key, "")
}

// Press takes in a button that somebody pressed, and returns what to tell him, also when it could not be done.
func (b *Bridge) Press(ctx context.Context, p chat.Press) (toast string, err error) {
	switch who, err := b.access.Authorize(ctx, p.Key, p.Actor); {
	case err != nil:
		return i18n.PressFailed.In(b.lang(ctx, p.Key, "")), err
	case who != access.Admitted:
		return i18n.NotForYou.In(b.lang(ctx, p.Key, "")), nil
	}
	p.Key, p.Values = b.chatMembership.of(ctx, p), formWithoutCodes(p.Values)
	l := b.lang(ctx, p.Key, "")
	defer func() {
		if err != nil {
			toast = i18n.PressFailed.In(l)
		}
	}()
	switch {
	case p.Action.Do == doLetIn || p.Action.Do == doTurnAway:
		return b.accessRequests.answer(ctx, p, l)
	case p.Action.Do == turncard.DoStop && b.lanes.StopTurn(p.Key, p.Action.Turn):
		// it ends anyway, unless the program dies before
		if err := b.db.Turns().Stop(context.WithoutCancel(ctx), p.Key, p.Action.Turn); err != nil {
			b.log.Error().Err(err).Stringer("chat", p.Key).Int64("turn", p.Action.Turn).Msg("stop not stored")
		}
		return i18n.StopAsked.In(l), nil
	case p.Action.Do == turncard.DoContinue || p.Action.Do == turncard.DoDrop:
		return b.recovery.decide(ctx, p, l)
	case p.Action.Do == turncard.DoCommand || p.Action.Do == turncard.DoGoOn:
		return "", b.pressed(ctx, p)
	case slices.Contains([]string{approval.DoAllow, approval.DoAlways, approval.DoRefuse}, p.Action.Do):
		return b.approvals.press(ctx, p, l)
	}
	return i18n.StopOver.In(l), nil
}
