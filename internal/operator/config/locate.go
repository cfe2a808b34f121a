package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
	"github.com/pelletier/go-toml/v2/unstable"

	"magpie/internal/i18n"
)

// VariableError is a mistake in the value of a variable of the environment, which overrides the file.
type VariableError struct {
	Name string
	Err  error
}

func (e *VariableError) Error() string { return e.describe().Error() }

// In is the error message in a language.
func (e *VariableError) In(l i18n.Lang) string { return i18n.ErrorText(l, e.describe()) }

func (e *VariableError) describe() error {
	return i18n.Mistakef("环境变量 %s：%v", "environment: %s: %v", e.Name, e.Err)
}

// Unwrap implements the interface of [errors.Is] and [errors.As].
func (e *VariableError) Unwrap() error { return e.Err }

// locate adds to each mistake in a value where the value was set: the line of the file, or the variable that overrides
// it. What follows from a mistake that was found before is left out.
func locate(err error, environ []string, found reading) (inFile []mistake, inEnviron []error) {
	lines, vars := keyLines(found.text), env.ToMap(environ)
	for _, e := range leaves(err) {
		section, key := keyOfMistake(e)
		name := givenAs(vars, variableOf(section, key))
		if app := (*appMistake)(nil); errors.As(e, &app) {
			section, key = keyOfMistake(app.error)
			if app.name != "" {
				name = variableOf(oldPlace+"_"+app.name, key)
			}
			if within := strings.TrimPrefix("."+section, "."+oldPlace); found.wrong[oldPlace+within+"."+key] {
				continue
			} else {
				section = appSection(app.place) + within
			}
		}
		if vars[name] == "" && vars[name+"_FILE"] != "" {
			name += "_FILE"
		}
		if found.isWrongVariable(name) {
			continue
		}
		if vars[name] != "" {
			inEnviron = append(inEnviron, &VariableError{name, e})
			continue
		}
		full := strings.TrimPrefix(section+"."+key, ".")
		line, old := lines[full], 0
		if section == newPlace && line == 0 {
			old = lines[oldPlace+"."+key]
		}
		if found.wrong[full] || found.wrong[section] || line+old == 0 && found.stopped {
			continue
		}
		if old != 0 {
			line, e = old, i18n.Mistakef("第 %d 行，还写在 [feishu] 里：%v", "line %d, still in [feishu]: %v", old, e)
		} else if line != 0 {
			e = i18n.Mistakef("第 %d 行：%v", "line %d: %v", line, e)
		}
		inFile = append(inFile, mistake{line, e})
	}
	return inFile, inEnviron
}

// joinMistakes returns all mistakes as an [Error], in the order of the lines; nil if there are none.
func joinMistakes(file string, inFile []mistake, inEnviron []error) error {
	if len(inFile) == 0 {
		file = ""
	}
	slices.SortStableFunc(inFile, func(a, b mistake) int { return a.line - b.line })
	var all []error
	for _, m := range inFile {
		all = append(all, m.error)
	}
	if all = append(all, inEnviron...); len(all) == 0 {
		return nil
	}
	return &Error{File: file, Err: errors.Join(all...)}
}

// leaves are the errors that were joined to one.
func leaves(err error) (list []error) {
	if err == nil {
		return nil
	}
	many, ok := err.(interface{ Unwrap() []error }) //nolint:errorlint // only what was joined is taken apart
	if !ok {
		return []error{err}
	}
	for _, e := range many.Unwrap() {
		list = append(list, leaves(e)...)
	}
	return list
}

// mistakenKey matches the key with which messages about a value begin, and mistakenProject the name of a project, which
// operators choose.
var (
	mistakenKey     = regexp.MustCompile(`^(?:\[([\w.-]+)\] )?([\w-]+)`)
	mistakenProject = regexp.MustCompile(`^\[(projects)\] (.+?): `)
)

// keyOfMistake is the key that a mistake is about, and its section; both are empty if it names none.
func keyOfMistake(err error) (section, key string) {
	for _, form := range []*regexp.Regexp{mistakenProject, mistakenKey} {
		if m := form.FindStringSubmatch(err.Error()); m != nil {
			return m[1], m[2]
		}
	}
	return "", ""
}

// variableOf is the variable that overrides a key.
func variableOf(section, key string) string {
	return EnvPrefix + strings.ToUpper(strings.TrimPrefix(section+"_"+key, "_"))
}

// keyLines are the numbers of the lines that set each key, as section.key, and that open each section.
func keyLines(data []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	var add func(section []string, e *unstable.Node) (key []string)
	add = func(section []string, e *unstable.Node) []string {
		key, it := keyOf(section, e), e.Key()
		if it.Next() {
			lines[strings.Join(key, ".")] = p.Shape(it.Node().Raw).Start.Line
		}
		if e.Kind == unstable.KeyValue && e.Value().Kind == unstable.InlineTable {
			for it := e.Value().Children(); it.Next(); {
				add(key, it.Node())
			}
		}
		return key
	}
	var section []string
	apps := 0
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.ArrayTable:
			section = keyOf(nil, e)
			if strings.EqualFold(section[0], oldPlace) {
				apps++
				section[0] = appSection(apps)
			}
			it := e.Key()
			it.Next()
			lines[strings.Join(section, ".")] = p.Shape(it.Node().Raw).Start.Line
		case unstable.Table:
			if section = add(nil, e); apps > 0 && strings.EqualFold(section[0], oldPlace) {
				section[0] = appSection(apps)
			}
		case unstable.KeyValue:
			add(section, e)
		default:
		}
	}
	return lines
}
