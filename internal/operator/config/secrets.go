package config

import (
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/i18n"
)

// secretName matches the names of environment variables whose values are secrets.
var secretName = regexp.MustCompile(
	`(?i)secret|token|passw|api_?key|access_?key|private_?key|credential|custom_headers`)

// PrivateVariables returns the names of the variables that are only for this program: its settings, and those with the
// name of a secret.
func PrivateVariables(environ []string) (names []string) {
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, EnvPrefix) || secretName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// TakeEnviron returns the environment of this program and removes the private variables from it, so that no child
// process inherits them by accident; a child that needs one gets it explicitly.
func TakeEnviron() ([]string, error) {
	environ := os.Environ()
	for _, name := range PrivateVariables(environ) {
		if err := os.Unsetenv(name); err != nil {
			return nil, i18n.Mistakef("环境变量：%v", "environment: %v", err)
		}
	}
	return environ, nil
}

// Secrets are the values removed from every message and log line: those of the program, and those in the agents'
// environment.
func (c Config) Secrets() []string {
	list := append([]string{c.Feishu.AppSecret, c.Memory.EmbeddingsKey}, c.DBConfig().DSN().Secrets()...)
	for _, a := range c.Apps {
		list = append(list, a.AppSecret)
	}
	if at := c.DBConfig().DSN(); !at.IsFile() {
		if to, err := at.Postgres(); err == nil { // otherwise Validate reports it
			list = append(list, to.Password) // from a password file, for example
		}
	}
	if u, err := url.Parse(c.Memory.EmbeddingsURL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		list = append(list, password, url.QueryEscape(password))
	}
	for _, kv := range c.Claude.Environ {
		name, value, _ := strings.Cut(kv, "=")
		list = append(list, secretValue(name, value))
	}
	for name, value := range c.Claude.Env {
		list = append(list, secretValue(name, value))
	}
	gjson.Get(c.Claude.Settings, "env").ForEach(func(name, value gjson.Result) bool {
		list = append(list, secretValue(name.String(), value.String()))
		return true
	})
	for _, s := range list { // also in the escaped form of the log and the outbox
		if quoted, err := json.Marshal(s); err == nil {
			list = append(list, strings.Trim(string(quoted), `"`))
		}
	}
	return list
}

// secretValue returns the value of a variable with the name of a secret, otherwise an empty string. The path of an
// existing file is not a secret.
func secretValue(name, value string) string {
	if !secretName.MatchString(name) {
		return ""
	}
	if _, err := os.Stat(value); err == nil {
		return ""
	}
	return value
}
