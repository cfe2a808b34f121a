package claude

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
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

// memory returns how many bytes a program may still use, and the total: of the machine, or of the container or service
// in which this program runs.
func (m *machine) memory() (free, total int64, err error) {
	free, total, _, err = m.readMemory()
	return free, total, err
}

// readMemory is memory; grouped means a container or service with less memory than the machine.
func (m *machine) readMemory() (free, total int64, grouped bool, err error) {
	root := m.root
	if root == nil {
		root = os.DirFS("/")
	}
	info, err := readFields(root, "proc/meminfo")
	if err != nil {
		return 0, 0, false, fmt.Errorf("memory of this machine: %w", err)
	}
	free, total = info["MemAvailable"]<<10, info["MemTotal"]<<10
	if free <= 0 || total <= 0 {
		return 0, 0, false, errors.New("memory of this machine: not available")
	}
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
		if left := max(0, limit-used); left < free {
			free, grouped = left, true
		}
		total = min(total, limit)
	}
	return free, total, grouped, nil
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
