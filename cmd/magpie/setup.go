package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"magpie/bridge"
	"magpie/feishu"
	"magpie/internal/claude"
)

type setupCmd struct {
	Config  string `help:"Where to write the configuration. Default: the one that is there, else the user's configuration folder." type:"path" placeholder:"magpie.toml"`
	Data    string `help:"Folder for the database. Default: the user's data folder." type:"path" placeholder:"FOLDER"`
	Scan    bool   `help:"Create an app by scanning a code, without asking how."`
	AppID   string `name:"app-id" help:"The app to use, when there is one." placeholder:"cli_..."`
	Secret  string `name:"app-secret-file" help:"File with the app's secret; - reads it from the standard input." placeholder:"FILE"`
	Host    string `name:"platform" help:"feishu, lark, or an address. Default: found out." env:"MAGPIE_FEISHU_BASE_URL" placeholder:"PLATFORM"`
	Project string `help:"Folder in which the agent works." placeholder:"FOLDER"`
	Claude  string `help:"The Claude Code CLI." default:"claude" env:"MAGPIE_CLAUDE_COMMAND"`
	Owner   string `help:"User to whom the bot belongs. Default: who scans, else the app's owner." placeholder:"ou_..."`
	Start   string `help:"How the bridge is started: service (systemd), here (in this terminal), or no." enum:"ask,service,here,no" default:"ask"`
	Replace bool   `help:"Replace a configuration that is there; it is kept under another name."`
	Yes     bool   `help:"Ask nothing: take flags and defaults."`
	Lang    string `help:"Language of the dialog: zh, en, or auto for the locale's." enum:"auto,zh,en" default:"auto"`
	Root    string `help:"Folder that stands for / when the service is written." hidden:"" type:"path"`
}

// Run asks for what a bridge needs, writes its configuration and starts it. Nothing is written before everything is
// known.
func (s setupCmd) Run(ctx context.Context) error {
	l := lang(s.Lang)
	if s.Lang == "auto" {
		l = langOf(os.Environ())
	}
	if !s.Yes && !term.IsTerminal(int(os.Stdin.Fd())) {
		return &configError{errors.New(l.say(setupTexts.NeedsTerminal))}
	}
	out := os.Stdout
	// The SDK prints to the standard output what nobody has asked for (scene/registration/registration.go).
	if null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0); err == nil {
		os.Stdout = null
		defer func() { os.Stdout = out; _ = null.Close() }()
	}
	u := &setup{setupCmd: s, dialog: newDialog(l, os.Stdin, out, s.Yes)}
	err := u.prepare(ctx)
	os.Stdout = out
	if ctx.Err() != nil || errors.Is(err, errGivenUp) {
		u.say(setupTexts.GivenUp)
		err = errGivenUp
	}
	if u.made != "" {
		u.say(setupTexts.Lost, u.made, u.feishu.Console().Credentials())
	}
	if err != nil || !u.written {
		return err
	}
	return u.start(ctx)
}

// setup is what is known so far.
type setup struct {
	setupCmd
	*dialog
	replaces string // the old configuration, to be kept under this name
	project  string
	feishu   feishu.Config
	made     string // id of an app that was created, as long as it is written nowhere
	written  bool
}

// prepare does all but starting.
func (u *setup) prepare(ctx context.Context) error {
	u.say(setupTexts.Welcome)
	for _, step := range []func(context.Context) error{u.place, u.lookAtCLI, u.chooseProject, u.chooseApp} {
		if err := step(ctx); err != nil {
			return err
		}
		if u.Config == "" {
			u.say(setupTexts.LeftAlone)
			return nil
		}
	}
	return u.write()
}

// place finds where the configuration goes, and asks before another one is replaced. An empty place means: leave it.
func (u *setup) place(ctx context.Context) (err error) {
	if u.Config == "" {
		if u.Config = findConfig(); u.Config == "" {
			dir, err := os.UserConfigDir()
			if err != nil {
				return err
			}
			u.Config = filepath.Join(dir, "magpie", "magpie.toml")
		}
	}
	if u.Config, err = filepath.Abs(u.Config); err != nil {
		return err
	}
	if u.Data == "" {
		if u.Data, err = dataDir(); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(u.Config); errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	u.replaces = spare(u.Config)
	if u.Replace {
		return nil
	}
	if u.Yes {
		return &configError{errors.New(u.lang.say(setupTexts.NeedsReplace, u.Config, u.replaces))}
	}
	u.say(setupTexts.Exists, u.Config)
	if yes, err := u.confirm(ctx, setupTexts.KeepOld, false); err != nil || yes {
		return err
	}
	u.Config = ""
	return nil
}

// dataDir is the user's folder for data (XDG Base Directory Specification).
func dataDir() (string, error) {
	if dir := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "magpie"), nil
	}
	home, err := os.UserHomeDir()
	return filepath.Join(home, ".local", "share", "magpie"), err
}

// spare is a name beside path that is free.
func spare(path string) string {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s.%d", path, n)
		if _, err := os.Lstat(name); errors.Is(err, os.ErrNotExist) {
			return name
		}
	}
}

// lookAtCLI tells whether the CLI is there and logged in, and what to do otherwise. The bridge can be set up in any
// case.
func (u *setup) lookAtCLI(ctx context.Context) error {
	u.say(setupTexts.CLIHead)
	doc := u.doctor()
	c := defaults()
	c.Claude.Command = u.Claude
	if _, err := exec.LookPath(u.Claude); err != nil {
		doc.add(stateFail, u.lang.say(doctorTexts.CLIInstall), doctorTexts.CLINone, u.Claude)
		return nil
	}
	doc.cli(ctx, c)
	return ctx.Err()
}

// doctor is one who prints what he finds.
func (u *setup) doctor() *doctor {
	return &doctor{environ: os.Environ(), lang: u.lang, tell: func(f finding) { u.print("   " + f.String() + "\n") }}
}

// chooseProject asks for the folder until there is one that will do.
func (u *setup) chooseProject(ctx context.Context) error {
	u.say(setupTexts.ProjectHead)
	home, _ := os.UserHomeDir() // without one, no folder is a home folder
	proposed := u.Project
	if proposed == "" {
		proposed = proposal(home, u.unfit)
	}
	for {
		answer := proposed
		if u.Project == "" {
			var err error
			if answer, err = u.ask(ctx, setupTexts.ProjectAsk, proposed); err != nil {
				return err
			}
		}
		if rest, ok := strings.CutPrefix(answer, "~/"); ok && home != "" {
			answer = filepath.Join(home, rest)
		}
		why := u.unfit(answer)
		if why == "" {
			u.project = filepath.Clean(answer)
			if _, err := os.Stat(u.project); errors.Is(err, os.ErrNotExist) {
				u.say(setupTexts.ProjectMake, u.project)
			}
			return nil
		}
		if u.quiet || u.Project != "" {
			return &configError{errors.New(why)}
		}
		u.print(why + "\n")
	}
}

// proposal is the working folder if it will do, else one in the home folder.
func proposal(home string, unfit func(string) string) string {
	if wd, err := os.Getwd(); err == nil && unfit(wd) == "" {
		return wd
	}
	return filepath.Join(home, "magpie")
}

// unfit says why an agent should not work in a folder; empty = it may.
func (u *setup) unfit(folder string) string {
	if !filepath.IsAbs(folder) {
		return u.lang.say(setupTexts.ProjectRelative, folder)
	}
	if info, err := os.Stat(folder); err == nil && !info.IsDir() {
		return u.lang.say(setupTexts.ProjectNoFolder, folder)
	}
	c := claude.Config{Environ: os.Environ()}
	guard := bridge.Guard{Homes: c.Homes(), Data: u.Data, Files: []string{u.Config}}
	if guard.Refuses(folder) != nil {
		return u.lang.say(setupTexts.ProjectNotThis, folder)
	}
	return ""
}

// readSecret reads the secret's file.
func (u *setup) readSecret() (string, error) {
	read := func() ([]byte, error) { return os.ReadFile(u.Secret) }
	if u.Secret == "-" {
		read = func() ([]byte, error) { return io.ReadAll(io.LimitReader(u.lines, 4<<10)) }
	}
	data, err := read()
	if err != nil {
		return "", &configError{err}
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" {
		return "", &configError{errors.New(u.lang.say(setupTexts.NeedsSecret, u.Secret))}
	}
	return secret, nil
}
