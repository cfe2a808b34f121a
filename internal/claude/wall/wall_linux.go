package wall

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"magpie/internal/claude/wall/inside"
)

// Gate is where a process waits, after its start, until its wall is built.
type Gate struct {
	cmd          *exec.Cmd
	plan         []byte
	in, inner    *os.File // the ends of the pipe for the plan
	status, told *os.File // the ends of the pipe for what went wrong
}

// patience is how long a wall may take. It takes a few milliseconds, and long on a machine that is short of everything.
const patience = 2 * time.Minute

// Apply changes a command that has not been started, so that it starts behind the wall, by Start and Open of its gate.
//
// A process in a new user namespace is a real copy of the one that starts it: Go does not let it borrow the memory, as
// others do. Each page of this program that is written to afterwards would have to be copied, which took longer than the
// start of an agent. So a small process is started first, and it makes that copy of itself, as this program's child.
func (p *Plan) Apply(cmd *exec.Cmd) (*Gate, error) {
	if len(cmd.ExtraFiles) > 0 {
		return nil, errors.New("build the wall: the files for it are taken")
	}
	caps, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return nil, fmt.Errorf("build the wall: %w", err)
	}
	p.hidden = p.look()
	g := Gate{cmd: cmd}
	if g.inner, g.in, err = os.Pipe(); err == nil {
		g.status, g.told, err = os.Pipe()
	}
	if err != nil {
		g.Close()
		return nil, fmt.Errorf("build the wall: %w", err)
	}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	attr := cmd.SysProcAttr
	g.plan = p.encode(cmd)
	// The folder and the user would be those before the wall. The working folder, above all, would lead behind it.
	cmd.Path, cmd.Args, cmd.Dir, attr.Credential = "/proc/self/exe", []string{"magpie-wall"}, "/", nil
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Env = append(cmd.Env, inside.Variable+"="+strings.TrimSpace(string(caps)))
	cmd.ExtraFiles = []*os.File{g.inner, g.told}
	return &g, nil
}

// encode is the plan for package inside. An outer path comes before those in it.
func (p *Plan) encode(cmd *exec.Cmd) []byte {
	var b bytes.Buffer
	line := func(kind byte, value string) {
		b.WriteByte(kind)
		b.WriteString(value)
		b.WriteByte(0)
	}
	kinds := map[string]byte{}
	for _, path := range p.Hide {
		kinds[path] = inside.Hide
	}
	var paths []string
	for _, path := range p.Show {
		if slices.ContainsFunc(p.Hide, func(hidden string) bool { return strings.HasPrefix(path, hidden+"/") }) {
			kinds[path] = inside.Show
		}
	}
	for path := range kinds {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	for _, path := range paths {
		line(kinds[path], path)
	}
	if c := cmd.SysProcAttr.Credential; c != nil {
		for _, group := range append([]uint32{c.Gid}, c.Groups...) {
			line(inside.Group, strconv.FormatUint(uint64(group), 10))
		}
		line(inside.User, strconv.FormatUint(uint64(c.Uid), 10))
	} else if os.Geteuid() == 0 {
		line(inside.Rights, "")
	}
	if cmd.Path != "" {
		dir := cmd.Dir
		if dir == "" {
			dir, _ = os.Getwd() // as without a wall
		}
		line(inside.Dir, dir)
		line(inside.Path, cmd.Path)
		for _, arg := range cmd.Args {
			line(inside.Arg, arg)
		}
	}
	line(inside.Last, "")
	return b.Bytes()
}

// Start starts the process, in namespaces of its own. It may be called in place of the command's Start only. The caller
// calls Open then, or Close after an error.
func (g *Gate) Start() error {
	if err := g.cmd.Start(); err != nil {
		return err
	}
	_, _ = g.inner.Close(), g.told.Close()
	_ = g.status.SetReadDeadline(time.Now().Add(patience))
	if _, err := g.in.Write(g.plan); err != nil {
		_ = g.cmd.Process.Kill() // it may have ended by itself
	}
	said := make([]byte, 4096)
	n, err := g.status.Read(said)
	if err != nil {
		_ = g.cmd.Process.Kill() // it may have ended by itself
	}
	_, _ = g.cmd.Process.Wait() // its work is done
	if id, ok := strings.CutSuffix(string(said[:n]), inside.End); ok {
		var pid int
		if pid, err = strconv.Atoi(id); err == nil {
			g.cmd.Process, err = os.FindProcess(pid)
		}
	} else if err == nil {
		err = failure(string(said[:n]))
	}
	if err != nil {
		_ = g.cmd.Wait() // closes what was opened for it
		return fmt.Errorf("build the wall: %w", err)
	}
	return nil
}

// Open lets the process build its wall and go on. It returns when the program runs, or why it does not; then the process
// ends.
func (g *Gate) Open() error {
	defer g.Close()
	err := mapIDs(g.cmd.Process.Pid)
	if err == nil {
		_, err = g.in.Write([]byte{inside.Last})
	}
	_ = g.in.Close()
	var told []byte
	if err == nil {
		told, err = io.ReadAll(g.status)
	}
	if err == nil {
		err = failure(string(told))
	}
	// A program that does not run fails as it would without a wall.
	if start, ok := errors.AsType[*os.PathError](err); err == nil || ok && start.Op == "fork/exec" {
		return err
	}
	return fmt.Errorf("build the wall: %w", err)
}

// failure is what the process has told; nil = nothing went wrong.
func failure(told string) error {
	if told == "" {
		return nil
	}
	number, rest, _ := strings.Cut(told, inside.Separator)
	step, path, _ := strings.Cut(rest, inside.Separator)
	errno, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("%q", told)
	}
	if step == "run" {
		step = "fork/exec"
	}
	return &os.PathError{Op: step, Path: path, Err: syscall.Errno(errno)}
}

// Close gives the gate up. A process that waits there ends.
func (g *Gate) Close() {
	for _, f := range []*os.File{g.inner, g.in, g.status, g.told} {
		if f != nil {
			_ = f.Close() // it may be closed already
		}
	}
}

// mapIDs gives the users and groups of this program to the user namespace of a process, each under its own number: all
// of them if this program may become any user, otherwise its own only.
func mapIDs(pid int) error {
	write := func(name, text string) error {
		return os.WriteFile(filepath.Join("/proc", strconv.Itoa(pid), name), []byte(text), 0)
	}
	if !holds(unix.CAP_SETUID) || !holds(unix.CAP_SETGID) {
		own := func(id int) string { return fmt.Sprintf("%d %d 1\n", id, id) }
		return errors.Join(write("setgroups", "deny"), write("gid_map", own(os.Getegid())),
			write("uid_map", own(os.Geteuid())))
	}
	groups, err := ownIDs("gid_map", 0)
	if err != nil {
		return err
	}
	least := uint64(0)
	if !holds(unix.CAP_SETFCAP) { // without it nobody may give root to a namespace
		least = 1
	}
	users, err := ownIDs("uid_map", least)
	if err != nil {
		return err
	}
	return errors.Join(write("gid_map", groups), write("uid_map", users))
}

// ownIDs is a map of all IDs from least on that this program has a number for, to themselves; see user_namespaces(7).
func ownIDs(name string, least uint64) (string, error) {
	text, err := os.ReadFile("/proc/self/" + name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		var first, outside, count uint64
		if _, err := fmt.Sscan(line, &first, &outside, &count); err != nil {
			return "", err
		}
		if skip := min(count, max(least, first)-first); skip < count {
			fmt.Fprintf(&b, "%d %d %d\n", first+skip, first+skip, count-skip)
		}
	}
	return b.String(), nil
}

// holds reports whether this program has a capability.
func holds(capability uint) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	return unix.Capget(&header, &sets[0]) == nil && sets[capability/32].Effective&(1<<(capability%32)) != 0
}

// try hides a folder from a process, which looks for it.
func try() error {
	dir, err := os.MkdirTemp("", "magpie-wall-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is empty but for a file, in the system's temporary folder
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "hidden"), nil, 0o600); err != nil {
		return err
	}
	cmd := &exec.Cmd{SysProcAttr: &syscall.SysProcAttr{}}
	gate, err := (&Plan{Hide: []string{dir}}).Apply(cmd)
	if err != nil {
		return err
	}
	if err := gate.Start(); err != nil {
		gate.Close()
		return err
	}
	err = gate.Open()
	return errors.Join(err, cmd.Wait())
}
