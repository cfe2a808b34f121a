package doctor

import "golang.org/x/sys/windows"

// stillActive is the exit code of a running process (STILL_ACTIVE of GetExitCodeProcess).
const stillActive = 259

// holdsLock reports whether the process named in a lock file is alive, which makes it the holder of the lock.
func holdsLock(pid int, _ string) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h) //nolint:errcheck // only read
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}
