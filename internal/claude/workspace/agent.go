package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/account"
	"magpie/internal/safepath"
)

// Agent is how the CLI runs for one owner: its user, environment and files.
type Agent struct {
	Config Config
	User   *account.User // nil = this program's user
	Env    Environment
	state  stateDir
	folder folder // zero = shared with the machine's user
}

// AgentOf returns the agent of owner: of a chat, or of background tasks, whose owner is empty.
func (c Config) AgentOf(owner string) (Agent, error) {
	if c.Folder == nil || owner == "" {
		return NewAgent(c, "")
	}
	id, err := c.Folder(owner)
	if err != nil {
		return Agent{}, fmt.Errorf("folder of a chat's agents: %w", err)
	}
	return NewAgent(c, id)
}

// NewAgent returns the agent whose folder has that ID; empty = it shares that of the machine's user.
func NewAgent(c Config, id string) (Agent, error) {
	as, err := account.Find(c.User)
	if err != nil {
		return Agent{}, err
	}
	a := Agent{
		Config: c, User: as, Env: newEnvironment(c.Environ, as, c.Env), state: stateDir(c.StateDir()),
	}
	if id == "" {
		return a, nil
	}
	a.folder = newFolder(a.state.folder(id), a.Env)
	a.folder.setVariables(a.Env, c.ConfigDir == isolatedDir)
	return a, nil
}

// Prepare creates the agent's folder for a process. It keeps existing state as far as the CLI can read it.
func (a Agent) Prepare(spec Spec) error {
	if a.folder.path == "" {
		return nil
	}
	var repaired error
	err := a.User.RunAs(func() (err error) {
		if repaired, err = a.folder.prepare(a.Config.ConfigDir == isolatedDir); err != nil {
			return fmt.Errorf("folder of a chat's agents: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = a.User.RunAs(func() error { return a.writeSettings(spec) })
	if errors.Is(err, errDamaged) { // written at the start of the program, and since then within reach of the agents
		repaired = errors.Join(repaired, err)
		if err = a.Config.Prepare(); err == nil {
			err = a.User.RunAs(func() error { return a.writeSettings(spec) })
		}
	}
	if err != nil {
		return fmt.Errorf("settings of the agents: %w", err)
	}
	if repaired != nil && a.Config.Repaired != nil {
		a.Config.Repaired(repaired)
	}
	return nil
}

// RemoveState removes the folders and the settings of all agents with the agent's configuration.
func (a Agent) RemoveState() error {
	return a.User.RunAs(func() error { return os.RemoveAll(string(a.state)) })
}

// settingsArgument passes the settings to the CLI. The operator's settings may contain secrets, and arguments are
// visible to everyone on the machine, so they are passed in a file; see [Config.Prepare].
func (a Agent) settingsArgument() string {
	switch {
	case a.folder.path != "":
		return "--settings=" + a.state.chatSettings(a.folder.path)
	case strings.TrimSpace(a.Config.Settings) == "":
		return "--settings=" + string(settings{}.withImposed(a.Config.Command, a.Config.AsksEverything()).encode())
	}
	return "--settings=" + a.state.settings()
}

var errDamaged = errors.New("damaged, written anew")

// writeSettings writes the settings of a chat's agent: those of all agents, and the rules.
func (a Agent) writeSettings(spec Spec) error {
	s := settings{}.withImposed(a.Config.Command, a.Config.AsksEverything())
	if strings.TrimSpace(a.Config.Settings) != "" {
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
	if !slices.Contains(a.Config.AllowedTools, "Bash") { // otherwise the operator has allowed all of Bash
		s.addRules("ask", bashAskRules(a.Config)...)
	}
	if spec.Mode == acceptEditsMode {
		s.addRules("ask", guardRules(a.Config.Guarded)...)
	}
	path := a.state.chatSettings(a.folder.path)
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return replaceFile(path, s.encode())
}
