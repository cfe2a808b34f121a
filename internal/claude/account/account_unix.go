//go:build unix

package account

import (
	"os/exec"
	"syscall"
)

// hasUserIDs reports whether the system's users have numeric IDs.
const hasUserIDs = true

// credential holds the IDs of a user and its groups.
type credential = syscall.Credential

// SetCredential makes cmd run as the account.
func (u *User) SetCredential(cmd *exec.Cmd) {
	if u != nil {
		cmd.SysProcAttr.Credential = u.credential
	}
}
