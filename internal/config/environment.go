package config

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/caarlos0/env/v11"
)

// EnvPrefix is the prefix of the variables that override keys: MAGPIE_<SECTION>_<KEY>.
const EnvPrefix = "MAGPIE_"

// secretVariables are the variables whose value may also be read from the file that NAME_FILE names.
var secretVariables = []string{EnvPrefix + "FEISHU_APP_SECRET", EnvPrefix + "MEMORY_EMBEDDINGS_KEY"}

// applyEnvironment applies the variables MAGPIE_<SECTION>_<KEY>. Secrets may also be in files, as service managers
// provide them.
func applyEnvironment(c *Config, environ []string) error {
	vars := env.ToMap(environ)
	// As with Docker secrets and systemd credentials, MAGPIE_..._FILE names a file that holds the value.
	for _, secret := range secretVariables {
		if file := vars[secret+"_FILE"]; file != "" {
			data, err := os.ReadFile(file)
			if err != nil {
				return fmt.Errorf("%s_FILE: %w", secret, err)
			}
			vars[secret] = strings.TrimSpace(string(data))
		}
	}
	err := env.ParseWithOptions(c, env.Options{Prefix: EnvPrefix, Environment: vars})
	var all env.AggregateError
	if errors.As(err, &all) {
		var errs []error
		for _, e := range all.Errors {
			errs = append(errs, variableError(e))
		}
		return errors.Join(errs...)
	}
	// Lists are separated by commas, and people put spaces behind them.
	for _, list := range [][]string{
		c.Access.Admins, c.Access.Allow, c.Access.Deny, c.Claude.AllowedTools, c.Claude.SettingSources, c.HTTP.Hosts,
	} {
		for i := range list {
			list[i] = strings.TrimSpace(list[i])
		}
	}
	return err
}

// variableError names the variable that cannot be parsed, without its value, which may be a secret.
func variableError(err error) error {
	var bad env.ParseError
	if !errors.As(err, &bad) {
		return errors.New("environment: a variable cannot be read")
	}
	var names []string
	for sections, i := reflect.TypeFor[Config](), 0; i < sections.NumField(); i++ {
		section := sections.Field(i)
		if name, ok := section.Tag.Lookup("env"); ok { // a key of no section
			if section.Name == bad.Name {
				names = append(names, EnvPrefix+name)
			}
			continue
		}
		if field, ok := section.Type.FieldByName(bad.Name); ok {
			names = append(names, EnvPrefix+section.Tag.Get("envPrefix")+field.Tag.Get("env"))
		}
	}
	return fmt.Errorf("environment: %s cannot be read as %s", strings.Join(names, " or "), bad.Type)
}
