package claude

import (
	"encoding/json"
	"slices"
	"strings"
)

// Tools is a server of tools for one process: MCP over HTTP on this machine.
type Tools struct {
	Server string // what the agent knows it as
	URL    string
	Token  string   // sent as bearer token
	Names  []string // of its tools; they need no permission
	Close  func()   // called when the process has ended
}

// tools gives a process its tools.
func (s Spec) tools() Tools {
	if s.Tools == nil {
		return Tools{}
	}
	return s.Tools()
}

// tokenName is the variable of the environment that holds the token. Everybody on the machine may read arguments.
const tokenName = "MAGPIE_TOOLS_TOKEN"

// arguments make the CLI use the server, and no other one: what a project's own configuration names would be started
// unasked.
func (t Tools) arguments() []string {
	if t.URL == "" {
		return nil
	}
	config, err := json.Marshal(object{"mcpServers": object{t.Server: object{
		"type": "http", "url": t.URL, "headers": object{"Authorization": "Bearer ${" + tokenName + "}"},
		"alwaysLoad": true, // else the model may have to search for the tools before it knows that they are there
	}}})
	if err != nil {
		panic(err) // made of strings only
	}
	args := []string{"--mcp-config=" + string(config), "--strict-mcp-config"}
	for _, name := range t.Names {
		args = append(args, "--allowedTools=mcp__"+t.Server+"__"+name)
	}
	return args
}

// environ is env with the token, and without a proxy between the process and this machine.
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
