package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"magpie/internal/safepath"
)

// asService is the name that stands for whoever runs the service.
const asService = "same"

// agentsUser is who runs the agents of a system service; empty = who runs the service. A person's own service stays as
// it is: another user would have neither the login of his CLI nor a way into his home folder.
func (s serviceInstallCmd) agentsUser(c config, owner *user.User, paths []string) string {
	atHome := func(path string) bool {
		return strings.HasPrefix(path+"/", "/home/") || strings.HasPrefix(path+"/", "/root/")
	}
	switch {
	case s.Agents == asService, s.Agents == owner.Username:
		return ""
	case s.Agents != "":
		return s.Agents
	case c.Claude.User != "":
		return c.Claude.User
	case owner.Uid == "0" || slices.ContainsFunc(append(paths, owner.HomeDir), atHome):
		return ""
	}
	return owner.Username + "-agent"
}

// agentsHome is the home folder of the agents' user, and the name of its group. One that is to be created has both as
// they will be.
func agentsHome(name string) (home, group string, err error) {
	who, err := user.Lookup(name)
	if _, unknown := errors.AsType[user.UnknownUserError](err); unknown {
		return stateDir(name), name, nil
	} else if err != nil {
		return "", "", err
	}
	g, err := user.LookupGroupId(who.Gid)
	if err != nil {
		return "", "", err
	}
	return who.HomeDir, g.Name, nil
}

// hire makes the agents' user ready for the service: the user itself, and the folders in which it works. It says what
// it does; with dry it does nothing else.
func (u unit) hire(ctx context.Context, dry bool) error {
	if u.Agents == "" {
		if u.System {
			fmt.Fprintf(os.Stderr, "agents run as %s, like the service: they can read its secret and its data. "+
				"Another user for them: --agents NAME\n", u.User)
		}
		return nil
	}
	fmt.Fprintf(os.Stderr, "agents run as %s, who can read neither the secret nor the data of the service\n", u.Agents)
	who, err := user.Lookup(u.Agents)
	if _, unknown := errors.AsType[user.UnknownUserError](err); unknown {
		create := exec.CommandContext(ctx, "useradd", "--system", "--user-group", "--create-home",
			"--home-dir", stateDir(u.Agents), "--shell", "/usr/sbin/nologin", u.Agents)
		fmt.Fprintln(os.Stderr, strings.Join(create.Args, " "))
		if dry {
			return nil
		}
		if out, err := create.CombinedOutput(); err != nil {
			return fmt.Errorf("create the user %s: %w: %s", u.Agents, err, strings.TrimSpace(string(out)))
		}
		who, err = user.Lookup(u.Agents)
	}
	if err != nil {
		return err
	}
	agent, err := credentialOf(who)
	if err != nil {
		return err
	}
	owner, err := user.Lookup(u.User)
	if err != nil {
		return err
	}
	for _, dir := range u.projects {
		if u.holds(dir) {
			return &configError{fmt.Errorf("%s cannot be a project: the service has its own files in it", dir)}
		}
		if err := give(ctx, dir, owner, who, agent, dry); err != nil {
			return err
		}
	}
	return nil
}

// holds reports whether the service's own files lie in a folder, which so cannot be given away.
func (u unit) holds(dir string) bool {
	return slices.ContainsFunc([]string{u.Dir, u.Config, u.Program, u.Secret, u.data}, func(own string) bool {
		_, in := safepath.Rel(dir, own)
		return own != "" && in
	})
}

func credentialOf(who *user.User) (*syscall.Credential, error) {
	uid, err := strconv.ParseUint(who.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(who.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// give makes a folder one in which the agents' user can work. What belongs to others than the service is left alone.
func give(ctx context.Context, dir string, owner, who *user.User, agent *syscall.Credential, dry bool) error {
	if works(ctx, dir, agent) {
		return nil
	}
	_, err := os.Lstat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return err
	case !missing && !belongs(dir, owner):
		fmt.Fprintf(os.Stderr, "warning: %s cannot write to %s: chown -R %[1]s %[2]s\n", who.Username, dir)
		return nil
	}
	fmt.Fprintf(os.Stderr, "giving %s to %s\n", dir, who.Username)
	if dry {
		return nil
	}
	if missing {
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			return err
		}
		if err := os.Mkdir(dir, 0o750); err != nil {
			return err
		}
	}
	if err := handOver(dir, owner, agent); err != nil {
		return fmt.Errorf("give %s to %s: %w", dir, who.Username, err)
	}
	if !works(ctx, dir, agent) {
		fmt.Fprintf(os.Stderr, "warning: %s cannot get into %s: a folder above it is closed to that user\n", who.Username, dir)
	}
	return nil
}

// works reports whether a user can write to a folder.
func works(ctx context.Context, dir string, as *syscall.Credential) bool {
	try := exec.CommandContext(ctx, "/bin/sh", "-c", `cd "$1" && test -w .`, "sh", dir)
	try.SysProcAttr, try.Dir, try.Env = &syscall.SysProcAttr{Credential: as}, "/", []string{"PATH=/usr/bin:/bin"}
	return try.Run() == nil
}

// belongs reports whether a folder is the service's to give away: it has made it, or root has and nothing lies there.
func belongs(dir string, owner *user.User) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	entries, err := os.ReadDir(dir)
	return fmt.Sprint(st.Uid) == owner.Uid || st.Uid == 0 && err == nil && len(entries) == 0
}

// handOver gives a folder to the agents' user, with all in it that is the service's. Nothing that is changed there
// meanwhile leads out of it.
func handOver(dir string, owner *user.User, agent *syscall.Credential) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := root.Lstat(path)
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); path != "." && (!ok || fmt.Sprint(st.Uid) != owner.Uid) {
			return nil
		}
		return root.Lchown(path, int(agent.Uid), int(agent.Gid))
	})
	return errors.Join(err, root.Close())
}
