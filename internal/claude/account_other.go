//go:build !linux

package claude

const canActAs = false

// do works on files as the account, which is the program's own here.
func (a *account) do(work func() error) error { return work() }
