package claude

import (
	"slices"
	"strings"
)

// inherited are the variables that the CLI may have from the bridge's own environment; a trailing * stands for any
// ending. Whatever else it needs is named in [claude.env]. Secrets of the bridge are on no list, so they never get
// there.
var inherited = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "TMPDIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CLAUDE_CODE_*",
}

// imposed are the variables that make the CLI behave as a child process.
var imposed = map[string]string{
	noAttachments: "1", // a newer CLI gets another one, see withoutMentions
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	// What the agent would say between turns, when a background task or a timer of its own wakes it, nobody would hear.
	"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
	"CLAUDE_CODE_DISABLE_CRON":             "1",
	// What one chat's agent would note there without being asked, the agents of all chats would be told.
	"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
	"CLAUDE_CODE_MAX_RETRIES":         "4", // the default of 10 keeps a user waiting for three minutes
	"DISABLE_AUTOUPDATER":             "1",
	// For so many milliseconds it waits for its tools before it asks the model. The bridge's own are always there, on a
	// busy machine not within the default of five seconds; an agent without them would say that it has none.
	"MCP_CONNECT_TIMEOUT_MS": "30000",
}

// environment is that of a process, as "NAME=value".
type environment []string

// value is what a process finds under a name; empty = nothing.
func (e environment) value(name string) string {
	for _, kv := range e {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// environ is the environment of the CLI.
func (c Config) environ() environment {
	env := map[string]string{}
	for _, kv := range c.Environ {
		if name, value, ok := strings.Cut(kv, "="); ok && isInherited(name) {
			env[name] = value
		}
	}
	if a, err := c.account(); err == nil { // an unknown one cannot start anything
		a.imprint(env)
	}
	for name, value := range imposed {
		env[name] = value
	}
	for name, value := range c.Env {
		env[name] = value
	}
	list := make(environment, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

func isInherited(name string) bool {
	for _, pattern := range inherited {
		if prefix, ok := strings.CutSuffix(pattern, "*"); (ok && strings.HasPrefix(name, prefix)) || name == pattern {
			return true
		}
	}
	return false
}
