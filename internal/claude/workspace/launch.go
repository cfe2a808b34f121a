package workspace

import (
	"cmp"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"magpie/internal/claude/proctree"
	"magpie/internal/claude/stream"
	"magpie/internal/claude/wall"
)

// Launch is how a process is started.
type Launch struct {
	Cmd     *exec.Cmd // with a process group of its own, and without an environment
	Env     []string
	Wall    *wall.Plan // nil = there is none
	Program Program    // what is run
	Tools   Tools      // the caller closes them
	Unasked bool       // the process may continue working after its turn
}

// Launch prepares the agent's folder for a process, and returns how it is started.
func (a Agent) Launch(spec Spec) (Launch, error) {
	if err := a.Prepare(spec); err != nil {
		return Launch{}, err
	}
	servers, err := a.prepareServers(spec)
	if err != nil {
		return Launch{}, err
	}
	var tools Tools
	if spec.Tools != nil {
		tools = spec.Tools()
	}
	if tools.Close == nil {
		tools.Close = func() {}
	}
	runs := ProgramAt(a.Config.Command) // before it is run: an update may replace it
	cmd := exec.Command(a.Config.Command, slices.Concat(a.arguments(spec), servers, tools.arguments())...)
	cmd.Dir = spec.Dir
	cmd.SysProcAttr = proctree.OwnGroup() // signals to the bridge's process group must not reach it
	a.User.SetCredential(cmd)
	env := tools.environ(a.processEnvironment(spec).List())
	return Launch{cmd, env, wallAround(a, spec), runs, tools, a.worksUnasked(spec)}, nil
}

// arguments are complete for every start: a resumed session restores neither flags nor, reliably, the model (CLI
// 2.1.197). Values follow an equals sign, because variadic options such as --allowedTools would take the next argument,
// too. The prompt is never among them: it goes through stdin, which has no length limit and cannot be mistaken for an
// option. --verbose is required with stream-json output.
func (a Agent) arguments(spec Spec) []string {
	if spec.Task != "" {
		return a.taskArguments(spec)
	}
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool", "stdio",
	}
	args = append(args, a.sessionArguments(spec)...)
	if spec.Budget > 0 {
		args = append(args, "--max-budget-usd="+strconv.FormatFloat(spec.Budget, 'f', -1, 64))
	}
	return append(args, a.suggestArguments(spec)...)
}

// sessionArguments are those of a session, whether this program or somebody in a terminal talks to it.
func (a Agent) sessionArguments(spec Spec) []string {
	c, disallowed := a.Config, disallowedTools
	if spec.Mode == autoMode {
		disallowed = slices.Concat(disallowed, approvalRules)
	}
	args := []string{
		a.settingsArgument(),
		"--setting-sources=" + strings.Join(c.SettingSources, ","),
		"--disallowedTools=" + strings.Join(disallowed, ","),
		"--strict-mcp-config", // otherwise servers from a project's configuration would start without asking
	}
	if spec.Resume {
		args = append(args, "--resume="+spec.Session)
	} else {
		args = append(args, "--session-id="+spec.Session)
	}
	if spec.Name != "" {
		args = append(args, "--name="+spec.Name)
	}
	if spec.Mode != "" {
		args = append(args, "--permission-mode="+spec.Mode)
	}
	if m := cmp.Or(spec.Model, c.Model); m != "" {
		args = append(args, "--model="+m)
	}
	if e := cmp.Or(spec.Effort, c.Effort); e != "" {
		args = append(args, "--effort="+e)
	}
	if spec.Files != "" {
		args = append(args, "--add-dir="+spec.Files)
	}
	for _, rule := range c.AllowedTools {
		args = append(args, "--allowedTools="+rule)
	}
	return args
}

// taskArguments make the CLI a plain model: it has no tools and keeps no transcript.
func (a Agent) taskArguments(spec Spec) []string {
	args := []string{
		"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--tools=", "--setting-sources=", "--strict-mcp-config",
		"--disable-slash-commands",
		"--no-session-persistence", "--system-prompt=" + spec.Task,
	}
	if strings.TrimSpace(a.Config.Settings) != "" {
		args = append(args, "--settings="+a.state.loginSettings())
	}
	if a.Config.Model != "" {
		args = append(args, "--model="+a.Config.Model)
	}
	return args
}

// suggestOption makes the CLI suggest after each answer what the user may ask next. A CLI that does not know it refuses
// to start.
const suggestOption = "--prompt-suggestions"

// suggestArguments enable suggestions, if wanted and supported by the CLI.
func (a Agent) suggestArguments(spec Spec) []string {
	if !spec.Suggest || !a.Config.Suggestions {
		return nil
	}
	if knows, _ := knownPrograms.knows(a.Config.Command, suggestOption); !knows {
		return nil
	}
	return []string{suggestOption}
}

// worksUnasked reports whether a process may continue working after its turn. One that serves only one turn may not.
func (a Agent) worksUnasked(spec Spec) bool {
	if a.Config.BackgroundLimit.Duration <= 0 || a.Config.KeepAlive.Wait() == 0 || spec.Budget > 0 || spec.Task != "" {
		return false
	}
	knows, _ := knownPrograms.knows(a.Config.Command, stream.TasksChanged)
	return knows
}

// processEnvironment is the environment of a process. The operator's value of a variable takes precedence.
func (a Agent) processEnvironment(spec Spec) Environment {
	env := maps.Clone(a.Env.withoutMentions(a.Config.Command))
	if _, configured := env[noBetas]; spec.Plain && !configured {
		env[noBetas] = "1"
	}
	if _, configured := a.Config.Env[noBackground]; !configured && a.worksUnasked(spec) {
		delete(env, noBackground)
	}
	return env
}
