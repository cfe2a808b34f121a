package diskspace

import "golang.org/x/sys/windows"

// Free returns how many bytes this user can still write to the disk of a folder.
func Free(path string) (free uint64, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}
