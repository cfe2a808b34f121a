//go:build unix

package claude

import (
	"os/exec"
	"syscall"
)

// hasUserIDs says whether the users of this system have numbers.
const hasUserIDs = true

// credential is the ids of a user and its groups.
type credential = syscall.Credential

// setCredential makes cmd run as the account.
func (a *account) setCredential(cmd *exec.Cmd) {
	if a != nil {
		cmd.SysProcAttr.Credential = a.credential
	}
}
