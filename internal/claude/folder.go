package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// The variables that say where the CLI keeps its state, and where it keeps its login. It writes the login in place,
// under locks that lie beside it. So there is one login, whichever process renews it.
const (
	stateVariable = "CLAUDE_CONFIG_DIR"
	loginVariable = "CLAUDE_SECURESTORAGE_CONFIG_DIR"
)

// temporaryVariable says where the CLI keeps the pictures of a session and what its tools print. Usually that is one
// folder for all sessions of a project.
const temporaryVariable = "CLAUDE_CODE_TMPDIR"

// configured are the files and folders in which the machine's user configures the CLI. All else in its folder is its
// state.
var configured = []string{
	"CLAUDE.md", "settings.json", "keybindings.json", "agents", "commands", "hooks", "output-styles", "plugins", "rules", "skills",
	"themes", "workflows",
}

// ofProject is what the machine's user has decided about a project, in .claude.json. What else stands there of a
// project comes from its sessions.
var ofProject = []string{
	"allowedTools", "disabledMcpjsonServers", "disabledMcpServers", "enabledMcpjsonServers", "enabledMcpServers",
	"hasClaudeMdExternalIncludesApproved", "hasClaudeMdExternalIncludesWarningShown", "hasCompletedProjectOnboarding",
	"hasTrustDialogAccepted", "mcpContextUris", "mcpServers",
}

// folder is where the agents of one chat keep their state.
type folder struct {
	path      string // empty = they have none of their own
	machine   string // the folder in which the machine's user configures the CLI
	decisions string // the file with that user's account, MCP servers and decisions about projects
}

// of is the configuration of one chat's agents.
func (c Config) of(owner string) (Config, error) {
	if c.Folder == nil || owner == backgroundOwner {
		return c, nil
	}
	id, err := c.Folder(owner)
	if err != nil {
		return c, fmt.Errorf("folder of a chat's agents: %w", err)
	}
	env := c.environ()
	c.folder = folder{filepath.Join(c.StateDir(), id), c.machineDir(), filepath.Join(env.value("HOME"), ".claude.json")}
	if env.value(stateVariable) != "" {
		c.folder.decisions = filepath.Join(c.folder.machine, ".claude.json")
	}
	c.Env = maps.Clone(c.Env)
	if c.Env == nil {
		c.Env = map[string]string{}
	}
	c.Env[stateVariable], c.Env[loginVariable] = c.folder.path, c.folder.path
	c.Env[temporaryVariable] = filepath.Join(c.folder.path, "tmp")
	if c.ConfigDir != isolatedDir {
		c.Env[loginVariable] = env.value(loginVariable)
		if c.Env[loginVariable] == "" {
			c.Env[loginVariable] = env.value(stateVariable) // empty = where the CLI keeps its login by itself
		}
	}
	return c, nil
}

// machineDir is the folder of the CLI that the user of the machine configures, and is logged in with.
func (c Config) machineDir() string {
	env := c.environ()
	if dir := env.value(stateVariable); dir != "" {
		return dir
	}
	return filepath.Join(env.value("HOME"), ".claude")
}

// furnish makes the folder ready for a process that may read the folder files. The state in it stays as it is.
func (c Config) furnish(files string) error {
	as, err := c.account()
	if err != nil {
		return err
	}
	return as.do(func() error {
		if err := os.MkdirAll(filepath.Join(c.folder.path, "tmp"), 0o700); err != nil {
			return fmt.Errorf("folder of a chat's agents: %w", err)
		}
		if c.ConfigDir != isolatedDir {
			for _, name := range configured {
				if err := link(filepath.Join(c.folder.machine, name), filepath.Join(c.folder.path, name)); err != nil {
					return fmt.Errorf("folder of a chat's agents: %w", err)
				}
			}
			if err := copyDecisions(c.folder.decisions, filepath.Join(c.folder.path, ".claude.json")); err != nil {
				return fmt.Errorf("folder of a chat's agents: %w", err)
			}
		}
		return c.writeOwnSettings(files)
	})
}

// link makes path lead to target, or to nothing when there is none.
func link(target, path string) error {
	_, err := os.Stat(target)
	there := err == nil
	old, err := os.Readlink(path)
	switch {
	case there && err == nil && old == target:
		return nil
	case !there && err == nil:
		return os.Remove(path)
	case !there:
		return nil
	}
	if err := os.RemoveAll(path); err != nil { // what the CLI has made for itself while there was nothing
		return err
	}
	return os.Symlink(target, path)
}

// copyDecisions copies what the machine's user has decided, without what comes from sessions. A file that is not there,
// or that the CLI could not read either, changes nothing.
func copyDecisions(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	var projects map[string]map[string]json.RawMessage
	if json.Unmarshal(data, &all) != nil || all == nil {
		return nil
	}
	if json.Unmarshal(all["projects"], &projects) != nil {
		projects = nil
	}
	for _, p := range projects {
		maps.DeleteFunc(p, func(key string, _ json.RawMessage) bool { return !slices.Contains(ofProject, key) })
	}
	delete(all, "projects")
	if len(projects) > 0 {
		if all["projects"], err = json.Marshal(projects); err != nil {
			return err
		}
	}
	return replaceFile(to, encode(all))
}

// replaceFile writes a file that only its owner may read, unless it holds just that.
func replaceFile(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	next := path + ".new"
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
