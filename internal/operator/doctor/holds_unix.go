//go:build unix

package doctor

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// holdsLock reports whether the process named in a lock file holds the lock. Linux shows that in /proc/locks; on other
// systems any living process counts as the holder.
func holdsLock(pid int, lock string) bool {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		err := syscall.Kill(pid, 0)
		return err == nil || errors.Is(err, syscall.EPERM)
	}
	var st syscall.Stat_t
	return syscall.Stat(lock, &st) == nil && strings.Contains(string(locks), fmt.Sprintf(":%d ", st.Ino))
}
