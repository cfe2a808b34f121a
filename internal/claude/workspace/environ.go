package workspace

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"magpie/internal/claude/account"
)

// inheritedVariables are those that the CLI may inherit from the bridge's own environment; a trailing * matches any
// ending. Anything else must be named in [claude.env]. This is an allow list, so that secrets of the bridge never reach
// the CLI.
var inheritedVariables = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "TMPDIR",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_SECURESTORAGE_CONFIG_DIR", "CLAUDE_CODE_*",
}

// noMemory is the variable that disables the CLI's own memory.
const noMemory = "CLAUDE_CODE_DISABLE_AUTO_MEMORY"

// noBetas is the variable that makes the CLI use only what each server of the API knows.
const noBetas = "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS"

// noBackground is the variable that makes commands and subagents end within their turn. A CLI that may run something
// after it does not get it; see [Agent.worksUnasked].
const noBackground = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"

// imposedVariables make the CLI behave as a child process.
var imposedVariables = map[string]string{
	noAttachments: "1", // a newer CLI gets another variable; see withoutMentions
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
	noBackground: "1",
	// Timers could wake the agent between turns, when nobody is waiting for it any more.
	"CLAUDE_CODE_DISABLE_CRON": "1",
	// The memory is shared: notes of one chat's agent would reach the agents of all chats.
	noMemory:                  "1",
	"CLAUDE_CODE_MAX_RETRIES": "4", // the default of 10 keeps a user waiting for three minutes
	"DISABLE_AUTOUPDATER":     "1",
	// Timeout for MCP servers before the first call of the model. The bridge's own server is always there, but on a
	// busy machine the default of five seconds is too short, and the agent would do without its tools.
	"MCP_CONNECT_TIMEOUT_MS": "30000",
}

// Environment is the environment of a process: values by the names of the variables.
type Environment map[string]string

// newEnvironment builds the environment of the CLI for an account: what it may inherit of inherited, this program's own
// environment as "NAME=value", and what is configured.
func newEnvironment(inherited []string, as *account.User, configured map[string]string) Environment {
	env := Environment{}
	for _, kv := range inherited {
		name, value, ok := strings.Cut(kv, "=")
		if name = variableName(name); ok && isInherited(name) {
			env[name] = value
		}
	}
	env.setAccount(as)
	maps.Copy(env, imposedVariables)
	maps.Copy(env, configured)
	return env
}

// setAccount sets the account's variables, and removes those that belong to this program's own login.
func (e Environment) setAccount(as *account.User) {
	if as == nil {
		return
	}
	delete(e, stateVariable)
	delete(e, loginVariable)
	delete(e, "TMPDIR")
	maps.Copy(e, map[string]string{"HOME": as.Home, "USER": as.Name, "LOGNAME": as.Name})
}

// List is the environment as "NAME=value", in the order of the names.
func (e Environment) List() []string {
	list := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e[name])
	}
	return list
}

// configDir is the CLI's folder in this environment: of the machine's user, with that user's configuration and login,
// or of a chat.
func (e Environment) configDir() string {
	if dir := e[stateVariable]; dir != "" {
		return dir
	}
	return filepath.Join(e[homeVariable], ".claude")
}

// isInherited uses an allow list: an unknown variable may hold a secret of the service.
func isInherited(name string) bool {
	for _, pattern := range slices.Concat(inheritedVariables, systemVariables) {
		if prefix, ok := strings.CutSuffix(pattern, "*"); (ok && strings.HasPrefix(name, prefix)) || name == pattern {
			return true
		}
	}
	return false
}

// Without one of these variables, "@path" in a chat message makes the CLI read that file into the prompt, whatever the
// permissions. The second variable disables only that, but versions before about 2.1.330 do not know it. The first one
// also disables other information for the model: since 2.1.330 the working folder, the tools that it can search for,
// and that it is in plan mode.
const (
	noAttachments = "CLAUDE_CODE_DISABLE_ATTACHMENTS"
	noMentions    = "CLAUDE_CODE_DISABLE_FILE_MENTIONS"
)

// withoutMentions returns e for a CLI that answers people: with [noMentions] instead of [noAttachments] if this CLI
// certainly supports it.
func (e Environment) withoutMentions(command string) Environment {
	if knows, _ := knownPrograms.knows(command, noMentions); !knows {
		return e
	}
	e = maps.Clone(e)
	delete(e, noAttachments)
	e[noMentions] = "1"
	return e
}
