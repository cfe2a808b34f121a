package claude

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/safepath"
)

// agent is how the CLI runs for one owner: its user, environment and files.
type agent struct {
	cfg     Config
	account *account // nil = this program's user
	env     environment
	state   stateDir
	folder  folder // zero = shared with the machine's user
}

// agentOf returns the agent of owner: of a chat, or of background tasks, whose owner is empty.
func (c Config) agentOf(owner string) (agent, error) {
	if c.Folder == nil || owner == "" {
		return newAgent(c, "")
	}
	id, err := c.Folder(owner)
	if err != nil {
		return agent{}, fmt.Errorf("folder of a chat's agents: %w", err)
	}
	return newAgent(c, id)
}

// newAgent returns the agent whose folder has that ID; empty = it shares that of the machine's user.
func newAgent(c Config, id string) (agent, error) {
	as, err := findAccount(c.User)
	if err != nil {
		return agent{}, err
	}
	a := agent{
		cfg: c, account: as, env: newEnvironment(c.Environ, as, c.Env), state: stateDir(c.StateDir()),
	}
	if id == "" {
		return a, nil
	}
	a.folder = newFolder(a.state.folder(id), a.env)
	a.folder.setVariables(a.env, c.ConfigDir == isolatedDir)
	return a, nil
}

// prepare creates the agent's folder for a process. It keeps existing state as far as the CLI can read it.
func (a agent) prepare(spec Spec) error {
	if a.folder.path == "" {
		return nil
	}
	var repaired error
	err := a.account.runAs(func() (err error) {
		if repaired, err = a.folder.prepare(a.cfg.ConfigDir == isolatedDir); err != nil {
			return fmt.Errorf("folder of a chat's agents: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = a.account.runAs(func() error { return a.writeSettings(spec) })
	if errors.Is(err, errDamaged) { // written at the start of the program, and since then within reach of the agents
		repaired = errors.Join(repaired, err)
		if err = a.cfg.Prepare(); err == nil {
			err = a.account.runAs(func() error { return a.writeSettings(spec) })
		}
	}
	if err != nil {
		return fmt.Errorf("settings of the agents: %w", err)
	}
	if repaired != nil && a.cfg.Repaired != nil {
		a.cfg.Repaired(repaired)
	}
	return nil
}

// removeState removes the folders and the settings of all agents with the agent's configuration.
func (a agent) removeState() error {
	return a.account.runAs(func() error { return os.RemoveAll(string(a.state)) })
}

// settingsArgument passes the settings to the CLI. The operator's settings may contain secrets, and arguments are
// visible to everyone on the machine, so they are passed in a file; see [Config.Prepare].
func (a agent) settingsArgument() string {
	switch {
	case a.folder.path != "":
		return "--settings=" + a.state.chatSettings(a.folder.path)
	case strings.TrimSpace(a.cfg.Settings) == "":
		return "--settings=" + string(settings{}.withImposed(a.cfg.Command, a.cfg.AsksEverything()).encode())
	}
	return "--settings=" + a.state.settings()
}

var errDamaged = errors.New("damaged, written anew")

// writeSettings writes the settings of a chat's agent: those of all agents, and the rules.
func (a agent) writeSettings(spec Spec) error {
	s := settings{}.withImposed(a.cfg.Command, a.cfg.AsksEverything())
	if strings.TrimSpace(a.cfg.Settings) != "" {
		data, err := safepath.ReadFile(a.state.settings(), maxConfigured)
		if err == nil {
			err = json.Unmarshal(data, &s)
		}
		// It may say null, too: the agents' user can write to it.
		if v := gjson.ParseBytes(s["permissions"]); err != nil || s == nil || v.Exists() && checkPermissions(v) != nil {
			return fmt.Errorf("%s: %w", a.state.settings(), errDamaged)
		}
	}
	s.addRules("deny", a.offLimits(spec.Files)...)
	if !slices.Contains(a.cfg.AllowedTools, "Bash") { // otherwise the operator has allowed all of Bash
		s.addRules("ask", bashAskRules(a.cfg)...)
	}
	if spec.Mode == acceptEditsMode {
		s.addRules("ask", guardRules(a.cfg.Guarded)...)
	}
	path := a.state.chatSettings(a.folder.path)
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return replaceFile(path, s.encode())
}
