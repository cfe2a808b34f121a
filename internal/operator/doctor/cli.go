package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"magpie/bridge"
	"magpie/bridge/workplace"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// The CLI versions that the tests run: the oldest supported one, and the current one, which scripts/pin-cli moves.
const (
	OldestCLI = "2.1.197"
	TestedCLI = "2.1.332"
)

// closedCLI is the first version that checks what a command like "cat < FILE" reads.
const closedCLI = "2.1.330"

// cliTimeout is how long the CLI may take to print its version or login.
const cliTimeout = 30 * time.Second

// startTimeout is how long it may take to start: half a minute is not rare where everything else runs.
const startTimeout = 2 * time.Minute

// CLI is the Claude Code CLI as configured.
type CLI struct {
	Config  claude.Config
	Environ []string // of the program; the CLI gets it without the program's private variables

	NoConfig bool // there is no configuration yet to which anything could be added
}

// Check checks whether the CLI is installed, has a known version, and is logged in. It returns the CLI's file, empty if
// it cannot be run, and whether it is logged in.
func (c CLI) Check(ctx context.Context, r *Report) (path string, loggedIn bool) {
	path, ok := c.CheckVersion(ctx, r)
	if ok {
		loggedIn = c.CheckLogin(ctx, r)
	} else {
		path = ""
	}
	checkWall(r, c.Config)
	checkLimits(r, claude.LimitsOf(c.Config))
	return path, loggedIn
}

// checkServers lists the MCP servers of agents in these projects that work, those that do not, and those of a project
// that nobody has approved. It starts them, as the CLI does.
func (c CLI) checkServers(ctx context.Context, r *Report, projects ...string) {
	var loaded, missing []string
	for _, project := range projects {
		list, err := c.Config.ServerNames(project)
		if err != nil {
			r.AddFinding(Warn, "", i18n.DoctorServersUnread, err)
		}
		if len(list.Unapproved) > 0 {
			r.AddFinding(Warn, fmt.Sprintf(r.text(i18n.DoctorServersApprove), project), i18n.DoctorServersUnapproved,
				i18n.Listing(list.Unapproved))
		}
		loaded, missing = append(loaded, list.Loaded...), append(missing, list.Missing...)
	}
	failures, _ := c.Config.CheckServers(ctx, projects...) // what could not be read was reported
	var available []string
	slices.Sort(loaded)
	for _, name := range slices.Compact(loaded) {
		switch err := failures[name]; {
		case slices.Contains(missing, name):
			r.AddFinding(Warn, r.text(i18n.DoctorServerInstall), i18n.DoctorServerMissing, name)
		case errors.Is(err, workspace.ErrServerLogin):
			r.AddFinding(OK, "", i18n.DoctorServerLogin, name)
		case errors.Is(err, workspace.ErrServerSlow):
			r.AddFinding(OK, "", i18n.DoctorServerSlow, name)
		case err != nil:
			r.AddFinding(Warn, r.text(i18n.DoctorServerRepair), i18n.DoctorServerFails, name, err)
		default:
			available = append(available, name)
		}
	}
	if len(available) > 0 {
		r.AddFinding(OK, "", i18n.DoctorServers, i18n.Listing(available))
	}
}

// AddMissing adds why the CLI cannot be run, and what to do. If there is a configuration, its check has already found
// that.
func (c CLI) AddMissing(r *Report) {
	if _, err := exec.LookPath(c.Config.Command); errors.Is(err, fs.ErrPermission) {
		r.AddFinding(Fail, "chmod +x "+c.Config.Command, i18n.DoctorCLINotExecutable, c.Config.Command)
		return
	}
	do := r.text(i18n.DoctorCLIInstall)
	if !workspace.HasNPM() {
		do = r.text(i18n.DoctorNodeInstall, workspace.NodeForCLI)
	}
	r.AddFinding(Fail, do, i18n.DoctorCLINone, c.Config.Command)
}

// AddRunFailure adds why the CLI could not be run, for logs: without advice.
func (c CLI) AddRunFailure(r *Report, err error) {
	r.AddFinding(Fail, "", i18n.DoctorCLIFails, c.Config.Command, err)
}

// checkWall reports whether the kernel keeps agents away from the program's files.
func checkWall(r *Report, c claude.Config) {
	switch err := c.Wall.Missing(); {
	case err != nil:
		r.AddFinding(Warn, r.text(i18n.DoctorWallGet), i18n.DoctorWallMissing, err)
	case c.Wall.Works():
		r.AddFinding(OK, "", i18n.DoctorWall)
	default:
		r.AddFinding(Warn, r.text(i18n.DoctorWallOn), i18n.DoctorWallOff)
	}
}

// checkLimits reports how many turns and processes may run at once, how long processes are kept, and why.
func checkLimits(r *Report, l claude.Limits) {
	turns, processes, idle := bridge.LimitsIn(l, r.Lang)
	r.AddFinding(OK, "", i18n.DoctorLimits, l.Turns, turns, l.Processes, processes, idle)
}

// CheckVersion checks whether the CLI is installed and has a known version. It returns the CLI's file, and false if the
// CLI cannot be run.
func (c CLI) CheckVersion(ctx context.Context, r *Report) (path string, ok bool) {
	path, err := exec.LookPath(c.Config.Command)
	if err != nil {
		return "", false // reported by the check of the configuration
	}
	version, err := c.Version(ctx)
	switch {
	case err != nil:
		r.AddFinding(Fail, r.text(i18n.DoctorCLIReinstall), i18n.DoctorCLIFails, path, err)
		return path, false
	case IsTooOld(version):
		r.AddFinding(Warn, "npm install -g @anthropic-ai/claude-code@"+TestedCLI,
			i18n.DoctorCLIOld, path, version, OldestCLI, TestedCLI)
	case compareVersions(version, closedCLI) < 0:
		r.AddFinding(Warn, "npm install -g @anthropic-ai/claude-code@"+TestedCLI, i18n.DoctorCLIOpen, path, version, closedCLI)
	case compareVersions(version, TestedCLI) > 0:
		r.AddFinding(Warn, r.text(i18n.DoctorCLIStay), i18n.DoctorCLINew, path, version, OldestCLI, TestedCLI)
	default:
		r.AddFinding(OK, "", i18n.DoctorCLIVersion, path, version)
	}
	return path, true
}

// Version is the version that the CLI prints.
func (c CLI) Version(ctx context.Context) (string, error) {
	out, err := c.run(ctx, "--version")
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return version, err
}

// IsTooOld reports whether a version is older than all that are supported, or is no version.
func IsTooOld(version string) bool { return compareVersions(version, OldestCLI) < 0 }

// CheckLogin checks whether the CLI is logged in, and reports it.
func (c CLI) CheckLogin(ctx context.Context, r *Report) bool {
	if !c.IsLoggedIn(ctx) {
		do := i18n.DoctorCLILogin
		if c.NoConfig {
			do = i18n.DoctorCLILoginFirst
		}
		r.AddFinding(Fail, r.text(do), i18n.DoctorCLINoLogin)
		return false
	}
	r.AddFinding(OK, "", i18n.DoctorCLILoggedIn)
	return true
}

// IsLoggedIn asks the CLI whether it is logged in.
func (c CLI) IsLoggedIn(ctx context.Context) bool {
	_, err := c.run(ctx, "auth", "status")
	return err == nil
}

// StartFailures says for each folder in which agents may work why the CLI does not start there. Folders that do not exist
// are left out.
func (c CLI) StartFailures(ctx context.Context, places []workplace.Place) (list []error) {
	for _, w := range places {
		if _, err := os.Stat(w.Dir); err != nil {
			continue
		}
		if err := claude.CheckStart(ctx, c.Config, w.Dir, w.Mode, startTimeout); err != nil && ctx.Err() == nil {
			list = append(list, i18n.Mistakef("在 %s（%s 模式）：%v", "in %s (mode %s): %v", w.Dir, w.Mode, err))
		}
	}
	return list
}

// CheckStart checks whether the CLI starts with the configuration.
func (c CLI) CheckStart(ctx context.Context, r *Report, b bridge.Config) {
	for _, err := range c.StartFailures(ctx, b.Projects.Distinct()) {
		why := bridge.Clean(b.Secrets.Text(i18n.ErrorText(r.Lang, err))) // the CLI quotes what it was given
		r.AddFinding(Fail, r.text(i18n.DoctorCLIStartMend), i18n.DoctorCLIStart, why)
	}
}

// LogIn runs the CLI's own login, with questions on the terminal in and output to out.
func (c CLI) LogIn(ctx context.Context, in io.Reader, out io.Writer) error {
	cmd := c.command(ctx, "auth", "login")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
	return cmd.Run()
}

// run runs the CLI in its own environment, without the program's private variables.
func (c CLI) run(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, cliTimeout)
	defer cancel()
	cmd := c.command(ctx, args...)
	cmd.WaitDelay = time.Second
	return cmd.Output()
}

func (c CLI) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Config.Command, args...)
	for _, kv := range c.Environ {
		if !strings.HasPrefix(kv, config.EnvPrefix) {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	for name, value := range c.Config.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// compareVersions returns -1, 0 or 1 if a is older than, equal to or newer than b, both like 2.1.197. A text that is
// not a version counts as old.
func compareVersions(a, b string) int {
	var x, y [3]int
	_, errA := fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	if _, errB := fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2]); errA != nil || errB != nil {
		return -1
	}
	for i := range x {
		switch {
		case x[i] < y[i]:
			return -1
		case x[i] > y[i]:
			return 1
		}
	}
	return 0
}
