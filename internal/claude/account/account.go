// Package account finds the user of the operating system as whom agents run, and works on files as that user.
//
// It does not know what agents do, and what their files are.
package account

import (
	"os"
	"os/user"
	"strconv"

	"magpie/internal/i18n"
)

// User is the operating system user that runs agents; nil is this program's user.
type User struct {
	Name, Home string
	credential *credential
}

// Find looks up the user of a name; without a name it is nil. It reads the user's IDs, including
// supplementary groups: without them the CLI could not open files that the user may read through a group.
func Find(name string) (*User, error) {
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
	return &User{u.Username, u.HomeDir, &credential{Uid: ids[0], Gid: ids[1], Groups: ids[2:]}}, nil
}

var errNoOtherUser = i18n.Mistakef("[claude] user：这个系统不能让助手以另一个用户运行，请留空",
	"[claude] user: this system cannot run the agents as another user; leave this empty")

// Check returns an error if agents cannot run as the account.
func (u *User) Check() error {
	switch {
	case u == nil:
		return nil
	case !canRunAs:
		return errNoOtherUser
	// A separate user ID only protects against a user with fewer rights than the service.
	case u.credential.Uid == 0:
		return i18n.Mistakef("[claude] user：root 起不到保护作用，请写一个权限更少的用户",
			"[claude] user: root is no protection; name a user with fewer rights")
	case u.credential.Uid == uint32(os.Geteuid()):
		return i18n.Mistakef("[claude] user：鹊桥自己就以 %s 运行；请写另一个用户，或留空",
			"[claude] user: Magpie itself runs as %s; name another user, or leave this empty", u.Name)
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

// IDs are the IDs of the user and of its primary group; 0 for this program's user.
func (u *User) IDs() (user, group uint32) {
	if u == nil {
		return 0, 0
	}
	return u.credential.Uid, u.credential.Gid
}

// GrantAccess gives the account access to a folder of this program.
func (u *User) GrantAccess(path string) error {
	if u == nil {
		return nil
	}
	return os.Chmod(path, 0o755)
}
