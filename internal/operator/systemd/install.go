//go:build unix

package systemd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"syscall"

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/safepath"
)

// Install writes the unit file and starts the service. A second time it changes nothing.
func (i Installation) Install(ctx context.Context) error {
	u, err := i.unit(ctx)
	if err != nil {
		return err
	}
	if i.DryRun {
		if err := u.prepareAgents(ctx, true); err != nil {
			return err
		}
		fmt.Print(u)
		return nil
	}
	if err := Available(i.Root); err != nil {
		return err
	}
	path, err := i.UnitPath()
	if err != nil {
		return err
	}
	old, err := os.ReadFile(path)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	// Somebody has edited the file, so it is only overwritten on request.
	case err == nil && !isPristine(string(old)) && !i.Force:
		return i18n.Mistakef("%s 被改过，没有动它：把改动移到 drop-in 里（systemctl edit %s），或用 --force 覆盖",
			"%s was edited and is left alone: move the changes to a drop-in (systemctl edit %s), or overwrite them with --force",
			path, i.Name)
	}
	if err := u.prepareAgents(ctx, false); err != nil {
		return err
	}
	start := "start"
	// Written only if it differs, so that a second installation does not restart the service.
	if string(old) != u.String() {
		if err := writeFileAtomic(path, u.String()); err != nil {
			return err
		}
		fmt.Print(i18n.ServiceWrote.Line(u.Lang, path))
		start = "restart"
	}
	if i.Restart {
		start = "restart"
	}
	for _, args := range [][]string{{"daemon-reload"}, {"enable", i.Name}, {start, i.Name}} {
		if err := i.run(ctx, args...); err != nil {
			return err
		}
	}
	fmt.Print(i18n.ServiceStarted.Line(u.Lang, i.Name))
	if i.System {
		fmt.Print(i18n.ServiceItsLog.Line(u.Lang, i.Name))
	} else {
		fmt.Print(i18n.ServiceUserLog.Line(u.Lang, i.Name))
	}
	return nil
}

// writeFileAtomic writes a file completely or not at all.
func writeFileAtomic(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// unit makes the unit file for this binary, configuration and project.
func (i Installation) unit(ctx context.Context) (u unit, err error) {
	u = unit{Name: i.Name, System: i.System, Secret: i.Secret, RestartSteps: knowsRestartSteps(ctx)}
	var c config.Config
	if u.Program, u.Config, c, err = Locate(i.Config); err != nil {
		return u, err
	}
	u.Lang = cmp.Or(i.Lang, LangOf(c))
	if c.Claude.User != "" && !u.System {
		return u, &config.Error{Err: i18n.Mistakef(
			"%s：用户级服务不能切换用户，[claude] user 不起作用：请以 root 安装系统级服务（--scope system）",
			"%s: a user service cannot switch users, so [claude] user would have no effect: "+
				"install a system service as root (--scope system)", u.Config)}
	}
	u.Environment, u.Shutdown = filepath.Join(filepath.Dir(u.Config), "environment"), c.Shutdown.Duration
	if !u.System {
		u.Path = os.Getenv("PATH")
		u.Dir, err = os.Getwd() // relative paths in the configuration mean the same as in this shell
		return u, err
	}
	u.Dir, u.Path = stateDir(i.Name), systemPath
	if cli, err := exec.LookPath(c.Claude.Command); err == nil {
		if cli, err = filepath.Abs(cli); err == nil &&
			!slices.Contains(filepath.SplitList(systemPath), filepath.Dir(cli)) {
			u.Path = filepath.Dir(cli) + ":" + systemPath
		}
	}
	return u, i.systemPaths(&u, c)
}

// systemPaths sets the user of a system service, and the paths it writes to.
func (i Installation) systemPaths(u *unit, c config.Config) error {
	// Whoever called sudo is more likely to own the project than root.
	if u.User = i.User; u.User == "" {
		u.User = os.Getenv("SUDO_USER")
	}
	if u.User == "" {
		u.User = "magpie"
	}
	owner, err := user.Lookup(u.User)
	if err != nil {
		err = i18n.Mistakef(
			"%v：创建它（useradd --system --home-dir %s --shell /usr/sbin/nologin %s），或用 --user 写另一个",
			"%v: create it (useradd --system --home-dir %s --shell /usr/sbin/nologin %s), or name another with --user",
			err, u.Dir, u.User)
		if !i.DryRun {
			return err
		}
		fmt.Fprint(os.Stderr, i18n.ServiceWarning.Line(u.Lang, err))
		owner = &user.User{Username: u.User, HomeDir: u.Dir} // as it would be created
	} else if !canRead(u.Config, owner) {
		fmt.Fprint(os.Stderr, i18n.ServiceCannotRead.Line(u.Lang, u.User, u.Config))
	}
	u.Agents.projects, u.data = projectFolders(c), dataFolder(c)
	if !filepath.IsAbs(u.data) {
		u.data = filepath.Join(u.Dir, u.data)
	}
	for n, path := range u.Agents.projects {
		if !filepath.IsAbs(path) {
			u.Agents.projects[n] = filepath.Join(u.Dir, path)
		}
	}
	// The CLI writes its state there, and the unit makes everything else read-only.
	home := []string{filepath.Join(owner.HomeDir, ".claude"), filepath.Join(owner.HomeDir, ".claude.json")}
	if u.Agents.User = i.agentsUser(c, owner, u.Agents.projects); u.Agents.User != "" {
		dir, group, err := agentsHome(u.Agents.User)
		if err != nil {
			return err
		}
		u.Agents.Group, u.Agents.Configured, home = group, c.Claude.User == u.Agents.User, []string{dir}
	}
	for _, path := range append(append(slices.Clone(u.Agents.projects), u.data), home...) {
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

// projectFolders are the folders in which agents work on this machine.
func projectFolders(c config.Config) (list []string) {
	for _, p := range c.BridgeConfig().Projects.Distinct() {
		list = append(list, p.Dir)
	}
	return list
}

// dataFolder is the data folder; it may be relative to the service's folder.
func dataFolder(c config.Config) string {
	data := cmp.Or(c.Data, filepath.Dir(c.DB.DSN().File()))
	// otherwise it is relative to another folder
	if real, err := c.DataFolder(); err == nil && filepath.IsAbs(data) {
		return real
	}
	return data
}

// canRead reports whether a user may read a file, judging by its owner and mode.
func canRead(path string, who *user.User) bool {
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

// knowsRestartSteps reports whether systemd knows RestartSteps.
func knowsRestartSteps(ctx context.Context) bool {
	out, err := exec.CommandContext(ctx, "systemctl", "--version").Output()
	if err != nil {
		return false
	}
	var version int
	_, err = fmt.Sscanf(string(out), "systemd %d", &version)
	return err == nil && version >= 254
}
