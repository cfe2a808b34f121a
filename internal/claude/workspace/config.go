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
	"syscall"
	"time"

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

// NodeForCLI is the oldest major version of Node.js whose npm is to install the CLI. Once installed, the CLI does not
// need it.
const NodeForCLI = 22

// HasNPM reports whether the CLI can be installed as the pages say: with the npm of Node.js.
func HasNPM() bool {
	_, noNode := exec.LookPath("node")
	_, noNPM := exec.LookPath("npm")
	return noNode == nil && noNPM == nil
}

// MissingCLI is the mistake that the configured CLI was not found, and how to install it; err is that of
// [exec.LookPath].
func MissingCLI(err error) error {
	return i18n.Mistakef("[claude] command：%v（%v）", "[claude] command: %v (%v)", err, InstallCLI())
}

// InstallCLI says how to install the CLI on this machine.
func InstallCLI() error {
	if !HasNPM() {
		return i18n.Mistakef("先安装带 npm 的 Node.js %d 或更新的版本，再执行 npm install -g @anthropic-ai/claude-code",
			"install Node.js %d or later, with npm, then: npm install -g @anthropic-ai/claude-code", NodeForCLI)
	}
	return i18n.Mistakef("安装：npm install -g @anthropic-ai/claude-code",
		"install it with: npm install -g @anthropic-ai/claude-code")
}

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

// explainMissing says what to do about a CLI that cannot be run.
func explainMissing(command string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return i18n.Mistakef("[claude] command：%s 没有执行权限：运行 chmod +x %[1]s，或者写另一个程序",
			"[claude] command: %s is not executable: run chmod +x %[1]s, or name another program", command)
	case errors.Is(err, syscall.EISDIR):
		return i18n.Mistakef("[claude] command：%s 是文件夹：要写里面的程序",
			"[claude] command: %s is a folder: name the program in it", command)
	}
	return MissingCLI(err)
}

// refuseBatchFile rejects a batch file as the CLI: Windows runs it with a command interpreter, which would execute text
// in arguments, such as the title of a chat.
func refuseBatchFile(system, path string) error {
	ext := strings.ToLower(filepath.Ext(path))
	if system != "windows" || ext != ".cmd" && ext != ".bat" {
		return nil
	}
	return i18n.Mistakef("[claude] command：%s 是批处理文件，无法安全地传递参数：请写它启动的程序 claude.exe",
		"[claude] command: %s is a batch file, and arguments cannot be passed to it safely: name the program that it starts, claude.exe",
		path)
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
