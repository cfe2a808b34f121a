package claude

import "golang.org/x/sys/windows"

// errOtherDisk means that a file cannot be renamed to another disk.
const errOtherDisk = windows.ERROR_NOT_SAME_DEVICE
