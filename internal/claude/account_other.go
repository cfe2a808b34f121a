//go:build !linux

package claude

const canRunAs = false

// runAs works on files as the account, which is always the program's own here.
func (a *account) runAs(work func() error) error { return work() }
