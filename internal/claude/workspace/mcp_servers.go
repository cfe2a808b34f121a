package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"

	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// MCPServers selects which MCP servers agents get besides the program's own: those that the machine's user or the
// project has configured.
type MCPServers []string

// The special values.
const (
	allServers = "all"
	noServers  = "none"
)

// MarshalText implements encoding.TextMarshaler.
func (m MCPServers) MarshalText() ([]byte, error) { return []byte(strings.Join(m, ",")), nil }

// UnmarshalText parses "all", "none", or names separated by commas.
func (m *MCPServers) UnmarshalText(text []byte) error {
	*m = MCPServers{}
	for name := range strings.SplitSeq(string(text), ",") {
		if name = strings.TrimSpace(name); name != "" {
			*m = append(*m, name)
		}
	}
	return m.check()
}

// check reports problems with m.
func (m MCPServers) check() error {
	if len(m) > 1 && (slices.Contains(m, allServers) || slices.Contains(m, noServers)) {
		return i18n.Mistakef(`应为 "%s"、"%s"，或名字的列表`, `must be "%s", "%s", or a list of names`, allServers, noServers)
	}
	return nil
}

// includes reports whether m includes a server. One in the project's .mcp.json is included only if the machine's user
// has approved it, or the configuration names it. The CLI itself would start it, and those of parent folders, without
// asking (with -p; measured with 2.1.197 and 2.1.330, which do not obey disabledMcpjsonServers either), and anyone who
// can write to the project could have put it there. So the CLI runs with --strict-mcp-config.
func (m MCPServers) includes(name string, approved bool) bool {
	return slices.Contains(m, name) || approved && slices.Contains(m, allServers)
}

// mcpFile is the file in a chat's folder with the servers of its agents. Their definitions may contain secrets, and
// arguments are visible to everyone on the machine.
const mcpFile = "mcp.json"

// The CLI's variables for how long a server may take to start, and how long the first question of a process waits for
// all servers, in milliseconds. With --mcp-config and without the second one it waits for all that may start: 30 seconds
// by default (measured with 2.1.330; 2.1.197 always waits 3 seconds, which is the default here, too). The tools of a
// server that starts later become available during the answer.
const (
	serverTimeout = "MCP_TIMEOUT"
	serverWait    = "CLAUDE_CODE_MCP_STARTUP_WAIT_MS"
)

// serverTimes are their defaults for agents. The timeout is that short for versions of the CLI without the wait.
var serverTimes = map[string]time.Duration{serverTimeout: 10 * time.Second, serverWait: 3 * time.Second}

// projectServers is the file in which a project configures servers.
const projectServers = ".mcp.json"

// serverSource is where servers are configured, and the user's decisions about them.
type serverSource struct {
	Servers  map[string]json.RawMessage `json:"mcpServers"`
	Enabled  []string                   `json:"enabledMcpjsonServers"`
	Disabled []string                   `json:"disabledMcpjsonServers"`
	All      bool                       `json:"enableAllProjectMcpServers"`
	Off      []string                   `json:"disabledMcpServers"`
	Trusted  bool                       `json:"hasTrustDialogAccepted"`
}

// maxConfigured limits the size of the CLI's own files, in bytes. Its file with everything about projects is the
// largest one.
const maxConfigured = 256 << 20

// readSource reads a file of the machine's user or of a project, which may be a checkout of somebody else's. A missing
// file configures nothing, and neither does one that the CLI could not read either.
func readSource(path string, to any) error {
	data, err := safepath.ReadFile(path, maxConfigured)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	_ = json.Unmarshal(data, to)
	return nil
}

// serversAbove returns the servers that .mcp.json configures in dir and in the folders above it, as the CLI finds them:
// of those with one name the nearest one.
func serversAbove(dir string) (found map[string]json.RawMessage, err error) {
	found = map[string]json.RawMessage{}
	for _, folder := range withParents(dir) {
		var s serverSource
		if folder != filepath.Dir(folder) { // the CLI leaves out the root of the file system
			err = errors.Join(err, readSource(filepath.Join(folder, projectServers), &s))
		}
		for name, definition := range s.Servers {
			if found[name] == nil {
				found[name] = definition
			}
		}
	}
	return found, err
}

// servers returns the definitions, by name, of the servers for an agent that works in dir. The user's servers for this
// project take precedence, then the project's approved servers, then the user's global ones. The project's other
// servers come last: they must not replace a trusted server. Those that only wait for an approval are unapproved.
func (a Agent) servers(dir string) (found map[string]json.RawMessage, unapproved []string, err error) {
	found = map[string]json.RawMessage{}
	if len(a.Config.MCP) == 0 || slices.Contains(a.Config.MCP, noServers) {
		return found, nil, nil
	}
	if real, err := RealDir(dir); err == nil {
		dir = real
	}
	var user struct {
		serverSource
		Projects map[string]serverSource `json:"projects"`
	}
	root := decisionsFolder(dir)
	project, err := serversAbove(dir)
	errs := []error{err}
	var decisions []serverSource
	if a.Config.ConfigDir != isolatedDir {
		var everywhere serverSource
		errs = append(errs, readSource(a.folder.decisions, &user),
			readSource(filepath.Join(a.folder.machine, "settings.json"), &everywhere))
		decisions = []serverSource{everywhere, user.Projects[root]}
		// Older versions of the CLI store approvals in the working folder, newer ones in that of the decisions.
		trusted := user.Projects[root].Trusted || user.Projects[dir].Trusted || a.isHome(root)
		for _, folder := range slices.Compact([]string{root, dir}) {
			local, err := a.readLocalSettings(folder, trusted)
			decisions, errs = append(decisions, local), append(errs, err)
		}
	}
	here := user.Projects[root]
	var enabled, disabled []string
	all := false
	for _, d := range decisions {
		enabled, disabled, all = append(enabled, d.Enabled...), append(disabled, d.Disabled...), all || d.All
	}
	disabled = append(disabled, here.Off...)
	take := func(list map[string]json.RawMessage, approved bool) {
		for name, definition := range list {
			if a.Config.MCP.includes(name, approved && !slices.Contains(here.Off, name)) {
				found[name] = definition
			}
		}
	}
	names := slices.Sorted(maps.Keys(project))
	take(project, false) // those named in the configuration
	take(user.Servers, true)
	maps.DeleteFunc(project, func(name string, _ json.RawMessage) bool {
		return !all && !slices.Contains(enabled, name) || slices.Contains(disabled, name)
	})
	take(project, true)
	take(here.Servers, true)
	for _, name := range names {
		if found[name] == nil && slices.Contains(a.Config.MCP, allServers) && !slices.Contains(disabled, name) {
			unapproved = append(unapproved, name)
		}
	}
	return found, unapproved, errors.Join(errs...)
}

// prepareServers writes the file with the servers of a process. It returns the arguments that make the CLI use them;
// see also [Tools.arguments].
func (a Agent) prepareServers(spec Spec) (arguments []string, err error) {
	if a.folder.path == "" || spec.Task != "" {
		return nil, nil
	}
	err = a.User.RunAs(func() error {
		found, _, _ := a.servers(spec.Dir) // the agent can work without a file that cannot be read; the checks report it
		path := filepath.Join(a.folder.path, mcpFile)
		if len(found) == 0 {
			return os.RemoveAll(path)
		}
		data, err := json.Marshal(map[string]any{"mcpServers": found})
		if err != nil {
			return err
		}
		for name := range serverTimes {
			a.Env[name] = strconv.FormatInt(a.Env.serverTime(name).Milliseconds(), 10)
		}
		arguments = []string{"--mcp-config=" + path}
		return replaceFile(path, data)
	})
	if err != nil {
		return nil, fmt.Errorf("MCP servers of the agents: %w", err)
	}
	return arguments, nil
}

// ServerNames are the names of the MCP servers, besides the program's own, of agents that work in a folder.
type ServerNames struct {
	Loaded     []string
	Missing    []string // those of Loaded whose program is missing on this machine
	Unapproved []string // those of the project that wait for an approval of the machine's user
}

// ServerNames lists the MCP servers of agents that work in dir.
func (c Config) ServerNames(dir string) (list ServerNames, err error) {
	a, err := NewAgent(c, "")
	if err != nil {
		return list, err
	}
	a.folder = newFolder("", a.Env)
	err = a.User.RunAs(func() error {
		found, unapproved, err := a.servers(dir)
		list.Loaded, list.Unapproved = slices.Sorted(maps.Keys(found)), unapproved
		for _, name := range list.Loaded {
			program := a.Env.expand(gjson.GetBytes(found[name], "command").String())
			if program == "" {
				continue
			}
			if _, err := a.Env.lookPath(program, dir); err != nil {
				list.Missing = append(list.Missing, name)
			}
		}
		return err
	})
	return list, err
}

// ServerTool parses the name of a tool of an MCP server.
func ServerTool(name string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, "__")
}

// localSettings are the settings of the machine's user for one project, below its folder. When that user approves a
// server of the project in a terminal, the CLI writes it there.
const localSettings = ".claude/settings.local.json"

// approvalRules deny changes to what decides which servers of a project run. The CLI asks about them in all modes but
// auto, where a model may allow them, and bypassPermissions.
var approvalRules = []string{"Edit(//**/" + localSettings + ")", "Edit(//**/" + projectServers + ")"}

// readLocalSettings reads the local settings of the project in dir. They approve nothing unless they are the machine
// user's own, and that user trusts the project: any archive may contain such a file.
func (a Agent) readLocalSettings(dir string, trusted bool) (local serverSource, err error) {
	err = readSource(filepath.Join(dir, localSettings), &local)
	if (local.All || len(local.Enabled) > 0) && !(trusted && a.isOwnApproval(dir)) {
		local.All, local.Enabled = false, nil
	}
	return local, err
}

// isHome reports whether dir is the home folder of the machine's user. The CLI never stores that the user trusts it.
func (a Agent) isHome(dir string) bool {
	home, err := RealDir(a.Env[homeVariable])
	return err == nil && dir == home
}

// isOwnApproval reports whether the local settings of the project in dir are the machine user's own. Those that may
// have come with a checkout approve nothing, nor do they in the CLI: it looks for links and for files that git tracks.
func (a Agent) isOwnApproval(dir string) bool {
	for _, name := range []string{filepath.Dir(localSettings), localSettings} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return false
		}
	}
	if exists(filepath.Join(dir, filepath.Dir(localSettings), ".git")) {
		return false
	}
	if repositoryRoot(dir) == "" {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	// Nothing in the configuration of the project may make git run a program.
	git := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "ls-files",
		"--error-unmatch", "--", ":(icase)"+localSettings)
	git.Dir = dir
	git.Env = []string{"PATH=" + a.Env["PATH"], homeVariable + "=" + a.Env[homeVariable], "GIT_NO_LAZY_FETCH=1"}
	git.SysProcAttr = &syscall.SysProcAttr{}
	a.User.SetCredential(git)
	var exit *exec.ExitError
	return errors.As(git.Run(), &exit) && exit.ExitCode() == 1 // any other failure: not known
}

// decisionsFolder is the folder by whose name the CLI stores what the machine's user has decided about the project in
// dir: the root of its repository, that of the main checkout if it is in a linked worktree, or dir itself without git.
func decisionsFolder(dir string) string {
	root := repositoryRoot(dir)
	if root == "" {
		return dir
	}
	return mainCheckout(root)
}

// repositoryRoot is the root of the git checkout with dir; empty = there is none.
func repositoryRoot(dir string) string {
	for _, folder := range withParents(dir) {
		if exists(filepath.Join(folder, ".git")) {
			return folder
		}
	}
	return ""
}

// withParents are dir and the folders above it, up to the root of the file system.
func withParents(dir string) []string {
	list := []string{dir}
	for parent := filepath.Dir(dir); parent != dir; parent = filepath.Dir(dir) {
		list, dir = append(list, parent), parent
	}
	return list
}

// maxPath limits the size of git's files with one path, in bytes.
const maxPath = 16 << 10

// mainCheckout is the folder of the repository to which a linked worktree belongs; of any other checkout it is its root.
// Anyone who can write to a folder can make it look like a worktree, so the repository must name it, too.
func mainCheckout(root string) string {
	pathIn := func(dir, name string) string {
		data, err := safepath.ReadFile(filepath.Join(dir, name), maxPath)
		path := strings.TrimSpace(strings.TrimPrefix(string(data), "gitdir:"))
		if err != nil || path == "" {
			return ""
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return filepath.Clean(path)
	}
	folder := pathIn(root, ".git")
	common, named := pathIn(folder, "commondir"), pathIn(folder, "gitdir")
	if folder == "" || common == "" || filepath.Dir(folder) != filepath.Join(common, "worktrees") {
		return root
	}
	if own, err := safepath.Real(named); err != nil || own != filepath.Join(root, ".git") {
		return root
	}
	if filepath.Base(common) == ".git" {
		common = filepath.Dir(common)
	}
	if main, err := safepath.Real(common); err == nil {
		return main
	}
	return root
}

// exists reports whether there is, or may be, a file at path.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
