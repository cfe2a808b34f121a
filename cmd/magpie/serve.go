package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"magpie/bridge"
	"magpie/bridge/attachment"
	"magpie/bridge/relay"
	"magpie/db"
	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/proctree"
	"magpie/internal/claude/workspace"
	"magpie/internal/door"
	"magpie/internal/door/api"
	"magpie/internal/door/terminal"
	"magpie/internal/failpoint"
	"magpie/internal/operator/config"
	"magpie/internal/operator/doctor"
	"magpie/internal/operator/systemd"
)

type serveCmd struct {
	Config string `help:"The configuration file. Looked for in the working folder, then the user's and the system's configuration folder." type:"path" placeholder:"magpie.toml"`
	plain  bool   // the log is for a person at this terminal
}

// Run runs the bridge until ctx is done.
func (s serveCmd) Run(ctx context.Context) error {
	defer muteLibraries()()
	environ, err := config.TakeEnviron()
	if err != nil {
		return err
	}
	load := func() (config.Config, error) { return config.Load(s.Config, environ) }
	c, err := load()
	if err != nil {
		return err
	}
	if s.plain {
		c.Log.Format = config.LogConsole
	}
	zerolog.SetGlobalLevel(c.Log.ZerologLevel()) // for the process, so that a reload affects every logger
	if isForPeople(os.Stderr, c.Log) {
		zerolog.ErrorMarshalFunc = loggedError
	}
	p, err := newProgram(ctx, c, newLog(os.Stderr, c.Log), nil)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	p.load = load
	if err := c.Claude.Wall.Missing(); err != nil {
		p.log.Warn().Err(err).Msg("the kernel cannot hide magpie's own files from agents: every command that could read them is asked for")
	}
	stopAdopting, err := proctree.AdoptOrphans()
	if err != nil {
		p.log.Warn().Err(err).Msg("orphaned processes may be found only at the next start")
	} else {
		defer stopAdopting()
	}
	return p.run(ctx)
}

// unlessStopped drops the error of a start that was stopped: it only says what the program was just doing.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// muteLibraries keeps what libraries print off the standard output until restore is called: the SDK announces itself
// there (event/dispatcher/dispatcher.go), in the middle of a log of JSON.
func muteLibraries() (restore func()) {
	out := os.Stdout
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return func() {}
	}
	os.Stdout = null
	return func() { os.Stdout = out; _ = null.Close() }
}

// program is the bridge with all its parts. The playground and tests build the same one.
type program struct {
	cfg    config.Config
	log    zerolog.Logger
	unlock func() error // ends what makes this program the only one, see openStore
	store  *db.DB
	pool   *claude.Pool
	guard  proctree.Watchdog // ends the agents if this process cannot
	apps   []feishuApp       // none = people come through other doors only
	doors  door.Doors
	tools  *agenttools.Server // nil = the agents get no tools
	files  attachment.Config
	bridge *bridge.Bridge
	relay  *relay.Relay // hands the bridge its events; nil = there is no other bridge

	load           func() (config.Config, error) // reloads the configuration; nil = it cannot be reloaded
	reloadRequests chan chan reloadResult        // from admins; each has the channel for its reply
	metrics        *metrics
	http           net.Listener // for the pages; nil = no pages
	api            *api.Door    // for programs; nil = there is none
}

// newProgram builds the program; run starts it. change may modify the bridge's configuration, and may be nil.
func newProgram(
	ctx context.Context, c config.Config, log zerolog.Logger, change func(*bridge.Config),
) (_ *program, err error) {
	node, err := c.NodeName()
	if err != nil {
		return nil, err
	}
	outgoing, private, err := c.OutgoingFiles()
	if err != nil {
		return nil, err
	}
	p := &program{cfg: c, log: log, reloadRequests: make(chan chan reloadResult)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.closeUnused())
		}
	}()
	if err := p.openStore(ctx); err != nil {
		return nil, err
	}
	if err := p.prepareFolders(ctx); err != nil {
		return nil, err
	}
	p.cfg.Claude.Unknown = reportOnce(log)
	p.pool = claude.NewPool(p.cfg.Claude)
	if err := p.openFeishu(ctx); err != nil {
		return nil, err
	}
	if err := p.openTerminal(); err != nil {
		return nil, err
	}
	if c.HTTP.HasAPI() {
		p.api = api.New(chat.HTTP, p.store.Programs(), log)
		p.doors = append(p.doors, p.api)
	}
	var channels []string
	for _, d := range p.doors {
		channels = append(channels, d.Channel())
	}
	p.metrics = newMetrics(p.snapshot, channels, len(p.apps))
	// The tools are served over HTTP on the loopback interface; without tools there is no listener.
	if c.Memory.Tools || c.Chat.SendFiles {
		if p.tools, err = agenttools.Listen(log); err != nil {
			return nil, err
		}
	}
	p.files.Source = p.doors
	b := p.bridgeConfig()
	b.Node, b.Outgoing, b.Private = node, outgoing, private
	if change != nil {
		change(&b)
	}
	p.bridge = bridge.New(b, p.store, p.pool, p.doors, log)
	if p.api != nil {
		p.api.Denies = p.bridge.Denies
		p.api.Projects, p.api.Once = slices.Sorted(maps.Keys(c.Projects)), p.bridge.AskOnce
		p.api.Triggers, p.api.Persons, p.api.Lang = p.bridge.Triggers(), p.doors, p.bridge.LangOf
	}
	if err := p.relayEvents(); err != nil {
		return nil, err
	}
	if c.HTTP.Listen != "" {
		if p.http, err = listen(c.HTTP, log); err != nil {
			return nil, err
		}
	}
	return p, c.MakeDefaultProject() // last: a program that cannot run leaves no folder behind
}

// relayEvents takes events to the bridges that have their rooms. With PostgreSQL there may be several.
func (p *program) relayEvents() (err error) {
	if queue := p.store.Forwarded(); queue != nil {
		p.relay, err = relay.New(p.bridge, relay.Config{
			Take: p.store.Place().Take, Away: p.bridge.TellAway, Queue: *queue, Secret: relaySecret(p.cfg), Log: p.log,
		})
	}
	return err
}

// openStore makes this program the only one of its kind on this machine, and then opens the database. With SQLite two programs
// with the same app would take each other's events, because the platform sends each event to one connection only. With
// PostgreSQL they share them, and each has a data folder.
func (p *program) openStore(ctx context.Context) (err error) {
	c := p.cfg.DBConfig()
	switch {
	case !c.DSN().IsFile():
		folder, err := c.DSN().Lock()
		if err != nil {
			return err
		}
		p.unlock = folder.Release
	default:
		if err := p.holdApps(); err != nil {
			return err
		}
	}
	var ready func()
	c.Progress, ready = databaseWork()
	p.store, err = db.Open(ctx, c)
	ready()
	return err
}

// prepareFolders creates the folders of the agents and of attachments.
func (p *program) prepareFolders(ctx context.Context) (err error) {
	if p.cfg.Claude, err = agentsConfig(ctx, p.cfg, p.store); err == nil {
		p.cfg.Claude.Repaired = func(damage error) { p.log.Warn().Err(damage).Msg("damaged state of an agent repaired") }
		p.guard.Instance = p.cfg.Claude.Instance
		if p.guard.Users, err = p.cfg.Claude.AgentUsers(); err == nil {
			err = p.cfg.Claude.Prepare()
		}
	}
	files, folderErr := folderOf(p.cfg, "files")
	group, groupErr := openDataFolder(p.cfg)
	p.files = attachment.Config{Folder: files, Most: int64(p.cfg.Chat.MaxFile), Group: group}
	return errors.Join(err, folderErr, groupErr)
}

// openTerminal adds the door for terminals. Whoever may use it is the owner.
func (p *program) openTerminal() error {
	if !p.cfg.Terminal.IsOn() {
		return nil
	}
	folder, err := folderOf(p.cfg, terminalFolder)
	if err != nil {
		return err
	}
	t, err := terminal.New(folder, p.store.Programs(), p.log)
	if err == nil {
		t.Also = p.servicePages()
	}
	if err != nil && len(p.doors) == 0 {
		return err // nobody could reach the bot
	} else if err != nil {
		p.log.Warn().Err(err).Msg("nobody can chat from a terminal")
		return nil
	}
	p.doors, p.cfg.Access.OwnerIDs = append(p.doors, t), terminal.OwnerIDs()
	return nil
}

// closeUnused closes what newProgram has opened for a program that cannot run.
func (p *program) closeUnused() error {
	var errs []error
	if p.tools != nil {
		errs = append(errs, p.tools.Close())
	}
	if p.store != nil {
		errs = append(errs, p.store.Close())
	}
	if p.unlock != nil {
		errs = append(errs, p.unlock())
	}
	return errors.Join(errs...)
}

// bridgeConfig is the bridge's configuration: the file's content and the parts of the program that the bridge uses.
func (p *program) bridgeConfig() bridge.Config {
	b := p.cfg.BridgeConfig()
	b.DoorName = p.doors.Name
	for _, a := range p.apps {
		if a.name == "" {
			b.Founder, b.AppChannel, b.Found = a.owned.Founder, a.owned.Channel, a.owned.Found
		} else {
			b.Apps = append(b.Apps, a.owned)
		}
	}
	if len(p.cfg.Access.OwnerIDs) > 0 { // there is a terminal
		b.Operator = operator()
	}
	b.Departments, b.Groups, b.Age = p.doors, p.doors, p.doors.Age
	b.Tools, b.Files, b.Checks, b.Reload = p.tools, p.files, p.checks(), p.requestReload
	b.Version, b.OnTurnEnd, b.WriteRecord = version(), p.metrics.countTurn, appendRecord
	return b
}

// terminalFolder is the folder in the data folder with the socket for terminals.
const terminalFolder = "terminal"

// folderOf is a folder in the data folder: "agents" has the agents' state, "files" the received files.
func folderOf(c config.Config, name string) (string, error) {
	data, err := c.DataFolder()
	if err != nil {
		return "", fmt.Errorf("folder of %s: %w", name, err)
	}
	return filepath.Join(data, name), nil
}

// run runs the program until ctx is done, and then shuts it down. The store and the app's lock are closed last, when no
// agent needs them any more.
func (p *program) run(ctx context.Context) error {
	m := systemd.NewNotifier(
		watchdogProbe(p.store.CheckHealth, !p.cfg.DB.DSN().IsFile()), p.statusLine, p.log)
	g, ctx := errgroup.WithContext(ctx)
	alive, die := context.WithCancel(context.WithoutCancel(ctx))
	var managed sync.WaitGroup
	if place := p.store.Place(); place != nil && !failpoint.Skips("pool: suspended") {
		p.guard.Extend(place.Until())
		managed.Go(func() { p.guard.Run(alive, p.logUnguarded) })
	}
	placed, leave := context.WithCancel(alive) // also while turns end at a shutdown
	defer context.AfterFunc(ctx, p.store.Place().TakeNoMore)()
	g.Go(func() error { defer leave(); return p.bridge.Run(ctx) })
	var in door.Handler = p.bridge
	if p.relay != nil {
		in = p.relay
		g.Go(func() error { p.relay.Run(ctx); return nil })
	}
	if p.api != nil {
		in = p.api.ForPersons(in, p.bridge.Admits)
	}
	g.Go(func() error { return p.doors.Run(ctx, in) })
	g.Go(func() error {
		left := unreadableLog{log: p.log}
		runSweeps(ctx, p.log, func(ctx context.Context) (db.Swept, error) {
			if p.store.Place().Leads() { // it looks through the database of all
				p.metrics.unreadable.Set(float64(left.countUnreadable(ctx, p.store)))
			}
			if err := p.store.Search().Err(); err != nil {
				p.log.Error().Err(err).
					Msg("messages are not found by their words; the index is rebuilt when magpie starts")
			}
			s, err := db.Sweep(ctx, p.store, p.cfg.DB)
			ttl := p.cfg.DB.CacheTTL.Duration
			files, filesErr := p.files.Sweep(ctx, p.store, ttl)
			temporary, temporaryErr := workspace.SweepTemporary(ctx, p.cfg.Claude, time.Now().Add(-ttl))
			sessions, sessionsErr := p.sweepSessions(ctx)
			s.Files = files + temporary + sessions
			return s, errors.Join(err, filesErr, temporaryErr, sessionsErr)
		})
		return nil
	})
	g.Go(func() error { p.store.Guard(ctx, p.logStoreLoss); return nil })
	lost := make(chan error, 1)
	g.Go(func() error {
		err := p.store.Place().Keep(placed, p.suspendAgents, p.placeRenewed)
		if err != nil {
			lost <- err
		}
		return err
	})
	if p.http != nil {
		pages := healthServer(knownHosts(p.cfg.HTTP, p.http.Addr(), p.healthPages()))
		g.Go(func() error { return serveHTTP(ctx, p.http, pages) })
	}
	if p.load != nil {
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		defer signal.Stop(hup)
		g.Go(func() error { p.handleReloads(ctx, hup, m); return nil })
		g.Go(func() error { p.checkAgents(ctx); return nil })
	}
	l := p.pool.Limits()
	p.log.Info().Str("version", version()).
		Int("max_turns", l.Turns).Int("cores", l.Cores).Int("max_processes", l.Processes).
		Int64("free_mb", l.Memory>>20).Stringer("keep_alive", l.Idle).Msg("magpie is running")
	managed.Go(func() { m.Run(alive, ctx.Done()) })
	if p.tools != nil { // until the last agent has ended, not only until ctx is done
		managed.Go(func() {
			if err := p.tools.Serve(alive); err != nil {
				p.log.Error().Err(err).Msg("the tool server has stopped; agents have no tools")
			}
		})
	}
	ended := make(chan error, 1)
	go func() { ended <- g.Wait() }()
	var err error
	select {
	case err = <-ended:
	case err = <-lost: // as by a crash: nothing that it does can be stored any more
	}
	p.pool.Close()
	die()
	managed.Wait()
	err = errors.Join(err, p.store.Close())
	if p.unlock != nil {
		err = errors.Join(err, p.unlock())
	}
	p.log.Info().Err(err).Msg("magpie has stopped")
	return err
}

// checkAgents warns of agents that cannot answer, before somebody asks in vain: they have no login, or the CLI does not
// start with the configuration. It does not know the logins of agents that each have their own, or run as another user.
func (p *program) checkAgents(ctx context.Context) {
	c := p.cfg.Claude
	cli := doctor.CLI{Config: c, Environ: c.Environ}
	if c.User == "" && !c.HasOwnLogins() && !cli.IsLoggedIn(ctx) && ctx.Err() == nil {
		p.log.Warn().Msg("Claude is not logged in, so nobody gets an answer: send the bot /login, or run claude auth login " +
			"as the user running Magpie")
	}
	for _, err := range cli.StartFailures(ctx, p.cfg.BridgeConfig().Projects.Distinct()) {
		p.log.Warn().Err(err).Msg("Claude does not start with this configuration, so nobody gets an answer there")
	}
}

// logStoreLoss logs that the database is lost, or does not answer, and that it is back.
func (p *program) logStoreLoss(err error) {
	switch isFile := p.cfg.DB.DSN().IsFile(); {
	case !isFile && err != nil:
		p.log.Error().Err(err).Msg("the database server does not answer: nothing is stored, and messages are not acknowledged")
		return
	case !isFile:
		p.log.Warn().Msg("the database server answers again: messages are stored and acknowledged")
		return
	case err != nil:
		p.log.Error().Err(err).Msg("the database is lost: nothing is stored, and messages are not acknowledged")
		return
	}
	p.log.Warn().Msg("the files of the database are in place again: messages are stored and acknowledged")
}

// suspendAgents ends all agents when another bridge may take over their chats, and lets them start again when it cannot.
func (p *program) suspendAgents(why error) {
	if why != nil {
		p.log.Error().Err(why).Msg("the place in the database is not renewed, and another bridge may take over: the agents end until it is")
		ctx, cancel := context.WithTimeout(context.Background(), p.store.Place().Left())
		defer cancel()
		p.pool.Suspend(ctx)
		return
	}
	p.log.Warn().Msg("the place in the database is renewed: the agents go on")
	p.pool.Resume()
}

// logUnguarded logs that the process that ends the agents if this one cannot has ended.
func (p *program) logUnguarded(err error) {
	p.log.Error().Err(err).Msg("nothing ends the agents if magpie is killed or stopped; trying again")
}

// firstShare divides the rates of the app for a bridge that joins others, until all know of each other. The platform allows
// a fifth more than what the others then use together.
const firstShare = 5

// placeRenewed lets the agents work on, and divides the rates of the app among the bridges that live. Who comes is told with
// its first renewal, when the others have renewed their places, too; the part of who goes is used after their next renewals.
func (p *program) placeRenewed(bridges int) {
	p.guard.Extend(p.store.Place().Until())
	for _, a := range p.apps {
		a.SetShare(1 / float64(bridges))
	}
}

// snapshot reads the state for the metrics.
func (p *program) snapshot(ctx context.Context) snapshot {
	s := snapshot{
		CLI: p.pool.Stats(), Limits: p.pool.Limits(), Oldest: p.bridge.OldestEvent(), Cluster: p.store.Place().Stats(),
	}
	for _, a := range p.apps {
		s.Apps = append(s.Apps, appStatus{a.owned.Channel, a.Status()})
	}
	backlog, err := p.store.Outbox().Backlog(ctx)
	var age time.Duration
	if queue := p.store.Forwarded(); err == nil && queue != nil {
		s.Forwarded, age, err = queue.Backlog(ctx)
	}
	if err != nil {
		p.log.Error().Err(err).Msg("metrics: the database could not be read")
		return s
	}
	s.Store = &backlog
	if at := time.Now().Add(-age); age > 0 && (s.Oldest.IsZero() || at.Before(s.Oldest)) {
		s.Oldest = at
	}
	return s
}
