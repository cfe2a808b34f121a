package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

// settled is the configuration that a setup writes.
type settled struct {
	Feishu struct {
		AppID     string `toml:"app_id"`
		AppSecret string `toml:"app_secret"`
		BaseURL   string `toml:"base_url,omitempty"`
	} `toml:"feishu"`
	Claude struct {
		Command string `toml:"command,omitempty"`
		Project string `toml:"project"`
	} `toml:"claude"`
	Access struct {
		Owner string `toml:"owner,omitempty"`
	} `toml:"access,omitempty"`
	DB struct {
		URL string `toml:"url"`
	} `toml:"db"`
}

// text is the configuration file. It is checked as the bridge will check it.
func (u *setup) text() ([]byte, error) {
	var c settled
	c.Feishu.AppID, c.Feishu.AppSecret, c.Feishu.BaseURL = u.feishu.AppID, u.feishu.AppSecret, u.feishu.BaseURL
	if u.feishu.BaseURL == "feishu" {
		c.Feishu.BaseURL = ""
	}
	if c.Claude.Project = u.project; u.Claude != "claude" {
		c.Claude.Command = u.Claude
	}
	c.Access.Owner = u.Owner
	c.DB.URL = "sqlite://" + filepath.Join(u.Data, "magpie.db")
	data, err := toml.Marshal(c)
	if err != nil {
		return nil, err
	}
	data = append([]byte(u.lang.say(setupTexts.Header)), data...)
	check := defaults()
	check.Feishu.File, check.Claude.Environ = u.Config, os.Environ()
	if err := decodeTOML(data, &check); err != nil {
		return nil, err
	}
	return data, check.validate()
}

// write makes the project's folder and the configuration. The file is there as a whole or not at all.
func (u *setup) write() error {
	if err := os.MkdirAll(u.project, 0o755); err != nil {
		return err
	}
	data, err := u.text()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(u.Config), 0o700); err != nil {
		return err
	}
	if err := putFile(u.Config, u.replaces, data); err != nil {
		return err
	}
	u.made, u.written = "", true
	if u.replaces != "" {
		u.say(setupTexts.Kept, u.replaces)
	}
	u.print("\n")
	u.say(setupTexts.Wrote, u.Config)
	if u.Owner != "" {
		u.say(setupTexts.OwnerIs, u.Owner)
	} else {
		u.say(setupTexts.OwnerLater)
	}
	return nil
}

// putFile puts a file where none is. With old, one that is there gets that name first; without, it is left as it is and
// the call fails.
func putFile(path, old string, data []byte) (err error) {
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
			return fmt.Errorf("keep the old configuration: %w", err)
		}
		copied := f.Name() + "+"
		if err := os.Link(f.Name(), copied); err != nil {
			return err
		}
		return os.Rename(copied, path)
	}
	return os.Link(f.Name(), path) // unlike a rename it replaces nothing
}

// start starts the bridge as it is wanted, or says how.
func (u *setup) start(ctx context.Context) error {
	flags := serviceFlags{Name: "magpie", Scope: "auto", Root: u.Root}
	how := u.Start
	if how == "ask" && u.quiet {
		how = "no"
	}
	if how == "ask" {
		ways := []string{"here", "no"}
		texts := []phrase{setupTexts.StartHere, setupTexts.StartNot}
		if flags.needSystemd() == nil {
			ways, texts = append([]string{"service"}, ways...), append([]phrase{setupTexts.StartService}, texts...)
		}
		n, err := u.pick(ctx, setupTexts.StartHow, texts...)
		if err != nil { // what was written stays
			u.print("\n")
			n = len(ways) - 1
		}
		how = ways[n]
	}
	switch how {
	case "service":
		err := serviceInstallCmd{serviceFlags: flags, Config: u.Config, renewed: true}.Run(ctx)
		if err != nil {
			u.say(setupTexts.StartYourself, u.Config)
			return fmt.Errorf("%s", u.lang.say(setupTexts.ServiceFailed, err))
		}
	case "here":
		u.say(setupTexts.Starting)
		return serveCmd{Config: u.Config, plain: true}.Run(ctx)
	default:
		u.say(setupTexts.StartYourself, u.Config)
	}
	return nil
}
