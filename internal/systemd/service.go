// Package systemd installs and removes the bridge as a service of systemd, and reports the program's state to systemd.
// It writes the unit file, gives the agents of the service a user of their own, and gives that user the folders in
// which agents work. What the program does at a start, a reload or a stop does not belong here, nor pm2, which has its
// own file in scripts.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"magpie/internal/config"
	"magpie/internal/configtype"
)

// Service is a service of systemd, whether it is installed or not.
type Service struct {
	Name   string
	System bool   // of the machine; else one of this user
	Root   string // folder that stands for / when files are written; empty = /
}

// Installation describes the service that is to be installed.
type Installation struct {
	Service
	Config  string // the configuration file; empty = the one that "magpie serve" would find
	User    string // who runs a system service; empty = who called sudo, else magpie
	Agents  string // who runs its agents, or [SameUser]; empty = the configuration says, see agentsUser
	Secret  string // file that holds the app secret; empty = it is in the configuration
	DryRun  bool   // print the unit file and do nothing
	Force   bool   // overwrite a unit file that somebody has edited
	Restart bool   // also when the unit file is as it was: the configuration is new
}

// SameUser, in place of the name of the agents' user, means the user that runs the service.
const SameUser = "same"

// Locate finds the program that runs, and the configuration with which it is to run as a service: the one that is
// named, or else the one that "magpie serve" would find.
func Locate(file string) (program, found string, c config.Config, err error) {
	if program, err = os.Executable(); err != nil {
		return "", "", c, err
	}
	if program, err = filepath.EvalSymlinks(program); err != nil {
		return "", "", c, err
	}
	if file == "" {
		file = config.Find()
	}
	if file == "" {
		return "", "", c, &config.Error{
			Err: configtype.Mistakef("没有 magpie.toml：运行 magpie setup 创建，或用 --config 指定",
				"there is no magpie.toml: make one with magpie setup, or name it with --config")}
	}
	if file, err = filepath.Abs(file); err != nil {
		return "", "", c, err
	}
	c = config.Defaults()
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", c, &config.Error{Err: err}
	}
	if err := config.Decode(data, &c); err != nil {
		return "", "", c, &config.Error{Err: configtype.Mistakef("%s：%v", "%s: %v", file, err)}
	}
	return program, file, c, nil
}

// UnitPath is the path of the unit file.
func (s Service) UnitPath() (string, error) {
	dir := "/etc/systemd/system"
	if !s.System {
		user, err := os.UserConfigDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(user, "systemd", "user")
	}
	return filepath.Join(s.Root, dir, s.Name+".service"), nil
}

// errNoSystemd says what to do instead.
var errNoSystemd = configtype.Mistakef(
	"这台机器不由 systemd 管理（容器里通常如此）：自己运行 magpie serve，或用 pm2 和 scripts/ecosystem.config.js",
	"systemd does not run this machine (in containers it seldom does): "+
		"start magpie serve yourself, or use pm2 with scripts/ecosystem.config.js")

// systemctl makes calls of systemctl for the scope.
func (s Service) systemctl(ctx context.Context, args ...string) *exec.Cmd {
	if !s.System {
		args = append([]string{"--user"}, args...)
	}
	return exec.CommandContext(ctx, "systemctl", args...)
}

// run runs systemctl; what it says becomes part of the error.
func (s Service) run(ctx context.Context, args ...string) error {
	cmd := s.systemctl(ctx, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Available fails where there is no systemd; root is the folder that stands for /.
func Available(root string) error {
	if _, err := exec.LookPath("systemctl"); err != nil {
		return errNoSystemd
	}
	if _, err := os.Stat(filepath.Join(root, "/run/systemd/system")); err != nil { // sd_booted(3)
		return errNoSystemd
	}
	return nil
}

// Uninstall stops the service and removes its unit file; with force also one that somebody has edited.
func (s Service) Uninstall(ctx context.Context, force bool) error {
	path, err := s.UnitPath()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Print(say(textNothingToDo, path))
		return nil
	} else if err != nil {
		return err
	}
	if !pristine(string(old)) && !force {
		return configtype.Mistakef("%s 被改过：要删除它，加上 --force", "%s was edited: remove it with --force", path)
	}
	if err := Available(s.Root); err != nil {
		return err
	}
	// Stopped before the file is removed: systemd would not know the service afterwards.
	if err := s.run(ctx, "disable", "--now", s.Name); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	fmt.Print(say(textRemoved, path))
	return s.run(ctx, "daemon-reload")
}

// Status prints what systemd knows of the service.
func (s Service) Status(ctx context.Context) error {
	path, err := s.UnitPath()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return configtype.Mistakef("没有 %s：安装服务用 magpie service install",
			"there is no %s: install the service with: magpie service install", path)
	}
	if err := Available(s.Root); err != nil {
		return err
	}
	cmd := s.systemctl(ctx, "status", "--no-pager", "--lines=10", s.Name)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return configtype.Mistakef("服务没有在运行：%v", "the service is not running: %v", err)
	}
	return nil
}
