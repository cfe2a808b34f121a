package workspace

import (
	"encoding/json"
	"slices"
	"strings"
)

// Tools is an MCP server for one process, over HTTP on this machine.
type Tools struct {
	Server string // its name for the agent
	URL    string
	Token  string   // sent as bearer token
	Names  []string // of its tools, which need no permission
	Close  func()   // called when the process has ended

	// Bind assigns the tools to a chat, by the owner of its processes. nil = they are already.
	Bind func(owner string)
}

// tokenName is the variable with the token. It is not an argument, since arguments are visible to everyone on the
// machine.
const tokenName = "MAGPIE_TOOLS_TOKEN"

// arguments make the CLI use this server.
func (t Tools) arguments() []string {
	if t.URL == "" {
		return nil
	}
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{t.Server: map[string]any{
		"type": "http", "url": t.URL, "headers": map[string]any{"Authorization": "Bearer ${" + tokenName + "}"},
		"alwaysLoad": true, // otherwise the model may have to search for the tools first
	}}})
	if err != nil {
		panic(err) // it has only strings
	}
	args := []string{"--mcp-config=" + string(config)}
	for _, name := range t.Names {
		args = append(args, "--allowedTools=mcp__"+t.Server+"__"+name)
	}
	return args
}

// environ returns env with the token, and without a proxy for this machine.
func (t Tools) environ(env []string) []string {
	if t.URL == "" {
		return env
	}
	env = append(slices.Clone(env), tokenName+"="+t.Token)
	listed := false
	for i, kv := range env {
		if name, hosts, _ := strings.Cut(kv, "="); strings.ToUpper(name) == "NO_PROXY" {
			listed = true
			env[i] = name + "=" + strings.TrimPrefix(hosts+",127.0.0.1", ",")
		}
	}
	if !listed {
		env = append(env, "NO_PROXY=127.0.0.1", "no_proxy=127.0.0.1")
	}
	return env
}
