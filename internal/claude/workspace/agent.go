package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude/account"
	"magpie/internal/claude/transcript"
	"magpie/internal/i18n"
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

// Homes are the home folders of this program and of its agents.
func (c Config) Homes() []string {
	var list []string
	for _, kv := range c.Environ {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			list = append(list, home)
		}
	}
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		list = append(list, u.HomeDir)
	}
	if a, err := account.Find(c.User); err == nil && a != nil {
		list = append(list, a.Home)
	}
	return list
}

// Group is the primary group of the user that runs agents; 0 if they run as this program. Agents may
// read files that this group may read.
func (c Config) Group() (int, error) {
	as, err := account.Find(c.User)
	_, group := as.IDs()
	return int(group), err
}

// AgentUsers are the users, besides this program's, as whom agents run.
func (c Config) AgentUsers() ([]uint32, error) {
	as, err := account.Find(c.User)
	if err != nil || as == nil {
		return nil, err
	}
	user, _ := as.IDs()
	return []uint32{user}, nil
}

// StateDir is the folder for files that only agents need. Agents of another user could not reach one below the
// program's own folder.
func (c Config) StateDir() string {
	if c.User != "" {
		as, _ := account.Find(c.User) // an unknown one cannot start anything
		return filepath.Join(newEnvironment(c.Environ, as, c.Env)[homeVariable], ".magpie", c.Instance)
	}
	return c.State
}

// Prepare writes settings that cannot be passed as arguments. It must be called before the first agent starts.
func (c Config) Prepare() error {
	if c.Folder != nil && c.StateDir() == "" {
		return i18n.Mistakef("[claude] config_dir：没有存放各个聊天设置的文件夹",
			"[claude] config_dir: there is no folder for the chats' own settings")
	}
	s, err := readSettings(c.Settings)
	if err != nil || s == nil {
		return err
	}
	as, err := account.Find(c.User)
	if err != nil {
		return err
	}
	dir := stateDir(c.StateDir())
	for path, content := range map[string]settings{
		dir.settings(): s.withImposed(c.Command, c.AsksEverything()), dir.loginSettings(): s.withKeys(loginSettings),
	} {
		if err := writePrivate(as, path, content.encode()); err != nil {
			return err
		}
	}
	return nil
}

// writePrivate writes a file that only agents may read. It writes as the account: in a folder of that user, a symbolic
// link could lead this program anywhere.
func writePrivate(as *account.User, path string, data []byte) error {
	return as.RunAs(func() error {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		if err := replaceFile(path, data); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		return nil
	})
}

// stateDir is the folder for files that only agents need; see [Config.StateDir].
type stateDir string

// folder is the folder in which the agents of one chat keep their state.
func (d stateDir) folder(id string) string { return filepath.Join(string(d), id) }

// spareMark is a file that marks the folder with that ID as that of a spare process, possibly from before the program
// was killed.
func (d stateDir) spareMark(id string) string { return filepath.Join(string(d), "spares", id) }

// mark writes the mark of a spare process.
func (d stateDir) mark(id string) error {
	path := d.spareMark(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}

// settings is the settings file of all agents of chats.
func (d stateDir) settings() string { return filepath.Join(string(d), "settings.json") }

// chatSettings is the settings file of the agents that keep their state in folder.
func (d stateDir) chatSettings(folder string) string {
	return filepath.Join(string(d), "settings", filepath.Base(folder)+".json")
}

// loginSettings is the settings file of background tasks.
func (d stateDir) loginSettings() string { return filepath.Join(string(d), "login.json") }

// MarkSpare marks the agent's folder as that of a spare process.
func (a Agent) MarkSpare() error {
	return a.User.RunAs(func() error { return a.state.mark(filepath.Base(a.folder.path)) })
}

// RemoveFolder removes the folder of an agent without a chat, with its settings.
func (a Agent) RemoveFolder() error {
	id := filepath.Base(a.folder.path)
	return a.User.RunAs(func() error {
		if err := os.RemoveAll(a.folder.path); err != nil {
			return err
		}
		if err := os.RemoveAll(a.state.chatSettings(a.folder.path)); err != nil {
			return err
		}
		return os.RemoveAll(a.state.spareMark(id))
	})
}

// UnmarkSpare removes the mark of a spare process that has become a chat's.
func UnmarkSpare(c Config, folder string) error {
	if c.Folder == nil {
		return nil
	}
	a, err := NewAgent(c, folder)
	if err != nil {
		return err
	}
	return a.User.RunAs(func() error { return os.Remove(a.state.spareMark(folder)) })
}

// RemoveSpares removes the folders of spare processes that were left when the program was killed, except those that
// have become a chat's. files is the folder with the files of chats; empty = none. No process may be running.
func (c Config) RemoveSpares(files string, isChats func(folder string) (bool, error)) error {
	marks, err := os.ReadDir(filepath.Dir(stateDir(c.StateDir()).spareMark("x")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("spare processes of the last run: %w", err)
	}
	var errs []error
	for _, m := range marks {
		if uuid.Validate(m.Name()) != nil {
			continue
		}
		taken, err := isChats(m.Name())
		if err == nil && taken {
			err = UnmarkSpare(c, m.Name())
		} else if err == nil {
			var a Agent
			if a, err = NewAgent(c, m.Name()); err == nil {
				if files != "" {
					_ = os.Remove(filepath.Join(files, m.Name())) // it is empty
				}
				err = a.RemoveFolder()
			}
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("spare processes of the last run: %w", err)
	}
	return nil
}

// Transcripts returns those of owner's agents.
func (c Config) Transcripts(owner string) transcript.Files {
	a, err := c.AgentOf(owner)
	return transcript.New(filepath.Join(a.Env.configDir(), "projects"), a.User.RunAs, err)
}
