package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// secretName is what variables of the environment are called whose values are secrets.
var secretName = regexp.MustCompile(`(?i)secret|token|passw|api_?key|access_?key|private_?key|credential|custom_headers`)

// privateNames names the variables of an environment that are for this program alone: its settings, and what is called
// like a secret.
func privateNames(environ []string) (names []string) {
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, envPrefix) || secretName.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// takeEnviron is the environment of this program. What is private in it is left to no program that is started later;
// who is to have it is given it.
func takeEnviron() ([]string, error) {
	environ := os.Environ()
	for _, name := range privateNames(environ) {
		if err := os.Unsetenv(name); err != nil {
			return nil, fmt.Errorf("environment: %w", err)
		}
	}
	return environ, nil
}

// secrets are what nobody is ever shown or told: those of the program, and those of the agents' environment.
func (c config) secrets() []string {
	list := []string{c.Feishu.AppSecret, c.Memory.EmbeddingsKey}
	for _, address := range []string{c.DB.URL, c.Memory.EmbeddingsURL} {
		if u, err := url.Parse(address); err == nil && u.User != nil {
			password, _ := u.User.Password()
			list = append(list, password, url.QueryEscape(password))
		}
	}
	for _, kv := range c.Claude.Environ {
		name, value, _ := strings.Cut(kv, "=")
		list = append(list, valueOf(name, value))
	}
	for name, value := range c.Claude.Env {
		list = append(list, valueOf(name, value))
	}
	gjson.Get(c.Claude.Settings, "env").ForEach(func(name, value gjson.Result) bool {
		list = append(list, valueOf(name.String(), value.String()))
		return true
	})
	for _, s := range list { // as the log and the outbox write it
		if quoted, err := json.Marshal(s); err == nil {
			list = append(list, strings.Trim(string(quoted), `"`))
		}
	}
	return list
}

// valueOf is the value of a variable that is called like a secret, else nothing. What names a file is none.
func valueOf(name, value string) string {
	if !secretName.MatchString(name) {
		return ""
	}
	if _, err := os.Stat(value); err == nil {
		return ""
	}
	return value
}
