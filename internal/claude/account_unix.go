//go:build unix

package claude

import (
	"os/exec"
	"syscall"
)

// hasUserIDs reports whether the system's users have numeric IDs.
const hasUserIDs = true

// credential holds the IDs of a user and its groups.
type credential = syscall.Credential

// setCredential makes cmd run as the account.
func (a *account) setCredential(cmd *exec.Cmd) {
	if a != nil {
		cmd.SysProcAttr.Credential = a.credential
	}
}
