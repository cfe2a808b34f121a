// Package config is magpie.toml: its sections and defaults, how the file and the environment are read and checked, and
// which keys take effect without a restart. Each section is declared in the package that uses it. The package does not
// use the values, nor write the first file.
package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/rs/zerolog"

	"magpie/bridge"
	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/bridge/workplace"
	"magpie/contextmgr"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/feishu"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// Config is the whole of magpie.toml. Each section belongs to the package that uses it.
type Config struct {
	Feishu   feishu.Config           `toml:"feishu" envPrefix:"FEISHU_"` // the app that has no name
	Apps     []App                   `toml:"-" env:"-"`                  // further apps; see App
	Chat     Chat                    `toml:"chat" envPrefix:"CHAT_"`
	Claude   claude.Config           `toml:"claude" envPrefix:"CLAUDE_"`
	Context  contextmgr.Config       `toml:"context" envPrefix:"CONTEXT_"`
	Memory   contextmgr.MemoryConfig `toml:"memory" envPrefix:"MEMORY_"`
	Access   access.Config           `toml:"access" envPrefix:"ACCESS_"`
	Budget   budget.Limits           `toml:"budget" envPrefix:"BUDGET_"`
	DB       db.Config               `toml:"db" envPrefix:"DB_"`
	Terminal Terminal                `toml:"terminal" envPrefix:"TERMINAL_"`
	HTTP     HTTP                    `toml:"http" envPrefix:"HTTP_"`
	Log      Log                     `toml:"log" envPrefix:"LOG_"`

	Projects map[string]workplace.Project `toml:"projects" env:"-"` // projects that chats can switch to, by name

	// folder of what belongs to this machine: the agents' state, received files; empty = that of the database
	Data string `toml:"data" env:"DATA"`
	// this machine, on which its sessions can be resumed; empty = the host's name
	Node     string       `toml:"node" env:"NODE"`
	Redact   Redact       `toml:"redact" envPrefix:"REDACT_"`
	Recovery Recovery     `toml:"recovery" envPrefix:"RECOVERY_"`
	Waits    bridge.Waits `toml:"-" env:"-"`
	File     string       `toml:"-" env:"-"` // in which it was found; empty = in none
	unnamed  int          `toml:"-" env:"-"` // the place of the app without a name among several [[feishu]], from 1
	// timeout of a shutdown; running turns get most of it
	Shutdown configtype.Duration `toml:"shutdown_timeout" env:"SHUTDOWN_TIMEOUT"`
}

// Redact is the section about what is kept out of the History.
type Redact struct {
	// messages are stored without private data and secrets
	History bool `toml:"history" env:"HISTORY"`
}

// Policy returns the kinds of data that are kept out of the History.
func (c Redact) Policy() redact.Policy {
	if c.History {
		return redact.All()
	}
	return 0
}

// Terminal is the section of the door in the terminals of this machine.
type Terminal struct {
	// people may come in through a terminal; nil = yes, beside another door
	Enabled *bool `toml:"enabled" env:"ENABLED"`
}

// IsOn reports whether people may come in through a terminal.
func (c Terminal) IsOn() bool { return c.Enabled == nil || *c.Enabled }

// HasFeishu reports whether Feishu is one of the doors.
func (c Config) HasFeishu() bool { return c.Feishu.AppID != "" || len(c.Apps) > 0 }

// isTerminalOnly reports whether the operator wants a bot without Feishu, and wrote so: an app that is missing by
// mistake must not go unnoticed.
func (c Config) isTerminalOnly() bool {
	return c.lacksApp() && c.Terminal.Enabled != nil && *c.Terminal.Enabled
}

// lacksApp reports whether nothing of an app is known.
func (c Config) lacksApp() bool {
	return c.Feishu.AppID == "" && c.Feishu.AppSecret == "" && len(c.Apps) == 0
}

// checkDoors reports what is wrong with Feishu, unless there is another door.
func (c Config) checkDoors() error {
	if c.isTerminalOnly() {
		return nil
	}
	errs := leaves(c.checkApps())
	if c.unnamed > 0 || len(c.Apps) == 0 || c.Feishu.AppID+c.Feishu.AppSecret != "" {
		for _, err := range leaves(c.Feishu.Validate()) {
			if c.unnamed > 0 {
				err = &appMistake{place: c.unnamed, error: err}
			}
			errs = append(errs, err)
		}
	}
	if c.lacksApp() {
		last := &errs[len(errs)-1]
		*last = i18n.Mistakef("%v\n%v", "%v\n%v", *last, errTerminalOnly)
	}
	return errors.Join(errs...)
}

// Recovery is the section about unanswered messages at startup.
type Recovery struct {
	// an older message is answered only on request; 0 = no limit
	MaxAge configtype.Duration `toml:"max_message_age" env:"MAX_MESSAGE_AGE"`
}

// Log is the section of the log.
type Log struct {
	Level  string `toml:"level" env:"LEVEL"`   // debug | info | warn | error
	Format string `toml:"format" env:"FORMAT"` // one of the formats below

	Secrets  redact.Known `toml:"-" env:"-"` // values removed from every line; set by Read
	Platform error        `toml:"-" env:"-"` // its name; set by Read
}

// The formats of the log.
const (
	LogAuto    = "auto" // for people on a terminal, otherwise JSON
	LogConsole = "console"
	LogJSON    = "json"
)

// ZerologLevel is the minimum level of logged lines.
func (c Log) ZerologLevel() zerolog.Level {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		return zerolog.InfoLevel // Validate has rejected any other
	}
	return level
}

// Defaults returns the default configuration.
func Defaults() Config {
	return Config{
		Chat:    chatDefaults(),
		Access:  access.Defaults(),
		Claude:  workspace.Defaults(),
		Context: contextmgr.Defaults(),
		Memory:  contextmgr.MemoryDefaults(),
		DB:      db.Defaults(),
		Log:     Log{Level: "info", Format: LogAuto},

		Recovery: Recovery{MaxAge: configtype.Duration{Duration: 2 * time.Hour}},
		Shutdown: configtype.Duration{Duration: 20 * time.Second},
	}
}

// Validate reports every invalid key.
func (c Config) Validate() error {
	// All sections are checked even after a mistake, so that an operator can correct everything at once.
	errs := []error{
		c.checkDoors(), c.Chat.Validate(), c.Claude.Validate(), c.checkFolders(),
		c.Context.Validate(), c.Memory.Validate(),
		c.Access.Validate(), c.Budget.Validate(), c.DB.Validate(), c.checkData(), c.checkNodes(), c.HTTP.Validate(),
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		errs = append(errs, i18n.Mistakef("[log] level %q：应为 debug、info、warn 或 error",
			"[log] level %q: must be debug, info, warn or error", c.Log.Level))
	}
	if !slices.Contains([]string{LogAuto, LogConsole, LogJSON}, c.Log.Format) {
		errs = append(errs, i18n.Mistakef("[log] format %q：应为 auto、json 或 console",
			"[log] format %q: must be auto, json or console", c.Log.Format))
	}
	if c.Recovery.MaxAge.Duration < 0 {
		errs = append(errs, i18n.Mistakef("[recovery] max_message_age：不能是负数",
			"[recovery] max_message_age: must be 0 or more"))
	}
	if c.Shutdown.Duration < 0 {
		errs = append(errs, i18n.Mistakef("shutdown_timeout：不能是负数", "shutdown_timeout: must be 0 or more"))
	}
	return errors.Join(errs...)
}

// NodeName is the name of this machine: the configured one, or else the host name.
func (c Config) NodeName() (string, error) {
	if c.Node != "" {
		return c.Node, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", i18n.Mistakef("查不到这台机器的名字，请设置 node：%v", "the name of this machine is not known; set node: %v", err)
	}
	return host, nil
}

// DBConfig is the configuration of package db.
func (c Config) DBConfig() db.Config {
	c.DB.Data, _ = c.DataFolder() // Validate reports an invalid path
	c.DB.Node, _ = c.NodeName()   // so does whoever needs it
	c.DB.Password = env.ToMap(c.Claude.Environ)["PGPASSWORD"]
	return c.DB
}

// OutgoingFiles returns the folder of files that agents send, empty if they send none, and the files that they must
// never send.
func (c Config) OutgoingFiles() (folder string, private []string, err error) {
	_, private, err = c.DB.DSN().Paths()
	if err != nil {
		return "", nil, err
	}
	data, err := c.DataFolder()
	if err != nil {
		return "", nil, err
	}
	// These are listed separately from the data folder, which may be a project whose other files can be sent.
	private = append(private, data, filepath.Join(data, "files"), filepath.Join(data, "agents"))
	private = append(private, c.PrivateFiles()...)
	if c.Chat.SendFiles {
		folder = filepath.Join(data, "outgoing")
	}
	return folder, private, nil
}

// PrivateFiles are the files that agents must not read or change: the configuration, the agents' settings, and the
// secret files.
func (c Config) PrivateFiles() (list []string) {
	if c.File != "" {
		list = append(list, c.File)
	}
	if s := strings.TrimSpace(c.Claude.Settings); s != "" && !strings.HasPrefix(s, "{") {
		list = append(list, s)
	}
	vars := env.ToMap(c.Claude.Environ)
	_, secrets := c.appVariables()
	for _, secret := range slices.Concat(secretVariables, secrets) {
		if file := vars[secret+"_FILE"]; file != "" {
			list = append(list, ExpandHome(file))
		}
	}
	return list
}

// BridgeConfig is the bridge's part of the configuration, without what the program creates at startup: clients,
// folders, functions.
func (c Config) BridgeConfig() bridge.Config {
	guard := workplace.Guard{Homes: c.Claude.Homes(), Files: c.PrivateFiles(), State: c.Claude.StateDir()}
	guard.Data, _ = c.DataFolder() // Validate reports an invalid path
	node, _ := c.NodeName()        // whoever needs it reports that there is none
	newLang := c.firstApp().DefaultLang()
	if c.isTerminalOnly() {
		newLang = string(i18n.OfLocale(c.Claude.Environ))
	}
	return bridge.Config{
		App: c.Feishu.AppID, Access: c.AccessRules(), Context: c.ContextConfig(),
		Projects: workplace.Set{
			Default: c.Claude.Project, Mode: c.Claude.PermissionMode, Named: c.Projects, Guard: guard,
			AskAll: c.Claude.AsksEverything(), Node: node, Only: c.appProjects(),
		},
		Budget: c.BudgetLimits(), Secrets: redact.NewKnown(c.Secrets()), Redact: c.Redact.Policy(),
		MaxAge: c.Recovery.MaxAge.Duration, Waits: c.Waits, Shutdown: c.Shutdown.Duration,
		Mention: c.Chat.GroupMention, LongAnswer: c.Chat.LongAnswer,
		NotifyAfter: c.Chat.NotifyAfter.Duration,
		Lang:        c.Chat.FixedLang(), NewLang: newLang,
	}
}

// FeishuConfig is the configuration of package feishu.
func (c Config) FeishuConfig() feishu.Config {
	c.Feishu.Topics, c.Feishu.AnswerBots, c.Feishu.Lang = c.Chat.Topics, c.Chat.AnswerBots, c.Chat.FixedLang()
	return c.Feishu
}

// ContextConfig is the configuration of package contextmgr.
func (c Config) ContextConfig() contextmgr.Config {
	c.Context.Memory = c.Memory
	return c.Context
}
