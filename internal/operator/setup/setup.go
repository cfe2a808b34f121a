// Package setup is the dialog that sets up a bridge: it checks the CLI, asks for the project folder and the app, writes
// the first configuration, and starts the bridge. The checks are in package doctor, the meaning of keys in package
// config. It does not change existing configurations.
package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"magpie/bridge/workplace"
	"magpie/feishu"
	"magpie/internal/claude"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/doctor"
)

// Options are the operator's choices. Empty ones are asked for, or found out.
type Options struct {
	Config     string // where to write the configuration; empty = an existing one, or else the user's folder for them
	Data       string // folder for the database; empty = the user's folder for data
	Scan       bool   // create an app by scanning a code, without asking how
	AppID      string // of the app to use, if there is one
	SecretFile string // file with the app's secret; - = the standard input
	Platform   string // feishu, lark, or an address; empty = found out
	Project    string // folder in which the agent works
	Claude     string // the Claude Code CLI
	Owner      string // the user who owns the bot; empty = who scans, or else the app's owner
	Start      string // how to start the bridge: ask, service, here, or no
	Replace    bool   // replace an existing configuration, which is kept under another name
	Yes        bool   // ask nothing: use these choices and defaults
	Lang       string // of the dialog: zh, en, or auto for the locale's
	Root       string // folder used as / when the service is written; empty = /
}

// Run asks for what a bridge needs, writes its configuration and starts it; serve runs the bridge with a configuration
// in this terminal. Nothing is written before everything is known. The error is [ErrGivenUp] if the operator has ended
// the dialog, and a [UsageError] if the flags are wrong.
func Run(ctx context.Context, o Options, serve func(ctx context.Context, config string) error) error {
	l := i18n.Lang(o.Lang)
	if o.Lang == "auto" {
		l = i18n.OfLocale(os.Environ())
	}
	if err := o.checkFlags(l, term.IsTerminal(int(os.Stdin.Fd()))); err != nil {
		return err
	}
	if !o.Yes && o.SecretFile == "-" {
		o.SecretFile = "" // the terminal, on which it is asked for without echo
	}
	out := os.Stdout
	// The SDK prints its own messages to the standard output (scene/registration/registration.go).
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout = null
		defer func() { os.Stdout = out; _ = null.Close() }()
	}
	u := &setup{Options: o, dialog: newDialog(l, os.Stdin, out, o.Yes), serve: serve}
	err := u.prepare(ctx)
	os.Stdout = out
	if ctx.Err() != nil || errors.Is(err, ErrGivenUp) {
		u.say(i18n.SetupGivenUp)
		err = ErrGivenUp
	}
	if u.createdApp != "" {
		u.say(i18n.SetupLost, u.createdApp, u.feishu.Console().Credentials())
	}
	if err != nil || !u.written {
		return err
	}
	return u.start(ctx)
}

// setup is the state of the dialog.
type setup struct {
	Options
	*dialog
	serve      func(ctx context.Context, config string) error
	oldConfig  string // new name for the existing configuration; empty = there is none
	lacksCLI   bool
	lacksLogin bool
	agentEnv   map[string]string // what gives agents access to a model, if the CLI's own login does not
	fileSecret string            // what SecretFile holds, which may be a pipe
	project    string
	feishu     feishu.Config
	createdApp string // ID of a created app that is not written anywhere yet
	written    bool
}

// prepare does everything except starting the bridge.
func (u *setup) prepare(ctx context.Context) error {
	if !u.unattended {
		u.say(i18n.SetupWelcome)
	}
	for _, step := range []func(context.Context) error{
		u.chooseConfigFile, u.checkChoices, u.checkCLI, u.chooseProject, u.chooseApp,
	} {
		if err := step(ctx); err != nil {
			return err
		}
		if u.Config == "" {
			u.say(i18n.SetupLeftAlone)
			return nil
		}
	}
	return u.write()
}

// chooseConfigFile returns where to write the configuration, and asks before it replaces an existing one. An empty path
// means that the operator keeps the existing one.
func (u *setup) chooseConfigFile(ctx context.Context) (err error) {
	if u.Config == "" {
		if u.Config = config.Find(); u.Config == "" {
			if u.Config, err = ConfigFile(); err != nil {
				return err
			}
		}
	}
	if u.Config, err = filepath.Abs(u.Config); err != nil {
		return err
	}
	if u.Data == "" {
		if u.Data, err = DataDir(); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(u.Config); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	// The old file is never deleted, only renamed.
	u.oldConfig = freeName(u.Config)
	if u.Replace {
		return nil
	}
	// Nothing is replaced without a question or an explicit flag.
	if u.Yes {
		return usageError(u.lang, i18n.SetupNeedsReplace, u.Config, u.oldConfig)
	}
	u.say(i18n.SetupExists, u.Config)
	if yes, err := u.confirm(ctx, i18n.SetupKeepOld, false); err != nil || yes {
		return err
	}
	u.Config = ""
	return nil
}

// ConfigFile is where a first configuration is written: in the user's folder for them.
func ConfigFile() (string, error) {
	dir, err := os.UserConfigDir()
	return filepath.Join(dir, "magpie", "magpie.toml"), err
}

// DataDir is the user's folder for data (XDG Base Directory Specification).
func DataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "magpie"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "magpie"), err
}

// freeName returns a name in the folder of path that is not in use.
func freeName(path string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.%d", path, n)
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name
		}
	}
}

// checkChoices reports what is wrong with what the flags name, before any step is taken.
func (u *setup) checkChoices(context.Context) (err error) {
	if u.Config == "" {
		return nil // the existing configuration is kept
	}
	if u.Project != "" {
		if why := u.projectProblem(config.ExpandHome(u.Project)); why != "" {
			return &UsageError{errors.New(why)}
		}
	}
	if u.SecretFile != "" {
		u.fileSecret, err = readSecret(u.SecretFile, u.lines, u.lang)
	}
	return err
}

// checkCLI reports whether the CLI is installed and logged in, and what to do otherwise. Setup continues in any case:
// the CLI can be installed later.
func (u *setup) checkCLI(ctx context.Context) error {
	u.say(i18n.SetupCLIHead)
	r := u.report()
	c := config.Defaults().Claude
	c.Command = u.Claude
	cli := doctor.CLI{Config: c, Environ: os.Environ(), NoConfig: true}
	if found, err := u.findCLI(ctx, cli, r); err != nil || !found {
		u.lacksCLI = !found
		return err
	}
	path, ok := cli.Check(ctx, r)
	if u.lacksLogin = path != "" && !ok; !u.lacksLogin || u.unattended {
		return ctx.Err()
	}
	return u.logIn(ctx, cli, r)
}

// findCLI looks for the CLI, as often as the operator wants after having installed it.
func (u *setup) findCLI(ctx context.Context, cli doctor.CLI, r *doctor.Report) (found bool, err error) {
	for {
		if _, err := exec.LookPath(u.Claude); err == nil {
			return true, nil
		}
		cli.AddMissing(r)
		if again, err := u.confirm(ctx, i18n.SetupLookAgain, !u.unattended); err != nil {
			return false, err
		} else if !again {
			u.say(i18n.SetupWithoutCLI)
			return false, nil
		}
	}
}

// logIn gives the CLI access to a model, as often as the operator wants to try: by its own login on this terminal, by a
// key, or by the address and the key of a gateway, which are written to the configuration.
func (u *setup) logIn(ctx context.Context, cli doctor.CLI, r *doctor.Report) error {
	for {
		way, err := u.pick(ctx, i18n.SetupLogInHow, i18n.SetupLogIn, i18n.SetupAPIKey, i18n.SetupOwnAddress, i18n.SetupLogInLater)
		if err != nil || way == 3 {
			return err
		}
		u.agentEnv = nil
		switch way {
		case 0:
			if err := cli.LogIn(ctx, u.in, u.out); err != nil && ctx.Err() == nil {
				u.say(i18n.SetupLogInFailed, err)
			}
		case 1:
			u.agentEnv, err = u.askKey(ctx, "ANTHROPIC_API_KEY")
		case 2:
			u.agentEnv, err = u.askAddress(ctx)
		}
		if err != nil {
			return err
		}
		cli.Config.Env = u.agentEnv
		u.lacksLogin = !cli.CheckLogin(ctx, r)
		if !u.lacksLogin || ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// askKey asks for a key, which is the value of a variable of the CLI.
func (d *dialog) askKey(ctx context.Context, variable string) (map[string]string, error) {
	key, err := d.secret(ctx, i18n.SetupKeyAsk)
	if err != nil || key == "" {
		return nil, err
	}
	return map[string]string{variable: key}, nil
}

// askAddress asks for the address of a gateway to a model, and for its key.
func (d *dialog) askAddress(ctx context.Context) (map[string]string, error) {
	for {
		address, err := d.prompt(ctx, i18n.SetupAddressAsk, "")
		if err != nil {
			return nil, err
		}
		if at, err := url.Parse(address); err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" {
			d.say(i18n.SetupNoAddress, address)
			continue
		}
		env, err := d.askKey(ctx, "ANTHROPIC_AUTH_TOKEN")
		if env != nil {
			env["ANTHROPIC_BASE_URL"] = address
		}
		return env, err
	}
}

// report returns a report that prints each finding.
func (u *setup) report() *doctor.Report {
	return &doctor.Report{Lang: u.lang, OnFinding: func(f doctor.Finding) { u.print("   " + f.String() + "\n") }}
}

// chooseProject asks for the folder until there is a usable one.
func (u *setup) chooseProject(ctx context.Context) error {
	u.say(i18n.SetupProjectHead)
	home, _ := os.UserHomeDir() // without one, no folder is a home folder
	proposed := u.Project
	if proposed == "" {
		proposed = proposedProject(home, u.projectProblem)
	}
	for {
		answer := proposed
		if u.Project == "" {
			var err error
			if answer, err = u.prompt(ctx, i18n.SetupProjectAsk, proposed); err != nil {
				return err
			}
		}
		answer = config.ExpandHome(answer)
		why := u.projectProblem(answer)
		if why == "" {
			u.project = filepath.Clean(answer)
			if _, err := os.Stat(u.project); errors.Is(err, os.ErrNotExist) {
				u.say(i18n.SetupProjectMake, u.project)
			}
			return nil
		}
		if u.unattended || u.Project != "" {
			return &UsageError{errors.New(why)}
		}
		u.print(why + "\n")
	}
}

// proposedProject is the working folder if usable, otherwise one in the home folder.
func proposedProject(home string, problem func(string) string) string {
	if wd, err := os.Getwd(); err == nil && problem(wd) == "" {
		return wd
	}
	return filepath.Join(home, "magpie")
}

// projectProblem says why an agent should not work in a folder; empty = it may.
func (u *setup) projectProblem(folder string) string {
	if !filepath.IsAbs(folder) {
		return i18n.SetupProjectRelative.Sprintf(u.lang, folder)
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return i18n.SetupProjectNoFolder.Sprintf(u.lang, folder)
	}
	c := claude.Config{Environ: os.Environ()}
	guard := workplace.Guard{Homes: c.Homes(), Data: u.Data, Files: []string{u.Config}}
	if guard.CheckDir(folder) != nil {
		return i18n.SetupProjectNotThis.Sprintf(u.lang, folder)
	}
	return ""
}

// readSecret reads the secret's file.
func readSecret(file string, input io.Reader, l i18n.Lang) (string, error) {
	read := func() ([]byte, error) { return os.ReadFile(config.ExpandHome(file)) }
	if file == "-" {
		read = func() ([]byte, error) { return io.ReadAll(io.LimitReader(input, 4<<10)) }
	}
	data, err := read()
	if err != nil {
		return "", usageError(l, i18n.SetupNoSecretFile, err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return "", usageError(l, i18n.SetupNeedsSecret, file)
	}
	return secret, nil
}
