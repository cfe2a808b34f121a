package claude

import "golang.org/x/sys/windows"

// errOtherDisk says that a name on another disk cannot be given to a file.
const errOtherDisk = windows.ERROR_NOT_SAME_DEVICE
