package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"magpie/bridge"
	"magpie/bridge/access"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/config"
	"magpie/internal/console"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// playgroundCmd needs neither an account nor a configuration; everything lives in a temporary folder.
type playgroundCmd struct {
	Listen  string `help:"Address of the page." default:"127.0.0.1:7777"`
	Agent   string `help:"claude: the CLI with its own login. simulated: the CLI with a double of the model. auto: simulated when the CLI is not logged in." enum:"auto,claude,simulated" default:"auto"`
	Command string `help:"The CLI." default:"claude" env:"MAGPIE_CLAUDE_COMMAND"`
}

// pace is the pause between two pieces of a simulated answer, so that a person sees it grow.
const pace = 40 * time.Millisecond

// Run serves the playground until ctx is done. It keeps nothing.
func (p playgroundCmd) Run(ctx context.Context) (err error) {
	ln, err := net.Listen("tcp", p.Listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", explainListen(err, p.Listen, "--listen"))
	}
	defer ln.Close() //nolint:errcheck // the server has closed it unless it never began
	dir, err := os.MkdirTemp("", "magpie-playground-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sim, err := feishusim.Start(feishusim.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sim.Close()) }()
	c, err := p.config(dir, sim)
	if err != nil {
		return err
	}
	if p.simulated(ctx) {
		model, err := modelsim.Start(modelsim.Config{Pace: pace})
		if err != nil {
			return err
		}
		defer func() { _ = model.Close() }() // it is only in memory
		if c.Claude.Environ, err = simulatedEnviron(dir, model.URL(), os.Environ()); err != nil {
			return err
		}
		p.Agent = "simulated"
	}
	var page *console.Playground
	log := newLog(os.Stderr, c.Log).Level(c.Log.ZerologLevel())
	prog, err := newProgram(ctx, c, log, func(b bridge.Built) { page.Record(panelOf(b)) })
	if err != nil {
		return err
	}
	page = console.NewPlayground(console.PlaygroundConfig{
		Sim: sim, Simulated: p.Agent == "simulated", LoseSession: prog.loseSession,
	})
	fmt.Printf("鹊桥 Magpie playground: http://%s/\n", ln.Addr())
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHTTP(ctx, ln, page) })
	g.Go(func() error { return prog.run(ctx) })
	return g.Wait()
}

// config is that of a service that talks to the double and keeps everything in dir.
func (p playgroundCmd) config(dir string, sim *feishusim.Server) (c config.Config, err error) {
	c = config.Defaults()
	c.Feishu.AppID, c.Feishu.AppSecret, c.Feishu.BaseURL = sim.AppID(), sim.AppSecret(), sim.URL()
	// Everybody may talk to the bot: the users of the page are all simulated.
	c.Access = access.Config{Allow: []string{"*"}}
	c.DB.URL = "sqlite://" + filepath.Join(dir, "data", "magpie.db")
	c.Log = config.Log{Level: "warn", Format: "console"}
	c.Claude.Command = p.Command
	c.Claude.Project = filepath.Join(dir, "project")
	c.Claude.Environ = os.Environ()
	if err := os.MkdirAll(c.Claude.Project, 0o700); err != nil {
		return c, err
	}
	if err := c.Validate(); err != nil {
		return c, &config.Error{Err: err}
	}
	c.Claude, err = c.Claude.Resolve()
	return c, err
}

// simulated decides whether the CLI talks to the simulated model.
func (p playgroundCmd) simulated(ctx context.Context) bool {
	if p.Agent != "auto" {
		return p.Agent == "simulated"
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, p.Command, "auth", "status").Run() != nil
}

// simulatedEnviron gives the CLI a home of its own, and the simulated model instead of the real one.
func simulatedEnviron(dir, url string, environ []string) ([]string, error) {
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return nil, err
	}
	list := []string{
		"HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"),
		"ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=sk-simulated",
	}
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains([]string{"PATH", "LANG", "TERM", "TZ"}, name) {
			list = append(list, kv)
		}
	}
	return list, nil
}

// loseSession ends the chat's process and deletes its transcript, as a crash and a cleaned disk would.
func (p *program) loseSession(ctx context.Context, chatID string) (string, error) {
	key := chat.FeishuChat(chatID)
	ch, err := p.store.Chats().Get(ctx, key)
	if errors.Is(err, db.ErrNotFound) || err == nil && ch.Session.ID == "" {
		return "这个聊天还没有会话。/ This chat has no session yet.", nil
	} else if err != nil {
		return "", err
	}
	// The process first: it would write the transcript again.
	p.pool.Drop(key.String())
	path, err := p.pool.Config().Transcripts(ch.Key.String()).Path(ch.Session.Cwd, ch.Session.ID)
	if err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	return fmt.Sprintf("已删除会话 %s。再问一句试试。/ Session deleted; now ask something.", ch.Session.ID), nil
}

// panelOf is what the page shows of a context.
func panelOf(b bridge.Built) console.Turn {
	st := b.Prompt.Stats
	t := console.Turn{
		ChatID: b.Key.ID, Turn: b.Turn, At: time.Now(), Live: b.Live, Lost: string(b.Lost), Question: b.Prompt.Current,
		Messages: st.Messages, UserMessages: st.UserMessages, Chars: st.Chars, Tokens: st.Tokens,
		BuildTime: st.BuildTime,
	}
	if b.Prompt.UseResume {
		t.Resume = b.Prompt.ResumeID
	}
	t.Prefix = strings.TrimSuffix(b.Prompt.Text(), b.Prompt.Current)
	return t
}
