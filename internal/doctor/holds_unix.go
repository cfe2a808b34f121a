//go:build unix

package doctor

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// holds reports whether a process, of which a lock file tells, holds the lock. Linux shows that in /proc/locks;
// elsewhere a process that is alive is taken for the holder.
func holds(pid int, lock string) bool {
	locks, err := os.ReadFile("/proc/locks")
	if err != nil {
		err := syscall.Kill(pid, 0)
		return err == nil || errors.Is(err, syscall.EPERM)
	}
	var st syscall.Stat_t
	return syscall.Stat(lock, &st) == nil && strings.Contains(string(locks), fmt.Sprintf(":%d ", st.Ino))
}
