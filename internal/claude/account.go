package claude

import (
	"fmt"
	"maps"
	"os"
	"os/user"
	"path/filepath"
	"strconv"

	"magpie/internal/i18n"
)

// account is the operating system user that runs agents; nil is this program's user.
type account struct {
	name, home string
	credential *credential
}

// findAccount looks up a user, such as [Config.User]; without a name it is nil. It reads the user's IDs, including
// supplementary groups: without them the CLI could not open files that the user may read through a group.
func findAccount(name string) (*account, error) {
	if name == "" {
		return nil, nil
	}
	if !hasUserIDs {
		return nil, errNoOtherUser
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, i18n.Mistakef("[claude] user：%v", "[claude] user: %v", err)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, i18n.Mistakef("[claude] user：查不到 %s 的用户组：%v", "[claude] user: groups of %s: %v", name, err)
	}
	ids := make([]uint32, 0, 2+len(groups))
	for _, text := range append([]string{u.Uid, u.Gid}, groups...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, i18n.Mistakef("[claude] user：%s 不是数字：%v", "[claude] user: %s is not a number: %v", text, err)
		}
		ids = append(ids, uint32(id))
	}
	return &account{u.Username, u.HomeDir, &credential{Uid: ids[0], Gid: ids[1], Groups: ids[2:]}}, nil
}

var errNoOtherUser = i18n.Mistakef("[claude] user：这个系统不能让助手以另一个用户运行，请留空",
	"[claude] user: this system cannot run the agents as another user; leave this empty")

// check returns an error if agents cannot run as the account.
func (a *account) check() error {
	switch {
	case a == nil:
		return nil
	case !canRunAs:
		return errNoOtherUser
	// A separate user ID only protects against a user with fewer rights than the service.
	case a.credential.Uid == 0:
		return i18n.Mistakef("[claude] user：root 起不到保护作用，请写一个权限更少的用户",
			"[claude] user: root is no protection; name a user with fewer rights")
	case a.credential.Uid == uint32(os.Geteuid()):
		return i18n.Mistakef("[claude] user：鹊桥自己就以 %s 运行；请写另一个用户，或留空",
			"[claude] user: Magpie itself runs as %s; name another user, or leave this empty", a.name)
	}
	if missing := missingCapabilities(); len(missing) > 0 {
		return i18n.Mistakef(
			`[claude] user：要让助手以另一个用户运行，鹊桥还缺少 %s：用 magpie service install 写服务文件，`+
				"或在服务里用 AmbientCapabilities= 加上，或以 root 运行鹊桥，或留空",
			`[claude] user: to run agents as another user, Magpie lacks %s: let "magpie service install" write the unit, `+
				"give the service these as AmbientCapabilities=, run Magpie as root, or leave this empty",
			i18n.Listing(missing))
	}
	return nil
}

// Capabilities lists what a program without root rights needs to run agents as another user: to switch to it, to kill
// its processes, to read their environment, and to read its files.
func Capabilities() []string {
	return []string{"CAP_SETUID", "CAP_SETGID", "CAP_KILL", "CAP_SYS_PTRACE", "CAP_DAC_READ_SEARCH"}
}

// grantAccess gives the account access to a folder of this program.
func (a *account) grantAccess(path string) error {
	if a == nil {
		return nil
	}
	return os.Chmod(path, 0o755)
}

// Group is the primary group of the user that runs agents; 0 if they run as this program. Agents may
// read files that this group may read.
func (c Config) Group() (int, error) {
	a, err := findAccount(c.User)
	if a == nil || err != nil {
		return 0, err
	}
	return int(a.credential.Gid), nil
}

// agentUsers are the users, besides this program's, as whom agents run.
func (c Config) agentUsers() ([]uint32, error) {
	a, err := findAccount(c.User)
	if err != nil || a == nil {
		return nil, err
	}
	return []uint32{a.credential.Uid}, nil
}

// setVariables sets the account's variables in an environment, and removes those that belong to this program's own
// login.
func (a *account) setVariables(env map[string]string) {
	if a == nil {
		return
	}
	delete(env, stateVariable)
	delete(env, loginVariable)
	delete(env, "TMPDIR")
	maps.Copy(env, map[string]string{"HOME": a.home, "USER": a.name, "LOGNAME": a.name})
}

// writePrivate writes a file that only agents may read. It writes as the account: in a folder of that user, a symbolic
// link could lead this program anywhere.
func (a *account) writePrivate(path string, data []byte) error {
	return a.runAs(func() error {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		if err := replaceFile(path, data); err != nil {
			return fmt.Errorf("settings of the agents: %w", err)
		}
		return nil
	})
}
