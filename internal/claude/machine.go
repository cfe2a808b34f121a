package claude

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// machine reads the free memory from Linux's files.
type machine struct {
	root fs.FS // nil = this machine's
}

// memory is how many bytes a program may still use, and the total: of the machine, or of the container or service in
// which this program runs.
type memory struct {
	free, total int64
	grouped     bool // of a container or service with less memory than the machine
	known       bool
}

// processes is how many processes fit in the free memory without that which stays free.
func (m memory) processes() int { return int((m.free - m.reserve()) / processMemory) }

// reserve is how much of the memory stays free.
func (m memory) reserve() int64 { return max(leastReserve, m.total/10) }

// isTight reports whether that many more processes would use reserved memory.
func (m memory) isTight(more int) bool {
	return m.known && m.free-int64(more)*processMemory < m.reserve()
}

// memory reads the memory. Tools and other programs use it, too, so it is read each time. That of no machine is unknown.
func (m *machine) memory() (now memory) {
	if m == nil {
		return now
	}
	root := m.root
	if root == nil {
		root = os.DirFS("/")
	}
	info, err := readFields(root, "proc/meminfo")
	if err != nil {
		return now
	}
	now.free, now.total = info["MemAvailable"]<<10, info["MemTotal"]<<10
	if now.free <= 0 || now.total <= 0 {
		return memory{}
	}
	now.known = true
	for dir := controlGroup(root); dir != ""; dir = parentGroup(dir) {
		limit := min(readNumber(root, dir, "memory.max"), readNumber(root, dir, "memory.high"))
		if limit == math.MaxInt64 {
			continue
		}
		used := readNumber(root, dir, "memory.current")
		if used == math.MaxInt64 {
			continue
		}
		stat, _ := readFields(root, path.Join(dir, "memory.stat")) // optional: without it no cache is deducted
		used -= stat["inactive_file"]                              // cache, which the kernel reclaims when needed
		if left := max(0, limit-used); left < now.free {
			now.free, now.grouped = left, true
		}
		now.total = min(now.total, limit)
	}
	return now
}

// cgroupRoot is where the tree of control groups is mounted.
const cgroupRoot = "sys/fs/cgroup"

// controlGroup is the folder of this program's control group; empty = none.
func controlGroup(root fs.FS) string {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok { // of version 2
			return path.Join(cgroupRoot, path.Clean("/"+group)) // in a foreign namespace it begins with "/.."
		}
	}
	return ""
}

// parentGroup is the parent group; empty = none.
func parentGroup(dir string) string {
	if dir == cgroupRoot {
		return ""
	}
	return path.Dir(dir)
}

// readNumber reads one number of a group; the maximum = unlimited or unknown.
func readNumber(root fs.FS, dir, name string) int64 {
	data, err := fs.ReadFile(root, path.Join(dir, name))
	if err != nil {
		return math.MaxInt64
	}
	n, err := strconv.ParseInt(string(bytes.TrimSpace(data)), 10, 64)
	if err != nil { // "max"
		return math.MaxInt64
	}
	return n
}

// readFields reads a file with a name and a number on each line.
func readFields(root fs.FS, name string) (map[string]int64, error) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, err
	}
	m := map[string]int64{}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(words[1], 10, 64); err == nil {
			m[strings.TrimSuffix(words[0], ":")] = n
		}
	}
	return m, nil
}
