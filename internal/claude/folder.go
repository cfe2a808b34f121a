package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"magpie/internal/safepath"
)

// The variables for the folders of the CLI's state and of its login. The CLI updates the login in place with lock files
// beside it, so all processes can share one login, whichever of them renews it.
const (
	stateVariable = "CLAUDE_CONFIG_DIR"
	loginVariable = "CLAUDE_SECURESTORAGE_CONFIG_DIR"
)

// temporaryVariable is the folder for the images of a session and the output of its tools. By default all sessions of a
// project share one.
const temporaryVariable = "CLAUDE_CODE_TMPDIR"

// configured are the files and folders that the machine's user may use to configure the CLI. Everything else in its
// folder is state.
var configured = []string{
	"CLAUDE.md", "settings.json", "keybindings.json", "agents", "commands", "hooks", "output-styles", "plugins",
	"rules", "skills",
	"themes", "workflows",
}

// ofProject are the keys of a project in .claude.json that contain decisions of the machine's user. All other keys come
// from the project's sessions.
var ofProject = []string{
	"allowedTools", "disabledMcpjsonServers", "disabledMcpServers", "enabledMcpjsonServers", "enabledMcpServers",
	"hasClaudeMdExternalIncludesApproved", "hasClaudeMdExternalIncludesWarningShown", "hasCompletedProjectOnboarding",
	"hasTrustDialogAccepted", "mcpContextUris", "mcpServers",
}

// folder is where the agents of one chat keep their state.
type folder struct {
	path      string // empty = shared with the machine's user
	machine   string // the folder in which the machine's user configures the CLI
	decisions string // the file with that user's account, MCP servers and decisions about projects
}

// newFolder is a chat's folder at path, on a machine with this environment.
func newFolder(path string, env environment) folder {
	f := folder{path, env.configDir(), filepath.Join(env[homeVariable], ".claude.json")}
	if env[stateVariable] != "" {
		f.decisions = filepath.Join(f.machine, ".claude.json")
	}
	return f
}

// setVariables makes the CLI use the folder. Unless it is isolated, the login remains that of the machine's user.
func (f folder) setVariables(env environment, isolated bool) {
	login := f.path
	if !isolated {
		login = cmp.Or(env[loginVariable], env[stateVariable]) // empty = the CLI's default
	}
	env[stateVariable], env[loginVariable] = f.path, login
	env[temporaryVariable] = filepath.Join(f.path, temporaryName)
}

// prepare creates the folder. Unless it is isolated, it gets the configuration of the machine's user.
func (f folder) prepare(isolated bool) error {
	if err := os.MkdirAll(filepath.Join(f.path, temporaryName), 0o700); err != nil || isolated {
		return err
	}
	for _, name := range configured {
		if err := link(filepath.Join(f.machine, name), filepath.Join(f.path, name)); err != nil {
			return err
		}
	}
	return copyDecisions(f.decisions, filepath.Join(f.path, ".claude.json"))
}

// link makes path a symbolic link to target, or removes it if target does not exist.
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
	if err := os.RemoveAll(path); err != nil { // created by the CLI while target did not exist
		return err
	}
	return os.Symlink(target, path)
}

// copyDecisions copies the decisions of the machine's user, but nothing that comes from sessions. A missing file, or
// one that the CLI could not read either, changes nothing.
func copyDecisions(from, to string) error {
	data, err := safepath.ReadFile(from, mostConfigured)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, safepath.ErrNotRegular) {
		return nil
	} else if err != nil {
		return err
	}
	var all map[string]json.RawMessage
	var projects map[string]map[string]json.RawMessage
	// The CLI ignores a file that it cannot read, so no decision in it would apply either.
	if json.Unmarshal(data, &all) != nil || all == nil {
		return nil
	}
	if json.Unmarshal(all["projects"], &projects) != nil {
		projects = nil
	}
	// Costs, prompts and statistics of other sessions must not be readable for this chat's agents.
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

// replaceFile writes a file that only its owner may read, unless it already has this content. The rename makes the
// change atomic, since running agents read the file.
func replaceFile(path string, data []byte) error {
	if old, err := safepath.ReadFile(path, int64(len(data))); err == nil && bytes.Equal(old, data) {
		return nil
	}
	next := path + ".new"
	// A link or a pipe that an agent has put there must not be written to.
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(next, path)
}
