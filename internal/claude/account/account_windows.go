package account

import "os/exec"

// hasUserIDs reports whether the system's users have numeric IDs.
const hasUserIDs = false

// credential holds the IDs of a user and its groups, which do not exist on this system.
type credential struct {
	Uid, Gid uint32
	Groups   []uint32
}

// SetCredential does nothing: the account is always the program's own.
func (u *User) SetCredential(*exec.Cmd) {}
