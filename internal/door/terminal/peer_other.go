//go:build !linux && !darwin

package terminal

import "os"

// userOf takes everybody for this user: only the folder keeps others out.
func userOf(uintptr) (uid int, err error) { return os.Geteuid(), nil }
