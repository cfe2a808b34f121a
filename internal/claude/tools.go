package claude

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
	Names  []string // of its tools; they need no permission
	Close  func()   // called when the process has ended

	// Bind makes the tools those of a chat, by the owner of its processes. nil = they are.
	Bind func(owner string)
}

// tools are those of a new process.
func (s Spec) tools() Tools {
	if s.Tools == nil {
		return Tools{}
	}
	return s.Tools()
}

// tokenName is the variable with the token. It is not an argument, since everybody on the machine may read arguments.
const tokenName = "MAGPIE_TOOLS_TOKEN"

// arguments make the CLI use this server.
func (t Tools) arguments() []string {
	if t.URL == "" {
		return nil
	}
	config, err := json.Marshal(object{"mcpServers": object{t.Server: object{
		"type": "http", "url": t.URL, "headers": object{"Authorization": "Bearer ${" + tokenName + "}"},
		"alwaysLoad": true, // else the model may have to search for the tools first
	}}})
	if err != nil {
		panic(err) // made of strings only
	}
	args := []string{"--mcp-config=" + string(config)}
	for _, name := range t.Names {
		args = append(args, "--allowedTools=mcp__"+t.Server+"__"+name)
	}
	return args
}

// environ is env with the token, and without a proxy for this machine.
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

func (t Tools) close() {
	if t.Close != nil {
		t.Close()
	}
}
