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

// machine tells how much memory there is, as Linux does.
type machine struct {
	root fs.FS // nil = that of this machine
}

// memory is how many bytes a program may still take, and how many there are in all: those of the machine, or of the
// container or service in which this program runs.
func (m *machine) memory() (free, total int64, err error) {
	root := m.root
	if root == nil {
		root = os.DirFS("/")
	}
	info, err := fields(root, "proc/meminfo")
	if err != nil {
		return 0, 0, fmt.Errorf("memory of this machine: %w", err)
	}
	free, total = info["MemAvailable"]<<10, info["MemTotal"]<<10
	if free <= 0 || total <= 0 {
		return 0, 0, errors.New("memory of this machine: not told")
	}
	for dir := controlGroup(root); dir != ""; dir = parentGroup(dir) {
		limit := min(number(root, dir, "memory.max"), number(root, dir, "memory.high"))
		if limit == math.MaxInt64 {
			continue
		}
		used := number(root, dir, "memory.current")
		if used == math.MaxInt64 {
			continue
		}
		stat, _ := fields(root, path.Join(dir, "memory.stat")) // without it nothing can be taken back
		used -= stat["inactive_file"]                          // it is given up for others
		free, total = min(free, max(0, limit-used)), min(total, limit)
	}
	return free, total, nil
}

// groupsAt is where the tree of control groups is found.
const groupsAt = "sys/fs/cgroup"

// controlGroup is the folder of this program's own group; empty = there is none.
func controlGroup(root fs.FS) string {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok { // of version 2
			return path.Join(groupsAt, path.Clean("/"+group)) // outside of a namespace of its own it begins with "/.."
		}
	}
	return ""
}

// parentGroup is the group above; empty = there is none.
func parentGroup(dir string) string {
	if dir == groupsAt {
		return ""
	}
	return path.Dir(dir)
}

// number reads one number of a group; the largest there is = it is not limited, or not told.
func number(root fs.FS, dir, name string) int64 {
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

// fields reads a file of lines with a name and a number.
func fields(root fs.FS, name string) (map[string]int64, error) {
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
