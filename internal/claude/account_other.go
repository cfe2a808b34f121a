//go:build !linux

package claude

const canRunAs = false

// runAs works on files as the account, which on this system is always the program's own.
func (a *account) runAs(work func() error) error { return work() }
