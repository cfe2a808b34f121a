//go:build unix

package claude

import "syscall"

// errOtherDisk means that a file cannot be renamed to another disk.
const errOtherDisk = syscall.EXDEV
