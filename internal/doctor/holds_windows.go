package doctor

import "golang.org/x/sys/windows"

// stillActive is the exit code of a process that runs (STILL_ACTIVE of GetExitCodeProcess).
const stillActive = 259

// holds reports whether a process, of which a lock file tells, is alive: then it is taken for the holder of the lock.
func holds(pid int, _ string) bool {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return false
	}
	defer windows.CloseHandle(h) //nolint:errcheck // only read
	var code uint32
	return windows.GetExitCodeProcess(h, &code) == nil && code == stillActive
}
