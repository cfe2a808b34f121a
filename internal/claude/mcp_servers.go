package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/configtype"
)

// MCPServers says which MCP servers agents get besides the program's own: those that the machine's user or the project
// has configured.
type MCPServers []string

// The values that are no list of names.
const (
	allServers = "all"
	noServers  = "none"
)

// MarshalText implements encoding.TextMarshaler.
func (m MCPServers) MarshalText() ([]byte, error) { return []byte(strings.Join(m, ",")), nil }

// UnmarshalText reads "all", "none", or names with commas between them.
func (m *MCPServers) UnmarshalText(text []byte) error {
	*m = MCPServers{}
	for name := range strings.SplitSeq(string(text), ",") {
		if name = strings.TrimSpace(name); name != "" {
			*m = append(*m, name)
		}
	}
	return m.check()
}

// check reports what is wrong with m.
func (m MCPServers) check() error {
	if len(m) > 1 && (slices.Contains(m, allServers) || slices.Contains(m, noServers)) {
		return configtype.Mistakef(`应为 "%s"、"%s"，或名字的列表`, `must be "%s", "%s", or a list of names`, allServers, noServers)
	}
	return nil
}

// picks reports whether a server is among them. One of the project's .mcp.json counts only when the machine's user has
// approved it, or the configuration names it: the CLI itself would start it, and those of the folders above, without
// asking (with -p; measured with 2.1.197 and 2.1.330, which do not obey disabledMcpjsonServers either), and everything
// that can write to the project could have put it there. So the CLI runs with --strict-mcp-config.
func (m MCPServers) picks(name string, approved bool) bool {
	return slices.Contains(m, name) || approved && slices.Contains(m, allServers)
}

// mcpFile is the file in a chat's folder with the servers of its agents. Their definitions may hold secrets, and
// everybody on the machine may read arguments.
const mcpFile = "mcp.json"

// serverTimeout is how long a server may take to start, in milliseconds. With --mcp-config the first question of a
// process waits for all servers that long (measured with 2.1.330), 30 seconds by default; one that does not answer
// should not hold it up for that long.
const serverTimeout = "MCP_TIMEOUT"

// projectServers is the file in which a project configures servers.
const projectServers = ".mcp.json"

// serverSource is where servers are configured, and which of them their user has decided about.
type serverSource struct {
	Servers  map[string]json.RawMessage `json:"mcpServers"`
	Enabled  []string                   `json:"enabledMcpjsonServers"`
	Disabled []string                   `json:"disabledMcpjsonServers"`
	Off      []string                   `json:"disabledMcpServers"`
}

// readSource reads a file of the machine's user or of a project. One that is not there configures nothing, and neither
// does one that the CLI could not read either.
func readSource(path string, to any) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	_ = json.Unmarshal(data, to)
	return nil
}

// servers are the definitions of the servers that an agent gets which works in dir, by name: what the machine's user
// has configured for this project goes before what the project has and that user has approved, and that before what
// holds everywhere. What the project has besides comes last: it must not take the place of a server that is trusted.
func (a agent) servers(dir string) (map[string]json.RawMessage, error) {
	found := map[string]json.RawMessage{}
	if len(a.cfg.MCP) == 0 || slices.Contains(a.cfg.MCP, noServers) {
		return found, nil
	}
	var user struct {
		serverSource
		Projects map[string]serverSource `json:"projects"`
	}
	var everywhere, project serverSource
	var errs []error
	if a.cfg.ConfigDir != isolatedDir {
		errs = append(errs, readSource(a.folder.decisions, &user),
			readSource(filepath.Join(a.folder.machine, "settings.json"), &everywhere))
	}
	errs = append(errs, readSource(filepath.Join(dir, projectServers), &project))
	here := user.Projects[dir]
	enabled := slices.Concat(everywhere.Enabled, here.Enabled)
	disabled := slices.Concat(everywhere.Disabled, here.Disabled)
	take := func(list map[string]json.RawMessage, approved func(name string) bool) {
		for name, definition := range list {
			if a.cfg.MCP.picks(name, approved(name) && !slices.Contains(here.Off, name)) {
				found[name] = definition
			}
		}
	}
	own := func(string) bool { return true }
	approved := func(name string) bool { return slices.Contains(enabled, name) && !slices.Contains(disabled, name) }
	take(project.Servers, func(string) bool { return false }) // those that the configuration names
	take(user.Servers, own)
	maps.DeleteFunc(project.Servers, func(name string, _ json.RawMessage) bool { return !approved(name) })
	take(project.Servers, own)
	take(here.Servers, own)
	return found, errors.Join(errs...)
}

// prepareServers writes the file with the servers of a process. It returns the arguments that make the CLI use them;
// see also [Tools.arguments].
func (a agent) prepareServers(spec Spec) (arguments []string, err error) {
	if a.folder.path == "" || spec.Task != "" {
		return nil, nil
	}
	err = a.account.runAs(func() error {
		found, _ := a.servers(spec.Dir) // the agent can answer without what cannot be read; the checks name it
		path := filepath.Join(a.folder.path, mcpFile)
		if len(found) == 0 {
			if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}
		data, err := json.Marshal(object{"mcpServers": found})
		if err != nil {
			return err
		}
		if a.env[serverTimeout] == "" {
			a.env[serverTimeout] = "10000"
		}
		arguments = []string{"--mcp-config=" + path}
		return replaceFile(path, data)
	})
	if err != nil {
		return nil, fmt.Errorf("MCP servers of the agents: %w", err)
	}
	return arguments, nil
}

// ServerNames lists the MCP servers, besides the program's own, that agents get which work in dir, and those of them
// whose program is not on this machine.
func (c Config) ServerNames(dir string) (names, missing []string, err error) {
	a, err := newAgent(c, "")
	if err != nil {
		return nil, nil, err
	}
	a.folder = newFolder("", a.env)
	err = a.account.runAs(func() error {
		found, err := a.servers(dir)
		names = slices.Sorted(maps.Keys(found))
		for _, name := range names {
			program := gjson.GetBytes(found[name], "command").String()
			if _, err := exec.LookPath(program); program != "" && !strings.Contains(program, "$") && err != nil {
				missing = append(missing, name)
			}
		}
		return err
	})
	return names, missing, err
}

// ServerTool reads the name of a tool of an MCP server.
func ServerTool(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "__")
}
