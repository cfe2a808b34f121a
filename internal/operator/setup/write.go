package setup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pelletier/go-toml/v2"

	"magpie/db"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/services"
)

// file is the configuration that a setup writes.
type file struct {
	Feishu struct {
		AppID     string `toml:"app_id"`
		AppSecret string `toml:"app_secret"`
		BaseURL   string `toml:"base_url,omitempty"`
	} `toml:"feishu"`
	Claude struct {
		Command string `toml:"command,omitempty"`
		Project string `toml:"project"`

		Env map[string]string `toml:"env,omitempty"`
	} `toml:"claude"`
	Access struct {
		Owner string `toml:"owner,omitempty"`
	} `toml:"access,omitempty"`
	DB struct {
		URL string `toml:"url"`
	} `toml:"db"`
}

// marshal returns the text of the configuration file, validated as the bridge does at startup.
func (u *setup) marshal() ([]byte, error) {
	var c file
	c.Feishu.AppID, c.Feishu.AppSecret, c.Feishu.BaseURL = u.feishu.AppID, u.feishu.AppSecret, u.feishu.BaseURL
	if u.feishu.BaseURL == "feishu" {
		c.Feishu.BaseURL = ""
	}
	if c.Claude.Project = u.project; u.Claude != "claude" {
		c.Claude.Command = u.Claude
	}
	c.Claude.Env = u.agentEnv
	c.Access.Owner = u.Owner
	c.DB.URL = u.databaseURL()
	data, err := toml.Marshal(c)
	if err != nil {
		return nil, err
	}
	data = append([]byte(config.LocatePages(i18n.SetupHeader.Sprintf(u.lang))), data...)
	// Checked before it is written: setup must not leave a file with which the bridge does not start.
	check := config.Defaults()
	check.File, check.Claude.Environ = u.Config, os.Environ()
	if err := config.Decode(data, &check); err != nil {
		return nil, err
	}
	if u.lacksCLI { // this was reported, and it can be installed later: here any program will do
		if check.Claude.Command, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	return data, check.Validate()
}

func (o Options) databaseURL() string { return "sqlite://" + filepath.Join(o.Data, "magpie.db") }

// write creates the project's folder and the configuration. The file is written atomically.
func (u *setup) write() error {
	if err := os.MkdirAll(u.project, 0o755); err != nil {
		return err
	}
	data, err := u.marshal()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(u.Config), 0o700); err != nil {
		return err
	}
	// From here on an interruption leaves a usable configuration.
	if err := CreateFile(u.Config, u.oldConfig, data); err != nil {
		return err
	}
	u.createdApp, u.written = "", true
	if u.oldConfig != "" {
		u.say(i18n.SetupKept, u.oldConfig)
	}
	u.print("\n")
	u.say(i18n.SetupWrote, u.Config)
	if u.lacksLogin {
		u.say(i18n.SetupLogInFirst)
	}
	if u.Owner != "" {
		u.say(i18n.SetupOwnerIs, u.Owner)
	} else {
		u.say(i18n.SetupOwnerLater)
	}
	return nil
}

// CreateFile creates a file. With old, it replaces an existing one, which is kept under that name; without, an existing
// one is left alone and the call fails.
func CreateFile(path, old string, data []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if old != "" {
		if err := os.Link(path, old); err != nil {
			return err
		}
		copied := f.Name() + "+"
		if err := os.Link(f.Name(), copied); err != nil {
			return err
		}
		return os.Rename(copied, path)
	}
	return os.Link(f.Name(), path) // unlike a rename it replaces nothing
}

// start starts the bridge as requested, or tells how.
func (u *setup) start(ctx context.Context) error {
	bridge := services.Service{Name: "magpie", System: os.Geteuid() == 0, Root: u.Root, Lang: u.lang}
	how := u.Start
	if how == "ask" && (u.unattended || u.lacksCLI) {
		how = "no"
	}
	if how == "ask" {
		ways := []string{"here", "no"}
		texts := []i18n.Phrase{i18n.SetupStartHere, i18n.SetupStartNot}
		if services.Available(u.Root) == nil {
			ways, texts = append([]string{"service"}, ways...), append([]i18n.Phrase{i18n.SetupStartService}, texts...)
		}
		n, err := u.pick(ctx, i18n.SetupStartHow, texts...)
		if err != nil { // the configuration stays
			u.print("\n")
			u.say(i18n.SetupStartYourself, u.Config)
			return givenUp(ctx, err)
		}
		how = ways[n]
	}
	before := u.lastAnswered(ctx)
	switch how {
	case "service":
		err := services.Install(ctx, services.Installation{Service: bridge, Config: u.Config, Restart: true})
		if err != nil {
			u.say(i18n.SetupStartYourself, u.Config)
			return givenUp(ctx, errors.New(i18n.SetupServiceFailed.Sprintf(u.lang, err)))
		}
		if !u.unattended {
			u.say(i18n.SetupFirstMessage, u.feishu.PlatformName())
			if !u.awaitAnswer(ctx, before) {
				u.say(i18n.SetupNotAwaited)
			}
		}
	case "here":
		u.say(i18n.SetupStarting, u.feishu.PlatformName())
		ctx, stop := context.WithCancel(ctx)
		var waiting sync.WaitGroup
		waiting.Go(func() { u.awaitAnswer(ctx, before) })
		err := u.serve(ctx, u.Config)
		stop()
		waiting.Wait()
		return err
	case "no":
		if u.lacksCLI {
			u.say(i18n.SetupInstallFirst, u.Config)
			break
		}
		u.say(i18n.SetupStartYourself, u.Config)
	}
	return nil
}

// givenUp is [ErrGivenUp] if the operator has pressed Ctrl-C, otherwise err.
func givenUp(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrGivenUp
	}
	return err
}

// lookPeriod is the interval at which setup checks whether the bot has answered.
const lookPeriod = time.Second

// awaitAnswer waits until the bot has answered a message after the turn before, and reports it: only that proves that
// the setup works. It returns false if ctx ends first.
func (u *setup) awaitAnswer(ctx context.Context, before int64) bool {
	for u.lastAnswered(ctx) <= before {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(lookPeriod):
		}
	}
	u.say(i18n.SetupFirstAnswer)
	return true
}

// lastAnswered is the last answered turn; 0 = none, or there is no database yet.
func (o Options) lastAnswered(ctx context.Context) int64 {
	store, err := db.OpenReadOnly(ctx, db.Config{URL: o.databaseURL()})
	if err != nil {
		return 0
	}
	defer store.Close() //nolint:errcheck // it was only read
	turn, err := store.Turns().LastDone(ctx)
	if err != nil {
		return 0
	}
	return turn
}
