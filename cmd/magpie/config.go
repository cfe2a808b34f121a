package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/pelletier/go-toml/v2"
	"github.com/rs/zerolog"

	"magpie/bridge"
	"magpie/bridge/access"
	"magpie/contextmgr"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/feishu"
	"magpie/internal/claude"
)

// config is the whole of magpie.toml. Each section belongs to the package that uses it.
type config struct {
	Feishu  feishu.Config           `toml:"feishu" envPrefix:"FEISHU_"`
	Claude  claude.Config           `toml:"claude" envPrefix:"CLAUDE_"`
	Context contextmgr.Config       `toml:"context" envPrefix:"CONTEXT_"`
	Memory  contextmgr.MemoryConfig `toml:"memory" envPrefix:"MEMORY_"`
	Access  access.Config           `toml:"access" envPrefix:"ACCESS_"`
	Budget  bridge.Budget           `toml:"budget" envPrefix:"BUDGET_"`
	DB      db.Config               `toml:"db" envPrefix:"DB_"`
	HTTP    httpConfig              `toml:"http" envPrefix:"HTTP_"`
	Log     logConfig               `toml:"log" envPrefix:"LOG_"`

	Projects map[string]bridge.Project `toml:"projects" env:"-"` // to which chats can change, by name

	// this machine: its sessions are resumed on no other; empty = the host's name
	Node     string         `toml:"node" env:"NODE"`
	Redact   redactConfig   `toml:"redact" envPrefix:"REDACT_"`
	Recovery recoveryConfig `toml:"recovery" envPrefix:"RECOVERY_"`
	Waits    bridge.Waits   `toml:"-" env:"-"`
	// all that a stop may take; turns that run go on for most of it
	Shutdown claude.Duration `toml:"shutdown_timeout" env:"SHUTDOWN_TIMEOUT"`
}

// node is the name of this machine.
func (c config) node() (string, error) {
	if c.Node != "" {
		return c.Node, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this machine: %w", err)
	}
	return host, nil
}

type redactConfig struct {
	// what people and the agent say is stored without private data and secrets
	History bool `toml:"history" env:"HISTORY"`
}

// policy is what is kept out of the History.
func (c redactConfig) policy() redact.Policy {
	if c.History {
		return redact.All()
	}
	return 0
}

type recoveryConfig struct {
	// an older message is answered only on request; 0 = any age will do
	MaxAge claude.Duration `toml:"max_message_age" env:"MAX_MESSAGE_AGE"`
}

type httpConfig struct {
	// host:port of /metrics, /healthz and /readyz; without a host this machine only; empty = none
	Listen string `toml:"listen" env:"LISTEN"`
	// names under which they are served, beside addresses, localhost and the names that are known
	Hosts []string `toml:"hosts" env:"HOSTS"`
}

type logConfig struct {
	Level  string `toml:"level" env:"LEVEL"`   // debug | info | warn | error
	Format string `toml:"format" env:"FORMAT"` // json | console

	secrets redact.Known `toml:"-"` // that reach no line
}

func (c logConfig) level() zerolog.Level {
	level, err := zerolog.ParseLevel(c.Level)
	if err != nil {
		return zerolog.InfoLevel // validate has refused any other
	}
	return level
}

// envPrefix is in front of every variable that overrides a key: MAGPIE_<SECTION>_<KEY>.
const envPrefix = "MAGPIE_"

func defaults() config {
	return config{
		Feishu:  feishu.Defaults(),
		Claude:  claude.Defaults(),
		Context: contextmgr.Defaults(),
		Memory:  contextmgr.MemoryDefaults(),
		DB:      db.Defaults(),
		Log:     logConfig{Level: "info", Format: "json"},

		Recovery: recoveryConfig{MaxAge: claude.Duration{Duration: 2 * time.Hour}},
		Shutdown: claude.Duration{Duration: 20 * time.Second},
	}
}

// configError is a mistake of the operator, as opposed to a failure of the program.
type configError struct{ err error }

func (e *configError) Error() string { return "configuration: " + e.err.Error() }
func (e *configError) Unwrap() error { return e.err }

// errNoConfig says what to do where nothing is configured: what is wrong with the defaults helps nobody.
var errNoConfig = errors.New("there is no magpie.toml here, nor in the user's or the system's configuration folder: make one with magpie setup")

// loadConfig gives the configuration of a bridge that can run. A problem is a [configError] that names every key that
// is wrong.
func loadConfig(path string, environ []string) (config, error) {
	c, err := readConfig(path, environ)
	if err != nil {
		return c, err
	}
	if c.Feishu.File == "" && c.Feishu.AppID == "" && c.Feishu.AppSecret == "" {
		return c, &configError{errNoConfig}
	}
	if err := c.validate(); err != nil {
		return c, &configError{err}
	}
	if c.Claude, err = c.Claude.Resolve(); err != nil {
		return c, &configError{err}
	}
	for name, p := range c.Projects {
		if p.Path, err = filepath.Abs(p.Path); err != nil {
			return c, &configError{err}
		}
		c.Projects[name] = p
	}
	return c, nil
}

// readConfig reads the file at path, or the one that is found when path is empty, and then the environment.
func readConfig(path string, environ []string) (config, error) {
	c := defaults()
	if path == "" {
		path = findConfig()
	}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return c, &configError{err}
		}
		if err := decodeTOML(data, &c); err != nil {
			return c, &configError{fmt.Errorf("%s: %w", path, err)}
		}
		c.Feishu.File = path
	}
	if err := overlay(&c, environ); err != nil {
		return c, &configError{err}
	}
	if err := loosen(&c, environ); err != nil {
		return c, &configError{err}
	}
	c.Claude.Environ = environ
	c.Log.secrets = redact.NewKnown(c.secrets())
	return c, nil
}

// decodeTOML refuses keys that do not exist, and shows the line. Values are left out of messages: they may be secrets.
func decodeTOML(data []byte, c *config) error {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(c)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		var errs []error
		for _, e := range strict.Errors {
			errs = append(errs, lineError(data, &e, "unknown key "+strings.Join(e.Key(), ".")))
		}
		return errors.Join(errs...)
	case errors.As(err, &bad):
		return lineError(data, bad, wanted(bad.Error()))
	}
	return err
}

var wrongType = regexp.MustCompile(`^toml: cannot decode TOML (\w+) into (?:struct field \S+ of type )?(\S+)$`)

// wanted says in words of the file's format what a key of the wrong type should be; other complaints stay as they are.
func wanted(complaint string) string {
	m := wrongType.FindStringSubmatch(complaint)
	if m == nil {
		return complaint
	}
	want, ok := map[string]string{
		"string": "text in quotes", "[]string": `a list, as in ["one", "two"]`, "bool": "true or false",
		"int": "a whole number", "int64": "a whole number", "float64": "a number",
	}[m[2]]
	if !ok {
		return "this cannot be of the type " + m[1]
	}
	return fmt.Sprintf("want %s; this is of the type %s", want, m[1])
}

// lineError says what is wrong in which line, and shows the line without its value.
func lineError(data []byte, at *toml.DecodeError, what string) error {
	row, _ := at.Position()
	var line []byte
	if lines := bytes.Split(data, []byte("\n")); row >= 1 && row <= len(lines) {
		line = bytes.TrimSpace(lines[row-1])
	}
	if key, _, ok := bytes.Cut(line, []byte("=")); ok {
		line = append(bytes.TrimSpace(key), " = …"...)
	}
	return fmt.Errorf("line %d: %s\n%4d| %s", row, what, row, line)
}

// secretVariables are those of which NAME_FILE may name a file that holds the value.
var secretVariables = []string{envPrefix + "FEISHU_APP_SECRET", envPrefix + "MEMORY_EMBEDDINGS_KEY"}

// overlay applies the variables MAGPIE_<SECTION>_<KEY>. Secrets may also be in files, as service managers give them.
func overlay(c *config, environ []string) error {
	vars := env.ToMap(environ)
	for _, secret := range secretVariables {
		if file := vars[secret+"_FILE"]; file != "" {
			data, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("%s_FILE: %w", secret, err)
			}
			vars[secret] = strings.TrimSpace(string(data))
		}
	}
	err := env.ParseWithOptions(c, env.Options{Prefix: envPrefix, Environment: vars})
	var all env.AggregateError
	if errors.As(err, &all) {
		var errs []error
		for _, e := range all.Errors {
			errs = append(errs, variableError(e))
		}
		return errors.Join(errs...)
	}
	for _, list := range [][]string{c.Access.Admins, c.Access.Allow, c.Access.Deny, c.Claude.AllowedTools, c.Claude.SettingSources, c.HTTP.Hosts} {
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
	}
	return err
}

// variableError names the variable that cannot be read, and leaves out its value.
func variableError(err error) error {
	var bad env.ParseError
	if !errors.As(err, &bad) {
		return errors.New("environment: a variable cannot be read")
	}
	var names []string
	for sections, i := reflect.TypeFor[config](), 0; i < sections.NumField(); i++ {
		section := sections.Field(i)
		if name, ok := section.Tag.Lookup("env"); ok { // a key of no section
			if section.Name == bad.Name {
				names = append(names, envPrefix+name)
			}
			continue
		}
		if field, ok := section.Type.FieldByName(bad.Name); ok {
			names = append(names, envPrefix+section.Tag.Get("envPrefix")+field.Tag.Get("env"))
		}
	}
	return fmt.Errorf("environment: %s cannot be read as %s", strings.Join(names, " or "), bad.Type)
}

func (c config) validate() error {
	errs := []error{
		c.Feishu.Validate(), c.Claude.Validate(), c.work().CheckProjects(), c.Context.Validate(), c.Memory.Validate(), c.Access.Validate(), c.Budget.Validate(), c.DB.Validate(), c.HTTP.validate(),
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, c.Log.Level) {
		errs = append(errs, fmt.Errorf("[log] level %q: want debug, info, warn or error", c.Log.Level))
	}
	if c.Log.Format != "json" && c.Log.Format != "console" {
		errs = append(errs, fmt.Errorf("[log] format %q: want json or console", c.Log.Format))
	}
	if c.Recovery.MaxAge.Duration < 0 {
		errs = append(errs, errors.New("[recovery] max_message_age: want 0 or more"))
	}
	if c.Shutdown.Duration < 0 {
		errs = append(errs, errors.New("shutdown_timeout: want 0 or more"))
	}
	return errors.Join(errs...)
}

// outgoing is the folder of files that agents send, empty when they send none, and what they never send.
func (c config) outgoing() (folder string, private []string, err error) {
	data, private, err := c.DB.Place()
	if err != nil {
		return "", nil, err
	}
	// The folders are named beside the one in which they lie: that may be a project, of which other files are sent.
	private = append(append(private, data, filepath.Join(data, "files"), filepath.Join(data, "agents")), c.ownFiles()...)
	if c.Feishu.SendFiles {
		folder = filepath.Join(data, "outgoing")
	}
	return folder, private, nil
}

// ownFiles are the file of the configuration, that of the agents' settings, and those of secrets.
func (c config) ownFiles() (list []string) {
	if c.Feishu.File != "" {
		list = append(list, c.Feishu.File)
	}
	if s := strings.TrimSpace(c.Claude.Settings); s != "" && !strings.HasPrefix(s, "{") {
		list = append(list, s)
	}
	vars := env.ToMap(c.Claude.Environ)
	for _, secret := range secretVariables {
		if file := vars[secret+"_FILE"]; file != "" {
			list = append(list, file)
		}
	}
	return list
}

// work says where agents work, and what they may do there.
func (c config) work() bridge.Config {
	guard := bridge.Guard{Homes: c.Claude.Homes(), Files: c.ownFiles(), State: c.Claude.StateDir()}
	guard.Data, _, _ = c.DB.Place() // a database that lies nowhere is a mistake of its own
	return bridge.Config{Project: c.Claude.Project, PermissionMode: c.Claude.PermissionMode, Projects: c.Projects, Guard: guard}
}

// context is what is needed to build contexts.
func (c config) context() contextmgr.Config {
	c.Context.Memory = c.Memory
	return c.Context
}

// findConfig looks in the working folder, then in the user's and the system's configuration folder.
func findConfig() string {
	const name = "magpie.toml"
	places := []string{name}
	if dir, err := os.UserConfigDir(); err == nil {
		places = append(places, filepath.Join(dir, "magpie", name))
	}
	places = append(places, filepath.Join("/etc", "magpie", name))
	for _, p := range places {
		if _, err := os.Stat(p); !errors.Is(err, fs.ErrNotExist) {
			return p
		}
	}
	return ""
}
