package config

import (
	"encoding"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"

	"magpie/internal/i18n"
	"magpie/internal/text"
)

// EnvPrefix is the prefix of the variables that override keys: MAGPIE_<SECTION>_<KEY>.
const EnvPrefix = "MAGPIE_"

// secretVariables are the variables whose value may also be read from the file named by NAME_FILE.
var secretVariables = []string{
	EnvPrefix + "FEISHU_APP_SECRET", EnvPrefix + "MEMORY_EMBEDDINGS_KEY", EnvPrefix + "DB_URL",
}

// applyEnvironment applies the variables MAGPIE_<SECTION>_<KEY>. Secrets may also be in files, as service managers
// provide them.
func applyEnvironment(c *Config, environ []string) error {
	vars := env.ToMap(environ)
	ofApps, secrets := c.appVariables()
	errs := readSecretFiles(vars, slices.Concat(secretVariables, secrets))
	errs = append(errs, checkVariables(vars, ofApps), c.applyAppVariables(vars))
	adopted, twice := adoptVariables(vars)
	errs = append(errs, twice...)
	err := env.ParseWithOptions(c, env.Options{Prefix: EnvPrefix, Environment: adopted})
	var all env.AggregateError
	if errors.As(err, &all) {
		for _, e := range all.Errors {
			errs = append(errs, variableError(e, vars))
		}
	} else {
		errs = append(errs, err)
	}
	// Lists are separated by commas, often followed by spaces.
	for _, list := range [][]string{
		c.Access.Admins, c.Access.Allow, c.Access.Deny, c.Claude.AllowedTools, c.Claude.SettingSources, c.HTTP.Hosts,
	} {
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
	}
	return errors.Join(errs...)
}

// isForeign reports whether a variable, without [EnvPrefix], is no key: one that the program gives to its own processes,
// or one of its tests, which the shell of a checkout may have.
func isForeign(name string) bool {
	tests := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	return name == "PROCESS" || name == "TOOLS_TOKEN" ||
		slices.ContainsFunc([]string{"TEST_", "SCRIPTED_", "CRASH_"}, tests)
}

// checkVariables rejects variables that look like keys but are not: they would be ignored silently.
func checkVariables(vars map[string]string, ofApps []string) error {
	known := append(variables(), ofApps...)
	for _, key := range chatKeys {
		known = append(known, oldPrefix+strings.ToUpper(key))
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		rest, ours := strings.CutPrefix(name, EnvPrefix)
		if !ours || slices.Contains(known, name) || isForeign(rest) {
			continue
		}
		hint := i18n.Mistakef("；变量名的形式是 %s<SECTION>_<KEY>", "; the variable of a key is %s<SECTION>_<KEY>", EnvPrefix)
		if near, ok := text.Nearest(name, known); ok {
			near, _ = movedVariable(near)
			hint = i18n.Mistakef("，是不是 %s？", "; did you mean %s?", near)
		}
		errs = append(errs, &VariableError{name, i18n.Mistakef("没有对应的键%v", "there is no such key%v", hint)})
	}
	return errors.Join(errs...)
}

// variables lists those of all keys, and of the secret files.
func variables() (names []string) {
	for sections, i := reflect.TypeFor[Config](), 0; i < sections.NumField(); i++ {
		section := sections.Field(i)
		if name, ok := section.Tag.Lookup("env"); ok { // a key outside of sections
			names = append(names, EnvPrefix+name)
			continue
		}
		for j := range section.Type.NumField() {
			if name := section.Type.Field(j).Tag.Get("env"); name != "" && name != "-" {
				names = append(names, EnvPrefix+section.Tag.Get("envPrefix")+name)
			}
		}
	}
	for _, secret := range secretVariables {
		names = append(names, secret+"_FILE")
	}
	return names
}

// variableError names the variable that cannot be parsed, without its value, which may be a secret.
func variableError(err error, vars map[string]string) error {
	var bad env.ParseError
	if !errors.As(err, &bad) {
		return i18n.Mistakef("环境变量：有一个变量读不出来", "environment: a variable cannot be read")
	}
	var names []string
	for sections, i := reflect.TypeFor[Config](), 0; i < sections.NumField(); i++ {
		section := sections.Field(i)
		if name, ok := section.Tag.Lookup("env"); ok { // a key outside of sections
			if section.Name == bad.Name {
				names = append(names, EnvPrefix+name)
			}
			continue
		}
		if field, ok := section.Type.FieldByName(bad.Name); ok && field.Tag.Get("env") != "-" {
			names = append(names, givenAs(vars, EnvPrefix+section.Tag.Get("envPrefix")+field.Tag.Get("env")))
		}
	}
	why := i18n.Mistakef("这个值读不出来", "the value cannot be read")
	words, ok := inWords[strings.TrimPrefix(bad.Type.String(), "*")]
	switch {
	case reflect.PointerTo(bad.Type).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		why = bad.Err // our own error; the parser's would mention Go, and show a value that may be secret
	case bad.Type.Kind() == reflect.Map:
		why = i18n.Mistakef("应为 NAME=value 的形式，用逗号分隔", "must be pairs NAME=value, with commas between")
	case ok:
		why = i18n.Mistakef("应为%v", "must be %v", words)
	}
	return &VariableError{strings.Join(names, " / "), why}
}
