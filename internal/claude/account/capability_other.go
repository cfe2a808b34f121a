//go:build !linux

package account

import "os"

// missingCapabilities are those that this program lacks to run agents as another user.
func missingCapabilities() []string {
	if os.Geteuid() == 0 {
		return nil
	}
	return []string{"the rights of root"}
}
