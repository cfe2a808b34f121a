//go:build unix

package claude

import "syscall"

// errOtherDisk says that a name on another disk cannot be given to a file.
const errOtherDisk = syscall.EXDEV
