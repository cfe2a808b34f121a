package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"magpie/bridge"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude/proctree"
	"magpie/internal/console"
	"magpie/internal/feishusim"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// playgroundBridgeCmd is the bridge of a playground: what magpie serve runs, in a process that the playground starts,
// kills and restarts. It reports the page's data to the playground, and takes orders from it for what only the bridge
// can do.
type playgroundBridgeCmd struct {
	Config    string `required:"" type:"path" help:"The configuration file."`
	Simulated bool   `help:"The model is simulated: nothing is charged."`
	Lang      string `help:"The language of the owner, as far as it is known."`
}

// reportsFD is the file descriptor for the bridge's reports; libraries sometimes write to its output.
const reportsFD = 3

// bridgeReport is a line from the bridge to the playground. Exactly one field is set.
type bridgeReport struct {
	Turn *builtTurn `json:"turn,omitempty"`
	Lost *loseReply `json:"lost,omitempty"`
}

type builtTurn struct {
	ChatID string `json:"chat"`
	console.Turn
}

// loseReply is the reply to an order.
type loseReply struct {
	Session string `json:"session"` // the lost session; empty = the chat had none
	Error   string `json:"error"`
}

// loseOrder is a line from the playground to the bridge: lose the session of a chat.
type loseOrder struct {
	ChatID string `json:"lose"`
}

// Run runs the bridge until ctx is done or the playground ends.
func (p playgroundBridgeCmd) Run(ctx context.Context) error {
	defer muteLibraries()()
	environ, err := config.TakeEnviron()
	if err != nil {
		return err
	}
	c, err := config.Load(p.Config, environ)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	closeOnExec(reportsFD) // otherwise an agent that outlives a killed bridge would keep it open
	out := json.NewEncoder(os.NewFile(reportsFD, "reports"))
	tell := func(r bridgeReport) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(r) // the reader has gone, and so has the input
	}
	i18n.SimulateCosts(p.Simulated)
	log := newLog(os.Stderr, c.Log).Level(c.Log.ZerologLevel())
	prog, err := newProgram(ctx, c, log, func(bc *bridge.Config) {
		bc.OwnerLang, bc.NewLang = p.Lang, p.Lang
		bc.Observe = func(b bridge.BuiltContext) { tell(bridgeReport{Turn: &builtTurn{b.Key.ID, panelOf(b)}}) }
	})
	if err != nil {
		return unlessStopped(ctx, err)
	}
	stopAdopting, err := proctree.AdoptOrphans()
	if err == nil {
		defer stopAdopting()
	}
	ctx, stop := context.WithCancel(ctx)
	go func() { // until the playground ends, and this process with it
		defer stop()
		for in := json.NewDecoder(os.Stdin); ; {
			var order loseOrder
			if in.Decode(&order) != nil {
				return
			}
			session, err := prog.loseSession(ctx, order.ChatID)
			answer := loseReply{Session: session}
			if err != nil {
				answer.Error = err.Error()
			}
			tell(bridgeReport{Lost: &answer})
		}
	}()
	return prog.run(ctx)
}

// loseSession ends the chat's process and deletes its transcript, as a crash and a cleaned disk would. It returns the
// session's ID; empty = there is none.
func (p *program) loseSession(ctx context.Context, chatID string) (session string, err error) {
	key := chat.FeishuChat(chatID)
	// The process first: it would write the transcript again. A turn that is about to end has no session until then.
	waiting, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	owner := key.String()
	for <-p.pool.Drop(owner); p.pool.Holds(owner) && waiting.Err() == nil; <-p.pool.Drop(owner) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-waiting.Done(): // it is in a longer answer, and loses its past
		}
	}
	ch, err := p.store.Chats().Get(ctx, key)
	if errors.Is(err, db.ErrNotFound) || err == nil && ch.Session.ID == "" {
		return "", nil
	} else if err != nil {
		return "", err
	}
	path, err := p.pool.Config().Transcripts(ch.Key.String()).Path(ch.Session.Cwd, ch.Session.ID)
	if err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return ch.Session.ID, nil
}

// bridgeProcess keeps the bridge's process running, and lets visitors kill it.
type bridgeProcess struct {
	config    string
	environ   []string
	simulated bool   // the model is a double
	lang      string // of the first visitor's page
	page      *console.Playground
	configure func() error // writes the configuration once lang is known

	mu     sync.Mutex
	cmd    *exec.Cmd      // the running process; nil = none
	in     io.WriteCloser // its input
	kills  int
	killed bool // the running one was killed
	full   bool // its disk is full

	asking sync.Mutex // one order at a time
	lost   chan loseReply
}

// mourning is how long the bridge stays dead, so that a visitor notices.
const mourning = 1500 * time.Millisecond

// writeConfig writes the configuration of a bridge that uses the double and keeps everything in dir.
func (b *bridgeProcess) writeConfig(command, dir string, sim *feishusim.Server) error {
	var s strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&s, format+"\n", args...) }
	line("shutdown_timeout = \"4s\"")
	line("[feishu]\napp_id = %s\napp_secret = %s\nbase_url = %s",
		tomlString(sim.AppID()), tomlString(sim.AppSecret()), tomlString(sim.URL()))
	var allowed []string
	for _, u := range console.Colleagues(sim.Users()) {
		allowed = append(allowed, tomlString(u.OpenID))
	}
	line("[access]\nallow = [%s]\nunauthorized_reply = %s", strings.Join(allowed, ", "),
		tomlString(i18n.CmdStranger.In(i18n.Lang(b.lang))))
	line("[db]\nurl = %s", tomlString("sqlite://"+filepath.Join(dir, "data", "magpie.db")))
	line("[log]\nlevel = \"warn\"\nformat = \"console\"")
	line("[claude]\ncommand = %s\nproject = %s", tomlString(command), tomlString(filepath.Join(dir, "project")))
	line("suggestions = %v", b.simulated) // they cost as much as answers
	return os.WriteFile(b.config, []byte(s.String()), 0o600)
}

// tomlString quotes a string in a form that is valid in TOML and JSON.
func tomlString(s string) string {
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(data)
}

// run starts the bridge at the first visit to the page, since it greets in the page's language, and restarts it after
// each kill, until ctx is done.
func (b *bridgeProcess) run(ctx context.Context) (err error) {
	if b.lang, err = b.page.FirstVisit(ctx); err != nil {
		return nil //nolint:nilerr // nobody came
	}
	if err := b.configure(); err != nil {
		return err
	}
	for {
		err := b.runOnce(ctx)
		if ctx.Err() != nil {
			return nil
		}
		b.mu.Lock()
		killed, kills := b.killed, b.kills
		b.mu.Unlock()
		if !killed {
			return fmt.Errorf("the bridge has ended: %w", err)
		}
		b.page.SetBridge(console.Bridge{State: "killed", Kills: kills})
		select {
		case <-time.After(mourning):
		case <-ctx.Done():
			return nil
		}
	}
}

// runOnce runs one process to its end.
func (b *bridgeProcess) runOnce(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "playground-bridge", "--config", b.config, "--lang", b.lang,
		fmt.Sprintf("--simulated=%t", b.simulated))
	reports, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reports.Close() //nolint:errcheck // it was only read
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = b.environ, os.Stderr, os.Stderr, []*os.File{theirs}
	leaveTerminal(cmd) // Ctrl-C is for the playground, which stops the bridge in an orderly way
	cmd.WaitDelay = 30 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	err = cmd.Start()
	_ = theirs.Close() // the bridge has it
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.cmd, b.in, b.killed = cmd, in, false
	kills, full := b.kills, b.full
	b.mu.Unlock()
	if full {
		_ = limitDisk(cmd.Process.Pid, true) // it worked for the previous one
	}
	b.page.SetBridge(console.Bridge{PID: cmd.Process.Pid, State: "running", Kills: kills})
	b.readReports(reports)
	err = cmd.Wait()
	b.mu.Lock()
	b.cmd = nil
	b.mu.Unlock()
	return err
}

// readReports reads the bridge's reports until it ends.
func (b *bridgeProcess) readReports(reports io.Reader) {
	for in := json.NewDecoder(reports); ; {
		var r bridgeReport
		switch err := in.Decode(&r); {
		case err != nil:
			return
		case r.Turn != nil:
			turn := r.Turn.Turn
			turn.ChatID = r.Turn.ChatID
			b.page.Record(turn)
		case r.Lost != nil:
			b.lost <- *r.Lost
		}
	}
}

// loseSession tells the bridge to lose the session of a chat.
func (b *bridgeProcess) loseSession(ctx context.Context, chatID string) (session string, err error) {
	b.asking.Lock()
	defer b.asking.Unlock()
	b.mu.Lock()
	in := b.in
	running := b.cmd != nil
	b.mu.Unlock()
	if !running {
		return "", console.ErrNoBridge
	}
	select { // the reply to a caller that did not wait
	case <-b.lost:
	default:
	}
	if err := json.NewEncoder(in).Encode(loseOrder{chatID}); err != nil {
		return "", console.ErrNoBridge
	}
	select {
	case l := <-b.lost:
		if l.Error != "" {
			return "", errors.New(l.Error)
		}
		return l.Session, nil
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// kill kills the bridge as kill -9 does. Its children are left behind: the next bridge cleans up.
func (b *bridgeProcess) kill() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cmd == nil || b.killed {
		return console.ErrNoBridge
	}
	b.killed = true
	b.kills++
	return b.cmd.Process.Kill()
}

// fillDisk returns a function that fills the disk for the bridge; nil = not possible on this system.
func (b *bridgeProcess) fillDisk() func(full bool) error {
	if !canLimitDisk {
		return nil
	}
	return func(full bool) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.full = full
		if b.cmd == nil {
			return nil // applied to the next process
		}
		return complained(limitDisk(b.cmd.Process.Pid, full))
	}
}
