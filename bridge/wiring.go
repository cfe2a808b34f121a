package bridge

import (
	"math"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/approval"
	"magpie/bridge/attachment"
	"magpie/bridge/budget"
	"magpie/bridge/clock"
	"magpie/bridge/delivery"
	"magpie/bridge/homes"
	"magpie/bridge/language"
	"magpie/bridge/login"
	"magpie/bridge/overheard"
	"magpie/bridge/toolset"
	"magpie/bridge/upkeep"
	"magpie/bridge/workqueue"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
)

// New makes a bridge; Run starts it. The parts are made in the order of their dependencies, and each keeps only the few
// others that it uses.
func New(config Config, store *db.DB, pool *claude.Pool, messenger delivery.Messenger, log zerolog.Logger) *Bridge {
	if config.Age == nil {
		config.Age = func(m chat.Incoming) time.Duration { return time.Since(m.Time) }
	}
	if config.DoorName == nil {
		config.DoorName = func(channel string) i18n.Phrase { return i18n.Phrase{ZH: channel, EN: channel} }
	}
	cfg, resumes := &config, config.Context.Resumes()
	// The messenger is wrapped first, so that no part can send a secret.
	out := delivery.NewRedactingMessenger(messenger, cfg.Secrets)
	manager := contextmgr.New(store, cfg.Context, log)
	zone, places, guard := manager.Zone(), cfg.Projects, cfg.Projects.Guard
	languages := language.Chooser{
		Fixed: cfg.Lang, New: cfg.NewLang, Owner: cfg.OwnerLang, Chats: store.Chats(), Log: log,
	}
	history := historyWriter{cfg, store, languages, zone}
	outbox := delivery.NewOutbox(store, out, cfg.spool(), languages.OfChat, log)
	reactions := delivery.NewReactions(out, log)
	display := turnDisplay{out, outbox, reactions, store, cfg.Secrets, cfg.OnTurnEnd}
	busy := &busyChats{}
	turns := &turnQueue{
		busy: busy, node: cfg.Node, resumes: resumes, turns: store.Turns(), place: store.Place(),
		jobs: workqueue.New(pool.Limits().MaxTurns + onlookers), listed: make(chan struct{}), log: log,
	}
	budget := budget.New(pool, store.Access(), zone, log)
	limits := &usageLimits{
		cfg: cfg, store: store, pool: pool, turns: turns, outbox: outbox, zone: zone,
		changed: make(chan struct{}, 1), log: log,
	}
	aside := workqueue.New(math.MaxInt)
	upkeep := &upkeep.Keeper{
		Rules: cfg.Context, DB: store, Context: manager, Pool: pool, Budget: budget, Outbox: outbox, Out: out,
		Languages: languages, Clean: cfg.clean, Jobs: aside, Log: log,
	}
	files := attachment.New(cfg.Files, store, cfg.redactForHistory, login.WithoutCodes)
	tools := &toolset.Set{
		DB: store, Context: manager, Config: cfg.Context, Outbox: outbox, Clean: cfg.clean, Server: cfg.Tools,
		Running: func(key chat.Key) (db.Claim, string, bool) {
			if claim, project, ok := busy.worksFor(key); ok {
				return claim, project, true
			}
			return turns.handoffs.WorksFor(key)
		}, Language: languages.OfChat, Log: log,
	}
	logins := &login.Logins{
		Pool: pool, Out: out, Jobs: aside, Log: log, Patience: login.Patience, LoggedIn: limits.loggedIn,
	}
	authorizer := access.NewAuthorizer(cfg.Access, store.Access(), cfg.Departments, cfg.Waits.Departments, log)
	control := newControl(cfg, store, out, outbox, authorizer, languages, log)
	overheard := overheard.New(
		cfg.Groups, store, authorizer, cfg.Context, cfg.Waits.Overheard, cfg.redactForHistory)
	cutOff := &cutOffTurns{
		cfg: cfg, places: places, db: store, pool: pool, budget: budget, history: history, turns: turns, busy: busy,
		resumes: resumes, outbox: outbox, display: display, upkeep: upkeep, log: log,
	}
	approvals := approval.NewRequests(approval.Config{
		Protected: approval.ProtectedPaths{
			Data: guard.Data, State: guard.State, Received: cfg.Files.Folder, Files: guard.Files, Homes: guard.Homes,
		},
		Secrets: cfg.Secrets, Language: languages.OfChat, Interrupted: cutOff,
		RedactForHistory: cfg.excerptForHistory,
	}, store, outbox, authorizer, log)
	cutOff.approvals = approvals
	followUps := followUps{cutOff, store.Turns()}
	servers := &serverStates{list: map[string][]claude.MCPServer{}}
	specs := processSpecs{places, budget, tools, files}
	ahead := &aheadStarts{
		cfg: cfg, preview: NewPreview(config, store, manager, pool.Config()), db: store, access: authorizer,
		pool: pool, specs: specs, upkeep: upkeep, turns: turns, jobs: aside, log: log,
	}
	commands := &commandSet{
		cfg: cfg, places: places, db: store, log: log, context: manager, zone: zone, access: authorizer, languages: languages,
		pool: pool, history: history, files: files, turns: turns, busy: busy, asks: approvals, cutOff: cutOff,
		schedules: store.Schedules(), outbox: outbox, reactions: reactions, upkeep: upkeep, ahead: ahead, budget: budget, limits: limits,
		servers: servers, logins: logins, jobs: aside,
	}
	commands.clock = clock.New(commands.schedules, commands, store.Place().Require, log)
	runner := &turnRunner{
		cfg: cfg, places: places, db: store, pool: pool, context: manager, history: history, busy: busy, display: display,
		budget: budget, access: authorizer, approvals: approvals, overheard: overheard, files: files, specs: specs,
		servers: servers, followUps: followUps, upkeep: upkeep, ahead: ahead, limits: limits, outbox: outbox,
		resumes: resumes,
	}
	turns.run = runner.run
	turns.handoffs = newHandoffs(cfg, turns, ahead, limits, history, log)
	runner.handoffs, commands.handoffs, ahead.handoffs = turns.handoffs, turns.handoffs, turns.handoffs
	b := &Bridge{
		cfg: cfg, db: store, log: log, context: manager, access: control, pool: pool, languages: languages,
		limits: limits, ahead: ahead, runner: runner, handoffs: turns.handoffs, clock: commands.clock,
		budget: budget, files: files, followUps: followUps,
		queues: queues{
			busy: busy, turns: turns, upkeep: upkeep, approvals: approvals, outbox: outbox, reactions: reactions,
		},
		receiver: &receiver{
			cfg: cfg, access: control, overheard: overheard, logins: logins, files: files,
			languages: languages, interrupted: cutOff, history: history, reactions: reactions, outbox: outbox,
			turns: turns, ahead: ahead, commands: commands, db: store, busy: busy, approvals: approvals,
			budget: budget, takesAll: pool.Config().WhileBusy == workspace.Steers, log: log,
		},
		presses: &pressHandler{
			access: control, languages: languages, busy: busy, turns: store.Turns(), interrupted: cutOff,
			commands: commands, approvals: approvals, ahead: ahead, limits: limits, log: log,
		},
		recovery: cutOff,
		homes:    homes.Homes{Places: places, DB: store, Out: out, Access: authorizer, Languages: languages},
	}
	b.homes.Restrict()
	b.SetBudget(cfg.Budget)
	b.SetAccess(cfg.Access)
	return b
}

// newControl makes what decides who may do what. Each app has an owner.
func newControl(
	cfg *Config, store *db.DB, out delivery.RedactingMessenger, outbox *delivery.Outbox, authorizer *access.Authorizer,
	languages language.Chooser, log zerolog.Logger,
) access.Control {
	apps := append([]access.App{{ID: cfg.App, Channel: cfg.AppChannel, Founder: cfg.Founder, Found: cfg.Found}}, cfg.Apps...)
	control := access.Control{
		Authorizer: authorizer,
		Requests:   access.NewRequests(authorizer, store, outbox, languages, cfg.Secrets, log),
	}
	for _, a := range apps {
		if a.Lang = languages.OfUser; !chat.IsFurtherApp(a.Channel) {
			a.Lang = languages.OfOwner
		}
		a.Leads, a.Place = store.Place().Leads, store.Place()
		control.Owners = append(control.Owners, access.NewOwnership(a, store.Access(), out, authorizer, log))
	}
	return control
}
