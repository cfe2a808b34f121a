// Package claude runs the Claude Code CLI: it starts processes, speaks stream-json with them in both directions,
// stops them with everything they started, and knows where their transcripts lie.
package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"magpie/internal/configtype"
)

// Duration is a length of time in the configuration.
type Duration = configtype.Duration

// Config is the [claude] section.
type Config struct {
	Command string `toml:"command" env:"COMMAND"` // the CLI; a name on PATH or a path
	// working folder of chats that have none of their own
	Project string `toml:"project" env:"PROJECT"`
	// passed on every start; empty = the CLI's default
	Model string `toml:"model" env:"MODEL"`
	// that chats may choose from; none = any
	Models []string `toml:"models" env:"MODELS"`
	// low | medium | high | xhigh | max; empty = the CLI's default
	Effort string `toml:"effort" env:"EFFORT"`
	// default | acceptEdits | plan | dontAsk | auto | bypassPermissions
	PermissionMode string `toml:"permission_mode" env:"PERMISSION_MODE"`
	// rules such as "Read" or "Bash(go vet ./...)"
	AllowedTools []string `toml:"allowed_tools" env:"ALLOWED_TOOLS"`
	// changes | everything: what the agent asks people about, beside what is allowed
	Ask string `toml:"ask" env:"ASK"`
	// of the CLI, that chats may give as "//name" beside the harmless ones
	Commands []string `toml:"slash_commands" env:"SLASH_COMMANDS"`
	// how long a process waits for its chat's next message; 0 = one process per turn
	KeepAlive Duration `toml:"keep_alive" env:"KEEP_ALIVE"`
	MaxTurns  Count    `toml:"max_turns" env:"MAX_TURNS"` // that run at the same time
	// running, and waiting for their chat's next message
	MaxProcesses Count `toml:"max_processes" env:"MAX_PROCESSES"`
	// no output while no tool runs: the model's API hangs
	Silence     Duration `toml:"silence_timeout" env:"SILENCE_TIMEOUT"`
	ToolSilence Duration `toml:"tool_timeout" env:"TOOL_TIMEOUT"` // no output while a tool runs
	TurnLimit   Duration `toml:"turn_timeout" env:"TURN_TIMEOUT"`
	// a summary, a title, or what else is asked apart from the chats
	TaskLimit Duration `toml:"background_timeout" env:"BACKGROUND_TIMEOUT"`
	// added to the CLI's environment
	Env map[string]string `toml:"env" env:"ENV" envKeyValSeparator:"="`
	// of user, project and local: whose settings and instructions (CLAUDE.md) the CLI reads
	SettingSources []string `toml:"setting_sources" env:"SETTING_SOURCES"`
	// more settings of the CLI, which count first: a JSON object, or the path of a file with one
	Settings string `toml:"settings" env:"SETTINGS"`
	// per-chat | isolated: what of the CLI each chat has for itself: its sessions, or its login and settings as well
	ConfigDir string `toml:"config_dir" env:"CONFIG_DIR"`
	// user of this machine as whom agents run; empty = as this program
	User string `toml:"user" env:"USER"`

	// Instance names the program's database. The processes of one instance are told from those of another by it; see
	// [Sweep].
	Instance string `toml:"-" env:"-"`
	// Environ is the environment from which the allow list picks, as "NAME=value". The caller supplies it.
	Environ []string `toml:"-" env:"-"`
	// Grace is how long an agent that is told to stop its turn may take for each step; 0 is the usual. Tests on a busy
	// machine are more patient.
	Grace time.Duration `toml:"-" env:"-"`
	// Quiet is how long nothing may go on in the chats before the agent is asked apart from them; 0 is the usual. Tests
	// that are about the answer do not wait so long.
	Quiet time.Duration `toml:"-" env:"-"`
	// Machine tells how much memory there is, as /proc and /sys do; nil = this machine.
	Machine fs.FS `toml:"-" env:"-"`
	// State is the folder for what only agents need. The caller supplies it.
	State string `toml:"-" env:"-"`
	// Data is the folder of the program's data, and Private are its files with secrets: off limits to agents. The
	// caller supplies them.
	Data    string   `toml:"-" env:"-"`
	Private []string `toml:"-" env:"-"`
	// Folder names the folder, below State, in which the agents of a chat keep their state, by the owner of their
	// processes. The caller supplies it; nil = they keep it where the CLI of the machine's user does.
	Folder func(owner string) (id string, err error) `toml:"-" env:"-" json:"-"`

	folder folder `toml:"-" env:"-"`
}

// Defaults is the configuration of a program that configures nothing.
func Defaults() Config {
	return Config{
		Command: "claude", Project: ".", PermissionMode: "default",
		KeepAlive: Duration{Duration: 5 * time.Minute}, Silence: Duration{Duration: 3 * time.Minute}, ToolSilence: Duration{Duration: 30 * time.Minute}, TurnLimit: Duration{Duration: 2 * time.Hour},
		TaskLimit: Duration{Duration: 2 * time.Minute},
		// What the owner has allowed himself in a terminal is "local": it is not meant for those who write in chats.
		SettingSources: []string{"user", "project"}, ConfigDir: perChatDir, Ask: askChanges,
	}
}

// PermissionModes are those of the CLI, by how much they allow, the strictest first.
var PermissionModes = []string{"plan", "dontAsk", "default", "acceptEdits", "auto", "bypassPermissions"}

// Validate reports everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	if _, err := exec.LookPath(c.Command); err != nil {
		errs = append(errs, fmt.Errorf("[claude] command: %w (install it with: npm install -g @anthropic-ai/claude-code)", err))
	}
	if info, err := os.Stat(c.Project); err != nil {
		errs = append(errs, fmt.Errorf("[claude] project: %w", err))
	} else if !info.IsDir() {
		errs = append(errs, fmt.Errorf("[claude] project: %s is not a folder", c.Project))
	}
	if !slices.Contains(PermissionModes, c.PermissionMode) {
		errs = append(errs, fmt.Errorf("[claude] permission_mode %q: want one of %s", c.PermissionMode, strings.Join(PermissionModes, ", ")))
	}
	errs = append(errs, c.checkAsk())
	errs = append(errs, c.checkModels()...)
	errs = append(errs, c.checkCommands()...)
	errs = append(errs, checkAllowed("[claude] allowed_tools", c.AllowedTools))
	for name, n := range map[string]Count{"max_turns": c.MaxTurns, "max_processes": c.MaxProcesses} {
		if n < 0 {
			errs = append(errs, fmt.Errorf(`[claude] %s %d: want at least 1, or "auto"`, name, n))
		}
	}
	if c.KeepAlive.Duration < 0 {
		errs = append(errs, errors.New("[claude] keep_alive: want 0 or more"))
	}
	for name, d := range map[string]Duration{"silence_timeout": c.Silence, "tool_timeout": c.ToolSilence, "turn_timeout": c.TurnLimit, "background_timeout": c.TaskLimit} {
		if d.Duration <= 0 {
			errs = append(errs, fmt.Errorf("[claude] %s: want more than 0", name))
		}
	}
	return errors.Join(append(errs, c.checkPolicy())...)
}

// Resolve makes the paths of c absolute: the CLI is started in the project's folder, not in ours.
func (c Config) Resolve() (Config, error) {
	command, err := exec.LookPath(c.Command)
	if err != nil {
		return c, fmt.Errorf("[claude] command: %w", err)
	}
	if c.Command, err = filepath.Abs(command); err != nil {
		return c, fmt.Errorf("[claude] command: %w", err)
	}
	if c.Project, err = filepath.Abs(c.Project); err != nil {
		return c, fmt.Errorf("[claude] project: %w", err)
	}
	if s := strings.TrimSpace(c.Settings); s != "" && !strings.HasPrefix(s, "{") {
		if c.Settings, err = filepath.Abs(s); err != nil {
			return c, fmt.Errorf("[claude] settings: %w", err)
		}
	}
	return c, nil
}
