// Package workspace is what agents work with: the configuration, the user and the environment of their processes, the
// folders with their state, the settings and MCP servers that the CLI gets, and what is off limits. It says how the
// process of a [Spec] is started.
//
// It does not know turns, and which processes run.
package workspace

import (
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"magpie/internal/claude/account"
	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// Config is the [claude] section.
type Config struct {
	Command string `toml:"command" env:"COMMAND"` // the CLI; a name on PATH or a path
	// working folder of chats without one of their own
	Project string `toml:"project" env:"PROJECT"`
	// passed at every start; empty = the CLI's default
	Model string `toml:"model" env:"MODEL"`
	// models that chats may choose from; none = any
	Models []string `toml:"models" env:"MODELS"`
	// low | medium | high | xhigh | max; empty = the CLI's default
	Effort string `toml:"effort" env:"EFFORT"`
	// default | acceptEdits | plan | dontAsk | auto | bypassPermissions
	PermissionMode string `toml:"permission_mode" env:"PERMISSION_MODE"`
	// rules such as "Read" or "Bash(go vet ./...)"
	AllowedTools []string `toml:"allowed_tools" env:"ALLOWED_TOOLS"`
	// changes | everything: what the agent asks about, unless a rule allows it
	Ask string `toml:"ask" env:"ASK"`
	// commands of the CLI that chats may use as "//name", besides the safe ones
	Commands []string `toml:"slash_commands" env:"SLASH_COMMANDS"`
	// how long a process waits for its chat's next message; 0 = one process per turn
	KeepAlive KeepAlive `toml:"keep_alive" env:"KEEP_ALIVE"`
	MaxTurns  AutoCount `toml:"max_turns" env:"MAX_TURNS"` // concurrent turns
	// processes, running or idle
	MaxProcesses AutoCount `toml:"max_processes" env:"MAX_PROCESSES"`
	// processes started ahead for chats that have none yet, one for each recent combination of project, mode, model and
	// effort; 0 = none
	Spare int `toml:"spare" env:"SPARE"`
	// queue | steer: how a message is handled that arrives while a turn of its chat runs
	WhileBusy string `toml:"while_busy" env:"WHILE_BUSY"`
	// suggest the next question below answers, if the CLI can; each costs most of what a short answer costs
	Suggestions bool `toml:"suggestions" env:"SUGGESTIONS"`
	// timeout without output while no tool runs: the model's API hangs
	Silence     configtype.Duration `toml:"silence_timeout" env:"SILENCE_TIMEOUT"`
	ToolSilence configtype.Duration `toml:"tool_timeout" env:"TOOL_TIMEOUT"` // timeout without output while a tool runs
	TurnLimit   configtype.Duration `toml:"turn_timeout" env:"TURN_TIMEOUT"`
	// how long commands and subagents may keep running in the background after their turn, if the CLI can; 0 = they end
	// with it
	BackgroundLimit configtype.Duration `toml:"background_limit" env:"BACKGROUND_LIMIT"`
	// timeout of a background task, such as a summary or a title
	TaskLimit configtype.Duration `toml:"background_timeout" env:"BACKGROUND_TIMEOUT"`
	// added to the CLI's environment
	Env map[string]string `toml:"env" env:"ENV" envKeyValSeparator:"="`
	// user, project, local: the CLI's sources of settings and instructions (CLAUDE.md)
	SettingSources []string `toml:"setting_sources" env:"SETTING_SOURCES"`
	// additional settings of the CLI, which take precedence: a JSON object, or the path of a file with one
	Settings string `toml:"settings" env:"SETTINGS"`
	// per-chat | isolated: whether each chat has only its own sessions, or also its own login and settings
	ConfigDir string `toml:"config_dir" env:"CONFIG_DIR"`
	// "all" | "none" | names: which MCP servers of the machine's user and of the project agents get
	MCP MCPServers `toml:"mcp" env:"MCP"`
	// this machine's user for running agents; empty = this program's user
	User string `toml:"user" env:"USER"`
	// auto | off | require: whether the kernel hides this program's files from agents
	Wall WallMode `toml:"wall" env:"WALL"`

	// Instance identifies the program's database. A later run of the program finds the
	// processes of this instance by it.
	Instance string `toml:"-" env:"-"`
	// Environ is the environment from which the allow list selects, as "NAME=value". The caller supplies it.
	Environ []string `toml:"-" env:"-"`
	// Grace is the time for each step of stopping a turn; 0 is the default. Tests on a busy machine use more.
	Grace time.Duration `toml:"-" env:"-"`
	// Quiet is how long the chats must be quiet before a background task runs; 0 is the default. Tests of the replies
	// use less.
	Quiet time.Duration `toml:"-" env:"-"`
	// Ahead is how long a process that was started ahead of a turn waits for it; 0 is the default. Tests use less.
	Ahead time.Duration `toml:"-" env:"-"`
	// MemoryPeriod is how often the free memory is read while processes are idle; 0 is the default. Tests use less.
	MemoryPeriod time.Duration `toml:"-" env:"-"`
	// Machine is a file system with the /proc and /sys from which the free memory is read; nil = this machine's.
	Machine fs.FS `toml:"-" env:"-"`
	// State is the folder for files that only agents need. The caller supplies it.
	State string `toml:"-" env:"-"`
	// Data is the folder of the program's data, and Private are its files with secrets: agents may not access them. The
	// caller supplies both.
	Data    string   `toml:"-" env:"-"`
	Private []string `toml:"-" env:"-"`
	// Guarded are patterns of the names of files and folders that make others obey: changes to them are asked about in
	// acceptEdits, too. The caller supplies them.
	Guarded []string `toml:"-" env:"-"`
	// Folder returns the ID of the folder, below State, in which the agents of a chat keep their state, by the owner of
	// their processes. The caller supplies it; nil = they use that of the machine's user.
	Folder func(owner string) (id string, err error) `toml:"-" env:"-" json:"-"`
	// Unknown is called with the kind of each line of the CLI that no version known so far writes. It must not block. nil =
	// nobody wants to know.
	Unknown func(kind string) `toml:"-" env:"-" json:"-"`
	// Repaired is told what of the agents' state was damaged, and was written anew before a start; nil = nobody is.
	Repaired func(damage error) `toml:"-" env:"-" json:"-"`
}

// Defaults returns the default configuration.
func Defaults() Config {
	minutes := func(n time.Duration) configtype.Duration { return configtype.Duration{Duration: n * time.Minute} }
	return Config{
		Command: "claude", Project: DefaultProject, PermissionMode: "default",
		KeepAlive: AutoKeepAlive, Spare: 1, WhileBusy: Queues,
		Silence: minutes(3), ToolSilence: minutes(30), TurnLimit: minutes(120), BackgroundLimit: minutes(30),
		TaskLimit: minutes(2),
		// "local" is not read: it has what the owner has allowed for the terminal, which is not meant for chats.
		SettingSources: []string{"user", "project"}, ConfigDir: perChatDir, Ask: askChanges,
		MCP: MCPServers{allServers}, Wall: wallAuto,
	}
}

// DefaultProject is the default working folder of agents. It is created if missing.
const DefaultProject = "~/magpie"

// PermissionModes are those of the CLI, from the strictest to the most permissive.
var PermissionModes = []string{"plan", "dontAsk", "default", acceptEditsMode, autoMode, "bypassPermissions"}

// acceptEditsMode is the permission mode in which the agent changes files of the project unasked.
const acceptEditsMode = "acceptEdits"

// autoMode is the permission mode in which a model decides what the agent may do.
const autoMode = "auto"

// The values of [Config.WhileBusy]: the message waits for the next turn, or is passed to the running one.
const (
	Queues = "queue"
	Steers = "steer"
)

// Validate reports all problems with c.
func (c Config) Validate() error {
	var errs []error
	if path, err := exec.LookPath(c.Command); err != nil {
		errs = append(errs, explainMissing(c.Command, err))
	} else if err := refuseBatchFile(runtime.GOOS, path); err != nil {
		errs = append(errs, err)
	}
	if !slices.Contains(PermissionModes, c.PermissionMode) {
		errs = append(errs, i18n.Mistakef("[claude] permission_mode %q：应为 %s 之一",
			"[claude] permission_mode %q: must be one of %s", c.PermissionMode, i18n.Listing(PermissionModes)))
	}
	errs = append(errs, checkAsk(c))
	if err := c.MCP.check(); err != nil {
		errs = append(errs, i18n.Mistakef("[claude] mcp：%v", "[claude] mcp: %v", err))
	}
	errs = append(errs, c.checkModels()...)
	errs = append(errs, c.SlashCommands().validate()...)
	errs = append(errs, checkAllowed("[claude] allowed_tools", c.AllowedTools))
	// Zero is "auto"; only a negative number is a mistake.
	for name, n := range map[string]AutoCount{"max_turns": c.MaxTurns, "max_processes": c.MaxProcesses} {
		if n < 0 {
			errs = append(errs, i18n.Mistakef(`[claude] %s %d：应为 1 或更大的整数，或 "auto"`,
				`[claude] %s %d: must be a whole number, 1 or more, or "auto"`, name, int(n)))
		}
	}
	if c.WhileBusy != Queues && c.WhileBusy != Steers {
		errs = append(errs, i18n.Mistakef("[claude] while_busy %q：应为 %s 或 %s",
			"[claude] while_busy %q: must be %s or %s", c.WhileBusy, Queues, Steers))
	}
	if c.Spare < 0 {
		errs = append(errs, i18n.Mistakef("[claude] spare：不能是负数", "[claude] spare: must be 0 or more"))
	}
	if c.KeepAlive.Duration < 0 && c.KeepAlive != AutoKeepAlive {
		errs = append(errs, i18n.Mistakef("[claude] keep_alive：%v", "[claude] keep_alive: %v", errKeepAlive))
	}
	if c.BackgroundLimit.Duration < 0 {
		errs = append(errs, i18n.Mistakef("[claude] background_limit：不能是负数",
			"[claude] background_limit: must be 0 or more"))
	}
	for name, d := range map[string]configtype.Duration{
		"silence_timeout": c.Silence, "tool_timeout": c.ToolSilence, "turn_timeout": c.TurnLimit,
		"background_timeout": c.TaskLimit,
	} {
		if d.Duration <= 0 {
			errs = append(errs, i18n.Mistakef("[claude] %s：必须大于 0", "[claude] %s: must be more than 0", name))
		}
	}
	return errors.Join(append(errs, c.checkPolicy())...)
}

// Resolve makes the paths of c absolute: the CLI is started in the project's folder, not in ours.
func (c Config) Resolve() (Config, error) {
	command, err := exec.LookPath(c.Command)
	if err != nil {
		return c, i18n.Mistakef("[claude] command：%v", "[claude] command: %v", err)
	}
	// LookPath may return a relative path, which would be looked up in the project's folder.
	if c.Command, err = filepath.Abs(command); err != nil {
		return c, i18n.Mistakef("[claude] command：%v", "[claude] command: %v", err)
	}
	if c.Project, err = filepath.Abs(c.Project); err != nil {
		return c, i18n.Mistakef("[claude] project：%v", "[claude] project: %v", err)
	}
	if s := strings.TrimSpace(c.Settings); s != "" && !strings.HasPrefix(s, "{") {
		if c.Settings, err = filepath.Abs(s); err != nil {
			return c, i18n.Mistakef("[claude] settings：%v", "[claude] settings: %v", err)
		}
	}
	return c, nil
}

// The values of [Config.Ask].
const (
	askChanges    = "changes"
	askEverything = "everything"
)

// AsksEverything reports whether the agent asks before each use of a tool. By default the CLI runs read-only commands
// without asking.
func (c Config) AsksEverything() bool { return c.Ask == askEverything }

// checkAsk rejects a combination that would silently deny every tool: dontAsk never sends a permission request (CLI
// 2.1.197).
func checkAsk(c Config) error {
	switch {
	case c.Ask != "" && c.Ask != askChanges && c.Ask != askEverything:
		return i18n.Mistakef("[claude] ask %q：应为 %s 或 %s",
			"[claude] ask %q: must be %s or %s", c.Ask, askChanges, askEverything)
	case c.AsksEverything() && c.PermissionMode == "dontAsk":
		return i18n.Mistakef(
			`[claude] ask = "everything" 和不询问任何人的 permission_mode = "dontAsk" 一起用，就什么都做不了：换一个模式`,
			`[claude] ask = "everything" allows nothing with permission_mode = "dontAsk", which asks nobody: choose another mode`)
	}
	return nil
}

// The values of [Config.ConfigDir].
const (
	perChatDir  = "per-chat"
	isolatedDir = "isolated"
)

// HasOwnLogins reports whether the agents of each chat have a login of their own.
func (c Config) HasOwnLogins() bool { return c.ConfigDir == isolatedDir }

// settingSources are the places from which the CLI can read settings.
var settingSources = []string{"user", "project", "local"}

// checkPolicy reports all mistakes at once, so that a configuration needs only one correction.
func (c Config) checkPolicy() error {
	var errs []error
	for _, s := range c.SettingSources {
		if !slices.Contains(settingSources, s) {
			errs = append(errs, i18n.Mistakef("[claude] setting_sources %q：应为 %s 之一",
				"[claude] setting_sources %q: must be one of %s", s, i18n.Listing(settingSources)))
		}
	}
	if c.ConfigDir != "" && c.ConfigDir != perChatDir && c.ConfigDir != isolatedDir {
		errs = append(errs, i18n.Mistakef("[claude] config_dir %q：应为 %s 或 %s",
			"[claude] config_dir %q: must be %s or %s", c.ConfigDir, perChatDir, isolatedDir))
	}
	if _, err := readSettings(c.Settings); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, c.Wall.check())
	as, err := account.Find(c.User)
	return errors.Join(append(errs, err, as.Check())...)
}
