package workspace

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Spec describes the process that a turn needs.
type Spec struct {
	Session string // the CLI's session id
	Resume  bool   // the session exists; otherwise it is created with this ID
	Dir     string // working folder
	Mode    string // permission mode
	Model   string // empty = the configured one
	Effort  string // empty = the configured one
	Name    string // the session's title in a terminal's list; empty = none
	// cost limit in USD; 0 = none. The CLI counts from its start, so a process with a limit serves one turn
	Budget float64
	Task   string // system prompt of a request outside all chats; if it is set, of the above only Dir is used

	// Known returns the prompts that were sent to the session to be resumed. It is called when a process has to be
	// started; see [transcript.Files.Verify]. It may be nil.
	Known func() []string `json:"-"`

	// Queued is called when the turn waits for the end of others, with its place in the queue, the first being 1,
	// whenever that changes, and with 0 when it waits no more. It must not block. It may be nil.
	Queued func(place int) `json:"-"`

	Files string // a folder besides Dir that the agent may read; empty = none

	// without what a server of the API may not know. When one refuses a request, the CLI (2.1.332) otherwise sends it six
	// times, with less and less of that. It serves one turn
	Plain bool

	Suggest bool // suggest the next question

	Kind string // of the chat, on which the tools depend

	// Spare returns the spec of a process like this one without a chat, with its state in the folder with that ID. nil
	// = none is started ahead.
	Spare func(folder string) Spec `json:"-"`

	// Tools is called for every process that is started. It may be nil.
	Tools func() Tools `json:"-"`
}

// Prompts are those that were sent to the session to be resumed; see [Spec.Known].
func (s Spec) Prompts() []string {
	if s.Known == nil {
		return nil
	}
	return s.Known()
}

// Alike reports whether a process of one of the specs can become one of the other's chat.
func (s Spec) Alike(other Spec) bool {
	return s.Dir == other.Dir && s.Mode == other.Mode && s.Model == other.Model && s.Effort == other.Effort &&
		s.Kind == other.Kind && s.Suggest == other.Suggest && s.Plain == other.Plain
}

// WithoutChat is the part of the spec that is not specific to one chat.
func (s Spec) WithoutChat() Spec {
	return Spec{
		Dir: s.Dir, Mode: s.Mode, Model: s.Model, Effort: s.Effort, Kind: s.Kind, Suggest: s.Suggest, Spare: s.Spare,
	}
}

// Unbound is the spec of a process without a chat, with its state in the folder with that ID. It has its own session.
func (s Spec) Unbound(folder string) Spec {
	own, spec := s.Spare(folder), s.WithoutChat()
	spec.Session, spec.Files, spec.Tools, spec.Spare = uuid.NewString(), own.Files, own.Tools, nil
	return spec
}

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
