package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"magpie/internal/safepath"
)

type serviceCmd struct {
	Install   serviceInstallCmd   `cmd:"" help:"Write the unit file and start the service."`
	Uninstall serviceUninstallCmd `cmd:"" help:"Stop the service and remove its unit file. Configuration and data stay."`
	Status    serviceStatusCmd    `cmd:"" help:"Show how the service is."`
}

// serviceFlags say which service is meant.
type serviceFlags struct {
	Name  string `help:"Name of the service." default:"magpie"`
	Scope string `help:"system: a service of the machine. user: one of this user. auto: system for root." enum:"auto,system,user" default:"auto"`
	Root  string `help:"Folder that stands for / when files are written." hidden:"" type:"path"`
}

func (f serviceFlags) system() bool {
	return f.Scope == "system" || f.Scope == "auto" && os.Geteuid() == 0
}

// unitPath is where the unit file lies.
func (f serviceFlags) unitPath() (string, error) {
	dir := "/etc/systemd/system"
	if !f.system() {
		config, err := os.UserConfigDir()
		if err != nil {
			return "", err
		}
		dir = filepath.Join(config, "systemd", "user")
	}
	return filepath.Join(f.Root, dir, f.Name+".service"), nil
}

// errNoSystemd tells what to do instead.
var errNoSystemd = errors.New("systemd does not run this machine (in containers it seldom does): start \"magpie serve\" yourself, or use pm2 with scripts/ecosystem.config.js")

// systemctl makes calls of systemctl for the scope.
func (f serviceFlags) systemctl(ctx context.Context, args ...string) *exec.Cmd {
	if !f.system() {
		args = append([]string{"--user"}, args...)
	}
	return exec.CommandContext(ctx, "systemctl", args...)
}

// order runs systemctl; what it says becomes part of the error.
func (f serviceFlags) order(ctx context.Context, args ...string) error {
	cmd := f.systemctl(ctx, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// needSystemd fails where there is no systemd to order about.
func (f serviceFlags) needSystemd() error {
	if _, err := exec.LookPath("systemctl"); err != nil {
		return errNoSystemd
	}
	if _, err := os.Stat(filepath.Join(f.Root, "/run/systemd/system")); err != nil { // sd_booted(3)
		return errNoSystemd
	}
	return nil
}

type serviceInstallCmd struct {
	serviceFlags
	Config string `help:"The configuration file. Looked for as magpie serve does." type:"path" placeholder:"magpie.toml"`
	User   string `help:"Who runs a system service. Default: who called sudo, else magpie." placeholder:"NAME"`
	Agents string `help:"Who runs the agents of a system service; \"same\" = who runs the service. Default: [claude] user, else a user of their own, which is created, unless a person runs the service." placeholder:"NAME"`
	Secret string `name:"secret-file" help:"A file that holds the app secret, when the configuration does not." type:"path" placeholder:"FILE"`
	DryRun bool   `help:"Print the unit file and do nothing."`
	Force  bool   `help:"Overwrite a unit file that somebody has edited."`

	renewed bool // the configuration was just written: a service that runs must read it
}

// Run writes the unit file and starts the service. A second run changes nothing.
func (s serviceInstallCmd) Run(ctx context.Context) error {
	u, err := s.unit(ctx)
	if err != nil {
		return err
	}
	if s.DryRun {
		if err := u.hire(ctx, true); err != nil {
			return err
		}
		fmt.Print(u)
		return nil
	}
	if err := s.needSystemd(); err != nil {
		return err
	}
	path, err := s.unitPath()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	case err == nil && !pristine(string(old)) && !s.Force:
		return fmt.Errorf("%s was edited and is left alone: move the changes to a drop-in (systemctl edit %s), or overwrite them with --force", path, s.Name)
	}
	if err := u.hire(ctx, false); err != nil {
		return err
	}
	start := "start"
	if string(old) != u.String() {
		if err := writeWhole(path, u.String()); err != nil {
			return err
		}
		fmt.Println("wrote " + path)
		start = "restart"
	}
	if s.renewed {
		start = "restart"
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", s.Name}, {start, s.Name}} {
		if err := s.order(ctx, args...); err != nil {
			return err
		}
	}
	fmt.Printf("%s is enabled and started\n", s.Name)
	if s.system() {
		fmt.Printf("its log: journalctl -f -u %s\n", s.Name)
	} else {
		fmt.Printf("its log: journalctl --user -f -u %s\nso that it runs while you are not logged in: loginctl enable-linger\n", s.Name)
	}
	return nil
}

// writeWhole writes a file that is there completely or not at all.
func writeWhole(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// unit is the unit file for this binary, configuration and project.
func (s serviceInstallCmd) unit(ctx context.Context) (u unit, err error) {
	u = unit{Name: s.Name, System: s.system(), Secret: s.Secret, Config: s.Config, Backoff: backoff(ctx)}
	if u.Program, err = os.Executable(); err != nil {
		return u, err
	}
	if u.Program, err = filepath.EvalSymlinks(u.Program); err != nil {
		return u, err
	}
	if u.Config == "" {
		u.Config = findConfig()
	}
	if u.Config == "" {
		return u, &configError{errors.New("there is no magpie.toml: make one with magpie setup, or name it with --config")}
	}
	if u.Config, err = filepath.Abs(u.Config); err != nil {
		return u, err
	}
	c := defaults()
	data, err := os.ReadFile(u.Config)
	if err != nil {
		return u, &configError{err}
	}
	if err := decodeTOML(data, &c); err != nil {
		return u, &configError{fmt.Errorf("%s: %w", u.Config, err)}
	}
	if c.Claude.User != "" && !u.System {
		return u, &configError{fmt.Errorf("%s: [claude] user does not work in a service of one user, which may not become another: install one of the machine, as root (--scope system)", u.Config)}
	}
	u.Environment, u.Shutdown = filepath.Join(filepath.Dir(u.Config), "environment"), c.Shutdown.Duration
	if !u.System {
		u.Path = os.Getenv("PATH")
		u.Dir, err = os.Getwd() // what the configuration names relative to it stays the same as in this shell
		return u, err
	}
	u.Dir, u.Path = stateDir(s.Name), systemPath
	if cli, err := exec.LookPath(c.Claude.Command); err == nil {
		if cli, err = filepath.Abs(cli); err == nil && !slices.Contains(filepath.SplitList(systemPath), filepath.Dir(cli)) {
			u.Path = filepath.Dir(cli) + ":" + systemPath
		}
	}
	return u, s.systemPaths(&u, c)
}

// systemPaths adds who runs a system service, and what he writes to.
func (s serviceInstallCmd) systemPaths(u *unit, c config) error {
	if u.User = s.User; u.User == "" {
		u.User = os.Getenv("SUDO_USER")
	}
	if u.User == "" {
		u.User = "magpie"
	}
	owner, err := user.Lookup(u.User)
	if err != nil {
		return fmt.Errorf("%w: create it (useradd --system --home-dir %s --shell /usr/sbin/nologin %s), or name another with --user", err, u.Dir, u.User)
	}
	if !readable(u.Config, owner) {
		fmt.Fprintf(os.Stderr, "warning: %s cannot read %s: chown %s %[2]s\n", u.User, u.Config, u.User)
	}
	u.projects, u.data = projects(c), dataFolder(c)
	if !filepath.IsAbs(u.data) {
		u.data = filepath.Join(u.Dir, u.data)
	}
	for i, path := range u.projects {
		if !filepath.IsAbs(path) {
			u.projects[i] = filepath.Join(u.Dir, path)
		}
	}
	home := []string{filepath.Join(owner.HomeDir, ".claude"), filepath.Join(owner.HomeDir, ".claude.json")}
	if u.Agents = s.agentsUser(c, owner, u.projects); u.Agents != "" {
		agents, group, err := agentsHome(u.Agents)
		if err != nil {
			return err
		}
		u.AgentsGroup, u.Configured, home = group, c.Claude.User == u.Agents, []string{agents}
	}
	for _, path := range append(append(slices.Clone(u.projects), u.data), home...) {
		if !filepath.IsAbs(path) {
			path = filepath.Join(u.Dir, path)
		}
		if _, in := safepath.Rel(u.Dir, path); in || slices.Contains(u.Writable, path) {
			continue
		}
		u.Writable = append(u.Writable, path)
	}
	return nil
}

// projects are the folders in which agents work.
func projects(c config) []string {
	list := []string{c.Claude.Project}
	for _, name := range slices.Sorted(maps.Keys(c.Projects)) {
		list = append(list, c.Projects[name].Path)
	}
	return list
}

// dataFolder is where the database lies; it may be relative to the service's folder.
func dataFolder(c config) string {
	data := filepath.Dir(databasePath(c.DB))
	// else it is relative to another folder than this one
	if real, _, err := c.DB.Place(); err == nil && filepath.IsAbs(data) {
		return real
	}
	return data
}

// readable reports whether somebody may read a file, as far as its owner and mode tell.
func readable(path string, who *user.User) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch mode := info.Mode().Perm(); {
	case !ok, who.Uid == "0", mode&0o004 != 0:
		return true
	case who.Uid == fmt.Sprint(st.Uid):
		return mode&0o400 != 0
	default:
		groups, err := who.GroupIds()
		return err == nil && mode&0o040 != 0 && slices.Contains(groups, fmt.Sprint(st.Gid))
	}
}

// backoff reports whether systemd knows RestartSteps.
func backoff(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "systemctl", "--version").Output()
	if err != nil {
		return false
	}
	var version int
	_, err = fmt.Sscanf(string(out), "systemd %d", &version)
	return err == nil && version >= 254
}

type serviceUninstallCmd struct {
	serviceFlags
	Force bool `help:"Remove a unit file that somebody has edited."`
}

// Run stops the service and removes its unit file.
func (s serviceUninstallCmd) Run(ctx context.Context) error {
	path, err := s.unitPath()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Println("nothing to do: there is no " + path)
		return nil
	} else if err != nil {
		return err
	}
	if !pristine(string(old)) && !s.Force {
		return fmt.Errorf("%s was edited: remove it with --force", path)
	}
	if err := s.needSystemd(); err != nil {
		return err
	}
	if err := s.order(ctx, "disable", "--now", s.Name); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	fmt.Println("removed " + path)
	return s.order(ctx, "daemon-reload")
}

type serviceStatusCmd struct{ serviceFlags }

// Run shows what systemd knows of the service.
func (s serviceStatusCmd) Run(ctx context.Context) error {
	path, err := s.unitPath()
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no %s: install the service with: magpie service install", path)
	}
	if err := s.needSystemd(); err != nil {
		return err
	}
	cmd := s.systemctl(ctx, "status", "--no-pager", "--lines=10", s.Name)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the service does not run: %w", err)
	}
	return nil
}
