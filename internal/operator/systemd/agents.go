//go:build unix

package systemd

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

	"magpie/internal/i18n"
	"magpie/internal/operator/config"
	"magpie/internal/safepath"
)

// agentsUser is the user that runs the agents of a system service; empty for the service's own user. A personal service
// keeps its user: another one would have neither the login of that person's CLI nor access to the home folder.
func (i Installation) agentsUser(c config.Config, owner *user.User, paths []string) string {
	atHome := func(path string) bool {
		return strings.HasPrefix(path+"/", "/home/") || strings.HasPrefix(path+"/", "/root/")
	}
	switch {
	case i.Agents == SameUser, i.Agents == owner.Username:
		return ""
	case i.Agents != "":
		return i.Agents
	case c.Claude.User != "":
		return c.Claude.User
	case owner.Uid == "0" || slices.ContainsFunc(append(paths, owner.HomeDir), atHome):
		return ""
	}
	return owner.Username + "-agent"
}

// agentsHome is the home folder of the agents' user, and the name of its group. For a user that is yet to be created
// they are the future ones.
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

// prepareAgents prepares the agents' user for the service: the user itself, and its working folders. It prints what it
// does; with dryRun it does nothing else.
func (u unit) prepareAgents(ctx context.Context, dryRun bool) error {
	if u.Agents.User == "" {
		if u.System {
			fmt.Fprint(os.Stderr, i18n.ServiceSameUser.Line(u.Lang, u.User))
		}
		return nil
	}
	fmt.Fprint(os.Stderr, i18n.ServiceOtherUser.Line(u.Lang, u.Agents.User))
	who, err := user.Lookup(u.Agents.User)
	if _, unknown := errors.AsType[user.UnknownUserError](err); unknown {
		create := exec.CommandContext(ctx, "useradd", "--system", "--user-group", "--create-home",
			"--home-dir", stateDir(u.Agents.User), "--shell", "/usr/sbin/nologin", u.Agents.User)
		fmt.Fprintln(os.Stderr, strings.Join(create.Args, " "))
		if dryRun {
			return nil
		}
		if out, err := create.CombinedOutput(); err != nil {
			return i18n.Mistakef("创建不了用户 %s：%v：%s", "create the user %s: %v: %s", u.Agents.User, err,
				strings.TrimSpace(string(out)))
		}
		who, err = user.Lookup(u.Agents.User)
	}
	if err != nil {
		return err
	}
	agent, err := credentialOf(who)
	if err != nil {
		return err
	}
	owner, err := user.Lookup(u.User)
	if err != nil && dryRun { // the warning was printed
		return nil
	} else if err != nil {
		return err
	}
	// After the user exists, since the folders will belong to it.
	for _, dir := range u.Agents.projects {
		if u.hasOwnFilesIn(dir) {
			return &config.Error{Err: i18n.Mistakef("%s 不能作为项目：里面有服务自己的文件",
				"%s cannot be a project: the service has its own files in it", dir)}
		}
		if err := u.giveFolder(ctx, dir, owner, who, agent, dryRun); err != nil {
			return err
		}
	}
	return nil
}

// hasOwnFilesIn reports whether a folder contains files of the service itself, and so must not be given away.
func (u unit) hasOwnFilesIn(dir string) bool {
	return slices.ContainsFunc(u.ownFiles(), func(own string) bool {
		_, in := safepath.Rel(dir, own)
		return in
	})
}

// ownFiles are the files and folders of the service itself.
func (u unit) ownFiles() []string {
	return slices.DeleteFunc([]string{u.Dir, u.Config, u.Program, u.Secret, u.data}, func(own string) bool {
		return own == ""
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

// giveFolder lets the agents' user write to a folder, which it creates if needed. A folder that belongs to anyone but
// the service is left alone, with a warning.
func (u unit) giveFolder(
	ctx context.Context, dir string, owner, who *user.User, agent *syscall.Credential, dryRun bool,
) error {
	l := u.Lang
	if canWrite(ctx, dir, agent) {
		return nil
	}
	_, err := os.Lstat(dir)
	missing := errors.Is(err, fs.ErrNotExist)
	switch {
	case err != nil && !missing:
		return err
	case !missing && !mayGive(dir, owner):
		fmt.Fprint(os.Stderr, i18n.ServiceCannotWrite.Line(l, who.Username, dir))
		return nil
	}
	fmt.Fprint(os.Stderr, i18n.ServiceGiving.Line(l, dir, who.Username))
	if dryRun {
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
	left, err := chownFolder(dir, owner, agent, u.ownFiles())
	if err != nil {
		return i18n.Mistakef("不能把 %s 交给 %s：%v", "give %s to %s: %v", dir, who.Username, err)
	}
	if left > 0 {
		fmt.Fprint(os.Stderr, i18n.ServiceHardLinks.Line(l, who.Username, dir, left))
	}
	// A parent folder may be closed; this program must not change the modes of other people's folders.
	if !canWrite(ctx, dir, agent) {
		fmt.Fprint(os.Stderr, i18n.ServiceCannotEnter.Line(l, who.Username, dir))
	}
	return nil
}

// canWrite reports whether a user can write to a folder.
func canWrite(ctx context.Context, dir string, as *syscall.Credential) bool {
	try := exec.CommandContext(ctx, "/bin/sh", "-c", `cd "$1" && test -w .`, "sh", dir)
	try.SysProcAttr, try.Dir, try.Env = &syscall.SysProcAttr{Credential: as}, "/", []string{"PATH=/usr/bin:/bin"}
	return try.Run() == nil
}

// mayGive reports whether a folder may be given to the agents' user: the service owns it, or root does and it is empty.
func mayGive(dir string, owner *user.User) bool {
	info, err := os.Lstat(dir)
	return err == nil && belongsTo(info, owner, func() ([]fs.DirEntry, error) { return os.ReadDir(dir) })
}

// belongsTo is mayGive for a folder that is known.
func belongsTo(dir fs.FileInfo, owner *user.User, read func() ([]fs.DirEntry, error)) bool {
	st, ok := dir.Sys().(*syscall.Stat_t)
	if !ok || !dir.IsDir() {
		return false
	}
	if fmt.Sprint(st.Uid) == owner.Uid {
		return true
	}
	entries, err := read()
	return st.Uid == 0 && err == nil && len(entries) == 0
}

// isAbove reports whether a folder is one of these files, or above one.
func isAbove(dir fs.FileInfo, files []string) bool {
	return slices.ContainsFunc(files, func(path string) bool {
		if real, ok := safepath.Follow(path); ok {
			path = real
		}
		for ; ; path = filepath.Dir(path) {
			if info, err := os.Stat(path); err == nil && os.SameFile(info, dir) {
				return true
			} else if path == filepath.Dir(path) {
				return false
			}
		}
	})
}

// errOtherFolder means that a link leads to a folder that must not be given away.
var errOtherFolder = i18n.Mistakef("它现在是另一个文件夹", "it is another folder now")

// chownFolder gives a folder to the agents' user, with everything in it that the service owns. It walks an [os.Root],
// so that a symbolic link created meanwhile cannot lead it to files elsewhere. The folder itself is checked once more
// when it is open: if it is in another project, an agent may have put a link in the place of a folder above it. Files
// with other names are left alone, and counted: while agents ran as the service's user, one of them could have linked
// the secret or the database.
func chownFolder(dir string, owner *user.User, agent *syscall.Credential, own []string) (left int, err error) {
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		return 0, err
	}
	root, err := safepath.OpenDir(parent, filepath.Base(dir), nil)
	if err = errors.Join(err, parent.Close()); err != nil {
		return 0, err
	}
	info, err := root.Stat(".")
	read := func() ([]fs.DirEntry, error) { return fs.ReadDir(root.FS(), ".") }
	if err == nil && (isAbove(info, own) || !belongsTo(info, owner, read)) {
		err = errOtherFolder
	}
	if err != nil {
		return 0, errors.Join(err, root.Close())
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := root.Lstat(path)
		if err != nil {
			return err
		}
		// Files of anyone else are left alone.
		st, ok := info.Sys().(*syscall.Stat_t)
		if path != "." && (!ok || fmt.Sprint(st.Uid) != owner.Uid) {
			return nil
		}
		if !info.IsDir() && st.Nlink > 1 {
			left++
			return nil
		}
		return root.Lchown(path, int(agent.Uid), int(agent.Gid))
	})
	return left, errors.Join(err, root.Close())
}
