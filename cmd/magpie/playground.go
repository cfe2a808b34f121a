package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"magpie/bridge"
	"magpie/internal/console"
	"magpie/internal/feishusim"
	"magpie/internal/i18n"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
	"magpie/internal/operator/doctor"
)

// playgroundCmd needs neither an account nor a configuration: it has its own folder.
type playgroundCmd struct {
	Listen  string `help:"Address of the page." default:"127.0.0.1:7777"`
	Agent   string `help:"simulated: the CLI with a simulated model, which costs nothing. claude: the CLI with your own login." enum:"simulated,claude" default:"simulated"`
	Command string `help:"The Claude Code CLI." default:"claude" env:"MAGPIE_CLAUDE_COMMAND"`
	Data    string `help:"Folder for the chats, the memories and the sample project. Default: in the user's cache folder." type:"path" placeholder:"FOLDER"`
	Fresh   bool   `help:"Delete what was kept and start over."`
	// the pause between two pieces of a simulated answer, so that a user sees it grow
	Pace time.Duration `hidden:"" default:"40ms"`
	// the same for a story, which tests interrupt; 0 = Pace
	Story time.Duration `hidden:""`
}

// simulatedAgent is the value of [playgroundCmd.Agent] for the simulated model.
const simulatedAgent = "simulated"

// saves is the minimum interval at which the chats are saved.
const saves = 2 * time.Second

// Run serves the playground until ctx is done. The doubles of the platform and the model and the page are in this
// process; the bridge is a separate process, which visitors can kill.
func (p playgroundCmd) Run(ctx context.Context) (err error) {
	environ := environWithoutConfig(os.Environ())
	ln, command, err := p.begin(ctx, environ)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	defer ln.Close() //nolint:errcheck // the server has closed it unless it never began
	dir, release, err := p.prepareFolder()
	if err != nil {
		return i18n.Mistakef("--data：%v", "--data: %v", err)
	}
	defer release()
	chats := filepath.Join(dir, "feishu")
	// On a visitor's busy machine an acknowledgement may take longer than the 3 s of the public platform, which breaks no rule.
	sim, err := feishusim.Start(feishusim.Config{Folder: chats, Redeliver: redeliver, AckTimeout: 20 * time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, sim.Close(), sim.Save(chats)) }()
	var page *console.Playground
	simulated := p.Agent == simulatedAgent
	if simulated {
		model, err := modelsim.Start(modelsim.Config{
			Pace: p.Pace, Story: p.Story, Demo: true,
			Observe: func(r *modelsim.Request) { page.RecordRequest(r.LastUser(), sentOf(r)) },
		})
		if err != nil {
			return err
		}
		defer func() { _ = model.Close() }() // it is only in memory
		if environ, err = simulatedEnviron(dir, model.URL(), environ); err != nil {
			return err
		}
	}
	bp := &bridgeProcess{
		config: filepath.Join(dir, "magpie.toml"), environ: environ, simulated: simulated,
	}
	page = console.NewPlayground(console.PlaygroundConfig{
		Sim: sim, Simulated: simulated, Commands: allCommands(),
		LoseSession: func(ctx context.Context, chatID string) (string, error) {
			session, err := bp.loseSession(ctx, chatID)
			return session, complained(err)
		},
		Kill: func() error { return complained(bp.kill()) }, FillDisk: bp.fillDisk(),
	})
	bp.page, bp.lost = page, make(chan loseReply, 1)
	bp.configure = func() error { return bp.writeConfig(command, dir, sim) }
	fmt.Println(i18n.CmdPlayground.Sprintf(userLang(), ln.Addr()))
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return serveHTTP(ctx, ln, &http.Server{Handler: page}) })
	g.Go(func() error { return bp.run(ctx) })
	g.Go(func() error { return saveChats(ctx, sim, chats) })
	return g.Wait()
}

// complained prints why a visitor could not break something, which the page does not say.
func complained(err error) error {
	if err != nil && !errors.Is(err, console.ErrNoBridge) {
		fmt.Fprintf(os.Stderr, "magpie: %s\n", errorText(err))
	}
	return err
}

// begin looks whether there is all that a playground needs: it listens, and returns the path of the CLI.
func (p playgroundCmd) begin(ctx context.Context, environ []string) (ln net.Listener, command string, err error) {
	if !canPlay {
		return nil, "", i18n.Mistakef("演练场需要 Linux 或 macOS；在 Windows 上请在 WSL 里运行",
			"the playground needs Linux or macOS; on Windows, run it in WSL")
	}
	switch addr, err := net.ResolveTCPAddr("tcp", p.Listen); {
	case err != nil:
		return nil, "", wrongUsage(i18n.Mistakef("--listen %s：应为本机的地址和端口，例如 127.0.0.1:7811",
			"--listen %s: must be a local address with a port, such as 127.0.0.1:7811", p.Listen))
	case !addr.IP.IsLoopback():
		return nil, "", wrongUsage(i18n.Mistakef(
			"--listen：谁打开演练场，谁就能在这台电脑上执行命令，所以只能用本机地址：--listen 127.0.0.1:%d",
			"--listen: whoever opens the playground can run commands on this machine, so it takes local addresses only: "+
				"--listen 127.0.0.1:%d", addr.Port))
	}
	if command, err = p.findCLI(ctx, environ); err != nil {
		return nil, "", err
	}
	if ln, err = net.Listen("tcp", p.Listen); err != nil {
		return nil, "", i18n.Mistakef("--listen：%v", "--listen: %v", doctor.ExplainListen(err, p.Listen, "--listen"))
	}
	return ln, command, nil
}

// redeliver has shorter intervals than the platform: nobody watches a page for minutes to see a message come back.
var redeliver = []time.Duration{3 * time.Second, 10 * time.Second, 30 * time.Second, 5 * time.Minute, time.Hour}

// saveChats saves the chats whenever they have changed.
func saveChats(ctx context.Context, sim *feishusim.Server, folder string) error {
	for range sim.Changes(ctx) {
		select {
		case <-time.After(saves):
		case <-ctx.Done():
			return nil // it is saved once more at the end
		}
		if err := sim.Save(folder); err != nil {
			return fmt.Errorf("keep the chats: %w", err)
		}
	}
	return nil
}

//go:embed sample
var sampleProject embed.FS

// playgroundParts are all files that a playground creates in its folder.
var playgroundParts = []string{"data", "feishu", "home", "magpie.toml", "project"}

// prepareFolder creates the playground's folder, for one playground at a time, with a sample project for the agent.
func (p playgroundCmd) prepareFolder() (dir string, release func(), err error) {
	dir = p.Data
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return "", nil, err
		}
		dir = filepath.Join(cache, "magpie", "playground")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, err
	}
	if err := checkOwnFolder(dir); err != nil {
		return "", nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, playgroundLock), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return "", nil, err
	}
	release = func() { _ = lock.Close() } // this releases the lock
	if err := lockFile(lock); err != nil {
		release()
		return "", nil, i18n.Mistakef("另一个演练场正在使用 %s：停掉它，或换一个文件夹",
			"another playground is using %s: stop it, or choose another folder", dir)
	}
	if p.Fresh {
		for _, part := range playgroundParts {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, part)))
		}
	}
	if err = errors.Join(err, makeSample(filepath.Join(dir, "project"))); err != nil {
		release()
		return "", nil, err
	}
	return dir, release, nil
}

// playgroundLock is a file that only playgrounds create in their folder, before all others.
const playgroundLock = "lock"

// checkOwnFolder refuses a folder with files of somebody else where a playground would write or remove its own.
func checkOwnFolder(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, playgroundLock)); err == nil {
		return nil
	}
	for _, part := range playgroundParts {
		path := filepath.Join(dir, part)
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return i18n.Mistakef("%s 不是演练场创建的，会被覆盖：给 --data 换一个空文件夹",
				"%s was not created by the playground and would be overwritten: choose an empty folder for --data", path)
		}
	}
	return nil
}

// makeSample creates the sample project with its failing test; an existing one stays as it is.
func makeSample(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files, err := fs.Sub(sampleProject, "sample")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}

// environWithoutConfig is the environment without the configuration of bridges: a playground must never reach a real
// app.
func environWithoutConfig(environ []string) []string {
	return slices.DeleteFunc(
		slices.Clone(environ), func(kv string) bool { return strings.HasPrefix(kv, config.EnvPrefix) },
	)
}

// simulatedEnviron gives the CLI its own home, and the simulated model instead of the real one.
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
		if name, _, _ := strings.Cut(kv, "="); slices.Contains([]string{"PATH", "LANG", "TERM", "TZ", "TMPDIR"}, name) {
			list = append(list, kv)
		}
	}
	return list, nil
}

// Limits of the requests that the page shows.
const (
	maxSentMessages = 24
	longestSent     = 500 // runes of a message
)

// sentOf converts a request to the model for the page.
func sentOf(r *modelsim.Request) console.Sent {
	s := console.Sent{Requests: 1, System: utf8.RuneCountInString(r.System), Tools: len(r.Tools)}
	prompt, at := r.LastUser(), -1 // the same prompt may have been sent before
	for i, m := range r.Messages {
		if prompt != "" && m.Person() == prompt {
			at = i
		}
	}
	s.Left = max(0, len(r.Messages)-maxSentMessages)
	for i, m := range r.Messages[s.Left:] {
		one := console.SentMessage{Role: m.Role, Prompt: s.Left+i == at}
		if text := []rune(cmp.Or(m.Person(), strings.TrimSpace(m.Text))); !one.Prompt {
			one.Text = string(text[:min(len(text), longestSent)])
		}
		s.Messages = append(s.Messages, one)
	}
	return s
}

func allCommands() (list []console.Command) {
	for name, about := range bridge.Commands() {
		list = append(list, console.Command{Name: name, ZH: about.ZH, EN: about.EN})
	}
	return list
}

// panelOf converts a context for the page.
func panelOf(b bridge.BuiltContext) console.Turn {
	st := b.Prompt.Stats
	t := console.Turn{
		ChatID: b.Key.ID, Turn: b.Turn, At: time.Now(), Live: b.Live, Lost: string(b.Lost), Question: b.Prompt.Current,
		Messages: st.Messages, UserMessages: st.UserMessages, Chars: st.Chars, Tokens: st.Tokens,
	}
	if b.Prompt.UseResume {
		t.Resume = b.Prompt.ResumeID
	}
	t.Prefix = strings.TrimSuffix(b.Prompt.Text(), b.Prompt.Current)
	return t
}
