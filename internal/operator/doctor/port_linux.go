package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portHolder finds the process of this user that listens on a TCP port (proc_net(5), proc_pid_fd(5)); 0 = it
// is not known.
func portHolder(port string) (name string, pid int) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return "", 0
	}
	sockets := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, _ := os.ReadFile(table) // without it nothing is found
		for line := range strings.Lines(string(data)) {
			const local, state, inode, listening = 1, 3, 9, "0A"
			f := strings.Fields(line)
			if len(f) > inode && f[state] == listening && strings.HasSuffix(f[local], fmt.Sprintf(":%04X", n)) {
				sockets["socket:["+f[inode]+"]"] = true
			}
		}
	}
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // does not include other users' processes
	for _, file := range files {
		if link, err := os.Readlink(file); err != nil || !sockets[link] {
			continue
		}
		process := filepath.Dir(filepath.Dir(file))
		if pid, err := strconv.Atoi(filepath.Base(process)); err == nil {
			name, _ := os.ReadFile(filepath.Join(process, "comm"))
			return strings.TrimSpace(string(name)), pid
		}
	}
	return "", 0
}
