package bridge

import (
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/attachment"
	"magpie/bridge/delivery"
	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/claude"
)

// New makes a bridge. Run starts it.
func New(cfg Config, store *db.DB, pool *claude.Pool, out delivery.Messenger, log zerolog.Logger) *Bridge {
	if cfg.Age == nil {
		cfg.Age = time.Since
	}
	w := newWiring(cfg, store, pool, out, log)
	app := access.App{ID: cfg.App, Founder: cfg.Founder, Found: cfg.Found, Lang: w.languages.ofOwner}
	control := access.Control{
		Authorizer: w.authorizer,
		Ownership:  access.NewOwnership(app, store.Owners(), w.out, w.authorizer, log),
		Requests:   access.NewRequests(w.authorizer, store, w.outbox, w.languages, cfg.Secrets, log),
	}
	background := newBackground(cfg, store, w.authorizer)
	rc := &receiver{
		cfg: w.cfg, access: control, listening: w.listening, background: background, logins: w.logins, files: w.files,
		languages: w.languages, interrupted: w.cutOff,
		history: w.history, reactions: w.reactions, outbox: w.outbox, turns: w.turns,
		ahead: w.ahead, commands: w.commandSet(),
		db: store, busy: w.busy, approvals: w.approvals, budget: w.budget,
		takesAll: pool.Config().WhileBusy == claude.Steers, log: log,
	}
	b := &Bridge{
		cfg: w.cfg, db: store, log: log, context: w.context, access: control, receiver: rc, queues: w.queues,
		pool: pool, languages: w.languages, listening: w.listening, limits: w.limits, ahead: w.ahead,
		runner: w.turnRunner(background),
		presses: &pressHandler{
			access: control, languages: w.languages, busy: w.busy, turns: store.Turns(),
			interrupted: rc.interrupted, commands: rc.commands, approvals: w.approvals, ahead: w.ahead,
			limits: w.limits, log: log,
		},
		recovery: recovery{
			db: store, pool: pool, approvals: w.approvals, turns: w.turns, upkeep: w.upkeep, log: log,
			cutOff: w.followUps.cutOff, interrupted: w.cutOff, display: w.display(),
		},
	}
	w.turns.run = b.runner.run
	b.SetBudget(cfg.Budget)
	b.SetAccess(cfg.Access)
	return b
}

// wiring holds the parts of a bridge while New connects them. Each part keeps only the few others that it uses.
type wiring struct {
	queues
	cfg        *Config
	db         *db.DB
	pool       *claude.Pool
	out        delivery.Messenger
	log        zerolog.Logger
	context    *contextmgr.Manager
	languages  languages
	history    historyWriter
	listening  listening
	budget     *budget
	files      *attachment.Store
	tools      *toolHandlers
	logins     *logins
	authorizer *access.Authorizer
	cutOff     interruptedTurns
	servers    *serverStates
	specs      processSpecs
	ahead      *aheadStarts
	busy       *busyChats
	followUps  followUps
	limits     *usageLimits
}

// newWiring makes the parts in the order of their dependencies. The messenger is wrapped first, so that
// no part can send a secret.
func newWiring(cfg Config, store *db.DB, pool *claude.Pool, out delivery.Messenger, log zerolog.Logger) *wiring {
	redacting := delivery.NewRedactingMessenger(out, cfg.Secrets)
	w := &wiring{cfg: &cfg, db: store, pool: pool, out: redacting, log: log}
	w.context = contextmgr.New(store, cfg.Context, log)
	w.languages = languages{w.cfg, store.Chats(), log}
	w.history = historyWriter{w.cfg, store, w.languages, w.context.Zone()}
	w.outbox = delivery.NewOutbox(store, w.out, cfg.spool(), w.languages.OfChat, log)
	w.reactions = delivery.NewReactions(w.out, log)
	w.busy = &busyChats{}
	w.turns = &turnQueue{
		busy: w.busy, cfg: w.cfg, store: store.Queue(), turns: store.Turns(),
		jobs: workqueue.New(pool.Limits().MostTurns + onlookers), listed: make(chan struct{}), log: log,
	}
	w.listening = listening{store, cfg.Mention, log}
	w.budget = &budget{pool: pool, ledger: store.Ledger(), zone: w.context.Zone(), log: log}
	w.limits = &usageLimits{
		cfg: w.cfg, store: store, pool: pool, turns: w.turns, outbox: w.outbox, zone: w.context.Zone(),
		changed: make(chan struct{}, 1), log: log,
	}
	w.upkeep = newUpkeep(w)
	w.files = attachment.New(cfg.Files, store, cfg.redactForHistory, withoutCodes)
	w.tools = newToolHandlers(cfg, store, w.context, w.outbox, log)
	w.logins = &logins{pool: pool, out: w.out, jobs: w.upkeep.jobs, log: log, patience: loginTime,
		loggedIn: w.limits.loggedIn}
	w.authorizer = access.NewAuthorizer(cfg.Access, store.Grants(), cfg.Departments, cfg.Waits.Departments, log)
	w.cutOff = interruptedTurns{store, w.turns, w.outbox, w.languages.OfChat}
	w.approvals = approval.NewRequests(approval.Config{
		Protected: cfg.protectedPaths(), Secrets: cfg.Secrets, Language: w.languages.OfChat, Interrupted: w.cutOff,
		RedactForHistory: cfg.excerptForHistory,
	}, store, w.outbox, w.authorizer, log)
	w.followUps = followUps{
		cfg: w.cfg, store: store.Turns(), pool: pool, turns: w.turns, history: w.history,
		outbox: w.outbox, approvals: w.approvals, log: log,
		cutOff: cutOffTurns{w.cfg, store, pool, w.budget, w.history, w.reactions, log},
	}
	w.servers = &serverStates{list: map[string][]claude.MCPServer{}}
	w.specs = processSpecs{w.cfg, w.budget, w.tools, w.files}
	w.ahead = &aheadStarts{
		preview: NewPreview(*w.cfg, store, w.context, pool.Config()), db: store, access: w.authorizer, pool: pool,
		specs: w.specs, upkeep: w.upkeep, turns: w.turns, jobs: w.upkeep.jobs, log: log,
	}
	return w
}

// display shows the progress of turns.
func (w *wiring) display() turnDisplay {
	return turnDisplay{w.out, w.outbox, w.reactions, w.db.Turns(), w.cfg.Secrets}
}

// turnRunner gives each step of a turn what it needs.
func (w *wiring) turnRunner(background *background) *turnRunner {
	return &turnRunner{
		cfg: w.cfg, db: w.db, pool: w.pool, context: w.context, history: w.history, busy: w.busy,
		display: w.display(), budget: w.budget, access: w.authorizer, approvals: w.approvals,
		background: background, files: w.files, specs: w.specs, servers: w.servers, followUps: w.followUps,
		upkeep: w.upkeep, ahead: w.ahead, limits: w.limits,
	}
}

// commandSet gives the commands what they need.
func (w *wiring) commandSet() *commandSet {
	return &commandSet{
		cfg: w.cfg, db: w.db, log: w.log, context: w.context, zone: w.context.Zone(), access: w.authorizer,
		languages: w.languages, pool: w.pool, history: w.history, files: w.files, turns: w.turns, asks: w.approvals,
		cutOff: w.cutOff, outbox: w.outbox, reactions: w.reactions, upkeep: w.upkeep, ahead: w.ahead,
		budget: w.budget, limits: w.limits, servers: w.servers, listening: w.listening, logins: w.logins,
	}
}
