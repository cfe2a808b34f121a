// Package systemd installs and removes the bridge as a systemd service, and reports the program's state to systemd. It
// writes the unit file, creates a user for the service's agents, and gives that user the folders in which agents work.
// It does not implement start, reload and stop, nor pm2, which has its own file in scripts.
package systemd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// Service is a systemd service, whether it is installed or not.
type Service struct {
	Name   string
	System bool      // of the machine; otherwise one of this user
	Lang   i18n.Lang // of the output; empty = the configured one, else the locale's
	Root   string    // folder used as / when files are written; empty = /
}

// Installation describes the service to install.
type Installation struct {
	Service
	Config  string // the configuration file; empty = the one that "magpie serve" would find
	User    string // the user of a system service; empty = the caller of sudo, or else magpie
	Agents  string // the user of its agents, or [SameUser]; empty = as configured, see agentsUser
	Secret  string // file with the app secret; empty = it is in the configuration
	DryRun  bool   // print the unit file and do nothing
	Force   bool   // overwrite an edited unit file
	Restart bool   // even if the unit file is unchanged: the configuration is new
}

// SameUser as the name of the agents' user means the user that runs the service.
const SameUser = "same"

// Locate finds this program's file, and the configuration for the service: the named one, or else the one that "magpie
// serve" would find.
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
			Err: i18n.Mistakef("没有 magpie.toml：运行 magpie setup 创建，或用 --config 指定",
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
		return "", "", c, &config.Error{File: file, Err: err}
	}
	return program, file, c, nil
}

// LangOf is the language that a configuration fixes for all chats, which is also its operator's; empty = none.
func LangOf(c config.Config) i18n.Lang { return i18n.Lang(c.Chat.FixedLang()) }

// ConfiguredLang is the language of the configuration that "magpie serve" would find; empty = it has none.
func ConfiguredLang() i18n.Lang {
	_, _, c, err := Locate("")
	if err != nil {
		return ""
	}
	return LangOf(c)
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

// noSystemd says what to do instead.
func noSystemd() error {
	return i18n.Mistakef(
		"这台机器没有使用 systemd（容器里通常如此）：请自己运行 magpie serve，或使用 pm2：pm2 start %s",
		"this machine does not use systemd (containers usually don't): "+
			"run magpie serve yourself, or use pm2: pm2 start %s",
		config.LocatePages("examples/ecosystem.config.js"))
}

// systemctl makes a systemctl command for the scope.
func (s Service) systemctl(ctx context.Context, args ...string) *exec.Cmd {
	if !s.System {
		args = append([]string{"--user"}, args...)
	}
	return exec.CommandContext(ctx, "systemctl", args...)
}

// run runs systemctl; its output becomes part of the error.
func (s Service) run(ctx context.Context, args ...string) error {
	cmd := s.systemctl(ctx, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return i18n.Mistakef("%s：%v：%s", "%s: %v: %s",
			strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Available returns an error if there is no systemd; root is the folder used as /.
func Available(root string) error {
	if _, err := exec.LookPath("systemctl"); err != nil {
		return noSystemd()
	}
	if _, err := os.Stat(filepath.Join(root, "/run/systemd/system")); err != nil { // sd_booted(3)
		return noSystemd()
	}
	return nil
}

// Uninstall stops the service and removes its unit file; with force even an edited one.
func (s Service) Uninstall(ctx context.Context, force bool) error {
	l := cmp.Or(s.Lang, ConfiguredLang())
	path, err := s.UnitPath()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Print(i18n.ServiceNothingToDo.Line(l, path))
		return nil
	} else if err != nil {
		return err
	}
	if !isPristine(string(old)) && !force {
		return i18n.Mistakef("%s 被改过：要删除它，加上 --force", "%s was edited: remove it with --force", path)
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
	fmt.Print(i18n.ServiceRemoved.Line(l, path))
	return s.run(ctx, "daemon-reload")
}

// Status prints systemd's information about the service.
func (s Service) Status(ctx context.Context) error {
	path, err := s.UnitPath()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return i18n.Mistakef("%s 还没有安装：运行 magpie setup；已有配置的话，运行 magpie service install",
			"%s is not installed: run magpie setup, or magpie service install if you already have a configuration", path)
	}
	if err := Available(s.Root); err != nil {
		return err
	}
	cmd := s.systemctl(ctx, "status", "--no-pager", "--lines=10", s.Name)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return i18n.Mistakef("服务没有在运行：%v", "the service is not running: %v", err)
	}
	return nil
}
