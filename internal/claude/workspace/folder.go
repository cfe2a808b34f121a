package workspace

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
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

// stateFile is the file in which the CLI keeps its own state, in its folder, or else in the home folder.
const stateFile = ".claude.json"

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
func newFolder(path string, env Environment) folder {
	f := folder{path, env.configDir(), filepath.Join(env[homeVariable], stateFile)}
	if env[stateVariable] != "" {
		f.decisions = filepath.Join(f.machine, stateFile)
	}
	return f
}

// setVariables makes the CLI use the folder. Unless it is isolated, the login remains that of the machine's user.
func (f folder) setVariables(env Environment, isolated bool) {
	login := f.path
	if !isolated {
		login = cmp.Or(env[loginVariable], env[stateVariable]) // empty = the CLI's default
	}
	env[stateVariable], env[loginVariable] = f.path, login
	env[temporaryVariable] = filepath.Join(f.path, temporaryName)
}

// prepare creates the folder. Unless it is isolated, it gets the configuration of the machine's user. What the CLI, or
// whatever runs as its user, has damaged there is written anew. repaired is what was lost by that; nil = nothing.
func (f folder) prepare(isolated bool) (repaired, err error) {
	for _, path := range []string{f.path, filepath.Join(f.path, temporaryName)} {
		if err := makeFolder(path); err != nil {
			return nil, err
		}
	}
	if !isolated {
		for _, name := range configured {
			if err := link(filepath.Join(f.machine, name), filepath.Join(f.path, name)); err != nil {
				return nil, err
			}
		}
		if err := copyDecisions(f.decisions, filepath.Join(f.path, stateFile)); err != nil {
			return nil, err
		}
	}
	return f.repairState()
}

// repairState replaces a state that the CLI could not read by its newest backup that it can, or removes it. Where there
// is a backup, the CLI (2.1.197 and 2.1.332) does not start with such a state; without one it writes a new one.
func (f folder) repairState() (repaired, err error) {
	path := filepath.Join(f.path, stateFile)
	_, damage := readState(path)
	if damage == nil || errors.Is(damage, fs.ErrNotExist) {
		return nil, nil
	}
	backups, err := fs.Glob(os.DirFS(f.path), "backups/"+stateFile+".backup.*")
	if err != nil {
		return nil, err
	}
	slices.Sort(backups) // the time is in the name
	for _, backup := range slices.Backward(backups) {
		if data, err := readState(filepath.Join(f.path, backup)); err == nil {
			return fmt.Errorf("%s: %w; taken from %s", path, damage, filepath.Base(backup)), replaceFile(path, data)
		}
	}
	return fmt.Errorf("%s: %w; it begins anew", path, damage), os.RemoveAll(path)
}

var errNoState = errors.New("not a JSON object")

// readState reads a state that the CLI can read.
func readState(path string) ([]byte, error) {
	data, err := safepath.ReadFile(path, maxConfigured)
	if err == nil && (!stream.ValidJSON(data) || !gjson.ParseBytes(data).IsObject()) {
		err = errNoState
	}
	return data, err
}

// makeFolder creates a folder of ours. A file or a link to nothing in its place gives way, but nothing that is not seen:
// others may create the folder at the same time.
func makeFolder(path string) error {
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		if to, err := os.Stat(path); err != nil || !to.IsDir() {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return os.MkdirAll(path, 0o700)
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

// RealDir is the folder as the CLI sees it: absolute and without symbolic links.
func RealDir(dir string) (string, error) {
	real, err := safepath.Real(dir)
	if err != nil {
		return "", fmt.Errorf("project path: %w", err)
	}
	return real, nil
}

// copyDecisions copies the decisions of the machine's user, but nothing that comes from sessions. A missing file, or
// one that the CLI could not read either, changes nothing.
func copyDecisions(from, to string) error {
	data, err := safepath.ReadFile(from, maxConfigured)
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
	// A link or a pipe that an agent has put there must not be written to. A folder gives way.
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
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
