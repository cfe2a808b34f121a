// Package services runs the bridge as a service of the operating system's service manager: systemd, launchd on macOS,
// the task scheduler of Windows. What the program does when it is started and stopped is elsewhere.
package services

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"strings"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/operator/systemd"
)

// Service is a service, whether it is installed or not. Managers other than systemd run it for one user only.
type Service = systemd.Service

// Installation describes the service to install.
type Installation = systemd.Installation

// onlyPersonal rejects what only systemd can do.
func onlyPersonal(i Installation) error {
	switch {
	case i.System:
		return i18n.Mistakef("在这个系统上，服务属于某个用户：请用要运行鹊桥的那个用户来执行",
			"on this system a service belongs to a user: run this command as the user that will run Magpie")
	case i.User != "", i.Agents != "", i.Secret != "":
		return i18n.Mistakef("--user、--agents 和 --secret-file 只适用于 systemd 服务",
			"--user, --agents and --secret-file apply to systemd services only")
	}
	return nil
}

// job is the bridge as a job that starts when its user logs in.
type job struct {
	Name    string
	Program string
	Config  string
	Dir     string    // working folder, the base of relative paths in the configuration
	Lang    i18n.Lang // of the output; empty = the locale's
}

// newJob makes the job of an installation.
func newJob(i Installation) (j job, err error) {
	if err := onlyPersonal(i); err != nil {
		return j, err
	}
	j.Name = i.Name
	var c config.Config
	if j.Program, j.Config, c, err = systemd.Locate(i.Config); err != nil {
		return j, err
	}
	j.Lang = cmp.Or(i.Lang, systemd.LangOf(c))
	j.Dir, err = os.Getwd()
	return j, err
}

// run runs a program of the system; its output becomes part of the error.
func run(ctx context.Context, name string, args ...string) error {
	out, err := exec.CommandContext(ctx, name, args...).CombinedOutput()
	if err != nil {
		return i18n.Mistakef("%s %s：%v：%s", "%s %s: %v: %s",
			name, strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// show runs a program whose output is for the operator.
func show(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}
