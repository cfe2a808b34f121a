package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// localSettings are the settings of the machine's user for one project, below its folder. When that user approves a
// server of the project in a terminal, the CLI writes it there.
const localSettings = ".claude/settings.local.json"

// approvalRules deny changes to what decides which servers of a project run. The CLI asks about them in all modes but
// auto, where a model may allow them, and bypassPermissions.
var approvalRules = []string{"Edit(//**/" + localSettings + ")", "Edit(//**/" + projectServers + ")"}

// readLocalSettings reads the local settings of the project in dir. They approve nothing unless they are the machine
// user's own, and that user trusts the project: any archive may contain such a file.
func (a Agent) readLocalSettings(dir string, trusted bool) (local serverSource, err error) {
	err = readSource(filepath.Join(dir, localSettings), &local)
	if (local.All || len(local.Enabled) > 0) && !(trusted && a.isOwnApproval(dir)) {
		local.All, local.Enabled = false, nil
	}
	return local, err
}

// isHome reports whether dir is the home folder of the machine's user. The CLI never stores that the user trusts it.
func (a Agent) isHome(dir string) bool {
	home, err := RealDir(a.Env[homeVariable])
	return err == nil && dir == home
}

// isOwnApproval reports whether the local settings of the project in dir are the machine user's own. Those that may
// have come with a checkout approve nothing, nor do they in the CLI: it looks for links and for files that git tracks.
func (a Agent) isOwnApproval(dir string) bool {
	for _, name := range []string{filepath.Dir(localSettings), localSettings} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return false
		}
	}
	if exists(filepath.Join(dir, filepath.Dir(localSettings), ".git")) {
		return false
	}
	if repositoryRoot(dir) == "" {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	// Nothing in the configuration of the project may make git run a program.
	git := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=", "-c", "core.hooksPath=/dev/null", "ls-files",
		"--error-unmatch", "--", ":(icase)"+localSettings)
	git.Dir = dir
	git.Env = []string{"PATH=" + a.Env["PATH"], homeVariable + "=" + a.Env[homeVariable], "GIT_NO_LAZY_FETCH=1"}
	git.SysProcAttr = &syscall.SysProcAttr{}
	a.User.SetCredential(git)
	var exit *exec.ExitError
	return errors.As(git.Run(), &exit) && exit.ExitCode() == 1 // any other failure: not known
}
