package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"magpie/contextmgr/redact"
	"magpie/internal/configtype"
	"magpie/internal/text"
)

// Error is a mistake of the operator, as opposed to a failure of the program.
type Error struct{ Err error }

func (e *Error) Error() string { return "configuration: " + e.Err.Error() }

// Chinese is the mistake in Chinese.
func (e *Error) Chinese() string { return "配置：" + configtype.Chinese(e.Err) }

// Unwrap implements the interface of [errors.Is] and [errors.As].
func (e *Error) Unwrap() error { return e.Err }

// ErrNotFound says what to do when there is no configuration. It replaces the complaints about the defaults, which
// would not help.
var ErrNotFound = configtype.Mistakef(
	"这里没有 magpie.toml，用户和系统的配置文件夹里也没有：运行 magpie setup 创建",
	"there is no magpie.toml here, nor in the user's or the system's configuration folder: make one with magpie setup")

// Load gives the configuration of a bridge that can run: what [Read] gives, with every value checked and every path
// made absolute. The default project is made if it is not there. A problem is an [Error] that names every key that is wrong.
func Load(path string, environ []string) (Config, error) {
	c, err := Read(path, environ)
	if err != nil {
		return c, err
	}
	// Neither a file nor credentials: probably the program was started in the wrong place, and setup helps
	// more than a list of missing keys.
	if c.Feishu.File == "" && c.Feishu.AppID == "" && c.Feishu.AppSecret == "" {
		return c, &Error{Err: ErrNotFound}
	}
	if err := errors.Join(c.makeDefaultProject(), c.Validate()); err != nil {
		return c, &Error{Err: err}
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

// Read reads the file at path, or the one that [Find] gives when path is empty, and then the environment. It checks no
// values: commands that need only the database must run where, for example, there is no CLI.
func Read(path string, environ []string) (Config, error) {
	c := Defaults()
	if path == "" {
		path = Find()
	}
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return c, &Error{Err: err}
		}
		if err := Decode(data, &c); err != nil {
			return c, &Error{Err: fmt.Errorf("%s: %w", path, err)}
		}
		c.Feishu.File = path
	}
	// The environment comes last, so that it overrides the file.
	if err := applyEnvironment(&c, environ); err != nil {
		return c, &Error{Err: err}
	}
	if err := applyTestSettings(&c, environ); err != nil {
		return c, &Error{Err: err}
	}
	c.expandPaths()
	c.Claude.Environ = environ
	c.Log.Secrets = redact.NewKnown(c.Secrets())
	return c, nil
}

// ReadForDatabase is [Read] for commands that need only the database. It refuses to guess: without a configuration, and
// without a database where an empty one would say that it is, there is nothing to work with.
func ReadForDatabase(path string, environ []string) (Config, error) {
	c, err := Read(path, environ)
	if err != nil || c.Feishu.File != "" || c.DB.URL != Defaults().DB.URL {
		return c, err
	}
	if _, err := os.Stat(c.DatabasePath()); errors.Is(err, fs.ErrNotExist) {
		return c, &Error{Err: ErrNotFound}
	}
	return c, nil
}

// Find gives the path of the magpie.toml in the working folder, else in the user's, else in the system's configuration
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

// Decode reads a file's text into c. It refuses keys that do not exist, and shows the line. Values are left out of
// messages: they may be secrets.
func Decode(data []byte, c *Config) error {
	err := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields().Decode(c)
	var strict *toml.StrictMissingError
	var bad *toml.DecodeError
	switch {
	case errors.As(err, &strict):
		var errs []error
		for _, e := range strict.Errors {
			errs = append(errs, lineError(data, &e,
				configtype.Mistakef("没有 %s 这个键%v", "unknown key %s%v", strings.Join(e.Key(), "."), suggest(e.Key()))))
		}
		return errors.Join(errs...)
	case errors.As(err, &bad):
		return lineError(data, bad, wantedType(bad.Error()))
	}
	return err
}

// wrongType recognizes the decoder's message, which names Go types that an operator does not know.
var wrongType = regexp.MustCompile(`^toml: cannot decode TOML (\w+) into (?:struct field \S+ of type )?(\S+)$`)

// inWords are the types of values as an operator knows them.
var inWords = map[string]error{
	"string":   configtype.Mistakef("引号里的文字", "text in quotes"),
	"[]string": configtype.Mistakef(`列表，例如 ["one", "two"]`, `a list, as in ["one", "two"]`),
	"bool":     configtype.Mistakef("true 或 false", "true or false"),
	"int":      configtype.Mistakef("整数", "a whole number"),
	"int64":    configtype.Mistakef("整数", "a whole number"),
	"float64":  configtype.Mistakef("数字", "a number"),
}

// suggest names the key that an unknown one may stand for; nothing is said if none is like it.
func suggest(key []string) error {
	known := keys()
	if len(key) == 1 { // a section, or a key of none
		for i, k := range known {
			known[i], _, _ = strings.Cut(k, ".")
		}
	}
	if near, ok := text.Nearest(strings.Join(key, "."), known); ok {
		return configtype.Mistakef("，是不是 %s？", "; did you mean %s?", near)
	}
	// A key in the wrong section, or in none.
	for _, k := range keys() {
		if section, name, found := strings.Cut(k, "."); found && name == key[len(key)-1] {
			return configtype.Mistakef("，它属于 [%s]", "; it belongs to [%s]", section)
		}
	}
	return configtype.Mistakef("", "")
}

// keys are those of the file, as section.key.
func keys() (list []string) {
	for sections, i := reflect.TypeFor[Config](), 0; i < sections.NumField(); i++ {
		section := sections.Field(i)
		switch name := section.Tag.Get("toml"); {
		case name == "-":
		case section.Type.Kind() == reflect.Map || section.Tag.Get("envPrefix") == "":
			list = append(list, name)
		default:
			for j := range section.Type.NumField() {
				if key := section.Type.Field(j).Tag.Get("toml"); key != "-" {
					list = append(list, name+"."+key)
				}
			}
		}
	}
	return list
}

// wantedType says in words of the file's format what a key of the wrong type should be; other complaints stay as they
// are.
func wantedType(complaint string) error {
	m := wrongType.FindStringSubmatch(complaint)
	if m == nil {
		return errors.New(complaint)
	}
	want, ok := inWords[m[2]]
	if !ok {
		return configtype.Mistakef("这里不能是 %s", "this cannot be of the type %s", m[1])
	}
	return configtype.Mistakef("应为%v，而这里是 %s", "want %v; this is of the type %s", want, m[1])
}

// lineError says what is wrong in which line, and shows the line without its value.
func lineError(data []byte, at *toml.DecodeError, what error) error {
	row, _ := at.Position()
	var line []byte
	if lines := bytes.Split(data, []byte("\n")); row >= 1 && row <= len(lines) {
		line = bytes.TrimSpace(lines[row-1])
	}
	if key, _, ok := bytes.Cut(line, []byte("=")); ok {
		line = append(bytes.TrimSpace(key), " = …"...)
	}
	return configtype.Mistakef("第 %d 行：%v\n%4d| %s", "line %d: %v\n%4d| %s", row, what, row, line)
}
