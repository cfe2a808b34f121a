package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"magpie/contextmgr/redact"
	"magpie/internal/i18n"
)

// Error is a mistake of the operator, not a failure of the program.
type Error struct {
	File string // in which it was found; empty = in none
	Err  error
}

func (e *Error) Error() string { return e.describe().Error() }

// In is the error message in a language.
func (e *Error) In(l i18n.Lang) string { return i18n.ErrorText(l, e.describe()) }

func (e *Error) describe() error {
	if e.File == "" {
		return i18n.Mistakef("配置：%v", "configuration: %v", e.Err)
	}
	return i18n.Mistakef("配置：%s：%v", "configuration: %s: %v", e.File, e.Err)
}

// Unwrap implements the interface of [errors.Is] and [errors.As].
func (e *Error) Unwrap() error { return e.Err }

// ErrNotFound says what to do if there is no configuration. It replaces the errors about the defaults, which would not
// help.
var ErrNotFound = i18n.Mistakef(
	"这里没有 magpie.toml，用户和系统的配置文件夹里也没有：运行 magpie setup 创建",
	"there is no magpie.toml here, nor in the user's or the system's configuration folder: make one with magpie setup")

// errTerminalOnly follows errors about a missing app.
var errTerminalOnly = i18n.Mistakef("不接飞书、只在终端里用的机器人：写 [terminal] enabled = true",
	"for a bot without Feishu, in the terminal only, write [terminal] enabled = true")

// Load returns the configuration of a bridge that can run: the result of [Read] with every value checked and every path
// made absolute. The default project is created if missing. A problem is an [Error] that names every invalid key, and
// the file and the line that set it.
func Load(path string, environ []string) (Config, error) {
	c, found, err := read(path, environ)
	if err != nil {
		return c, err
	}
	// Neither a file nor credentials: probably the program was started in the wrong place, and setup helps more than a
	// list of missing keys.
	if c.File == "" && c.lacksApp() && !c.isTerminalOnly() && len(found.variables) == 0 {
		return c, &Error{Err: errors.Join(ErrNotFound, errTerminalOnly)}
	}
	inFile, inEnviron := locate(c.Validate(), environ, found)
	if err := joinMistakes(
		c.File, append(found.mistakes, inFile...), append(found.variables, inEnviron...),
	); err != nil {
		return c, err
	}
	if c.Claude, err = c.Claude.Resolve(); err != nil {
		return c, &Error{Err: err}
	}
	for name, p := range c.Projects {
		if p.Path, err = filepath.Abs(p.Path); err != nil {
			return c, &Error{Err: err}
		}
		c.Projects[name] = p
	}
	return c, nil
}

// Read reads the file at path, or the result of [Find] if path is empty, and then the environment. It checks no values:
// commands that need only the database must run even without a CLI, for example.
func Read(path string, environ []string) (Config, error) {
	c, found, err := read(path, environ)
	if err == nil {
		err = joinMistakes(c.File, found.mistakes, found.variables)
	}
	return c, err
}

// reading is what is wrong with a configuration before its values are checked.
type reading struct {
	decoding  // of the file
	variables []error
}

// isWrongVariable reports whether a variable has a mistake already.
func (r reading) isWrongVariable(name string) bool {
	return slices.ContainsFunc(r.variables, func(err error) bool {
		var bad *VariableError
		return errors.As(err, &bad) && bad.Name == name
	})
}

// read is [Read]; it also returns the mistakes, without which the rest has been read. The error is about a file that
// cannot be read at all.
func read(path string, environ []string) (c Config, found reading, err error) {
	c = Defaults()
	if path == "" {
		path = Find()
	}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return c, found, &Error{Err: err}
		}
		found.decoding = decode(data, &c)
		c.File = path
	}
	// The environment comes last, so that it overrides the file.
	found.variables = leaves(errors.Join(applyEnvironment(&c, environ), applyTestSettings(&c, environ)))
	c.expandPaths()
	c.Claude.Environ = environ
	c.Log.Secrets, c.Log.Platform = redact.NewKnown(c.Secrets()), c.firstApp().PlatformName()
	return c, found, nil
}

// ReadForDatabase is [Read] for commands that need only the database. Without a configuration it requires that the
// default database exists: such a command must not report on an empty new one.
func ReadForDatabase(path string, environ []string) (Config, error) {
	c, err := Read(path, environ)
	if err != nil || c.File != "" || c.DB.URL != Defaults().DB.URL {
		return c, err
	}
	if _, err := os.Stat(c.DB.DSN().File()); errors.Is(err, fs.ErrNotExist) {
		return c, &Error{Err: ErrNotFound}
	}
	return c, nil
}

// Find returns the path of magpie.toml in the working folder, or else in the user's or the system's configuration
// folder; empty = there is none.
func Find() string {
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
