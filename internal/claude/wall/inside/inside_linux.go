package inside

import (
	"syscall"
	"unsafe"
)

// Numbers that package syscall does not have (linux/prctl.h, linux/capability.h).
const (
	prCapBoundingDrop = 24
	prSetNoNewPrivs   = 38
	prCapAmbient      = 47
	ambientClearAll   = 4

	capabilityVersion = 0x20080522
	capSysAdmin       = 21

	openPath = 0x200000 // O_PATH
)

func init() {
	value, ok := syscall.Getenv(Variable)
	if !ok {
		return
	}
	var b builder
	if value == Here {
		b.run()
	} else {
		b.start(number(value))
	}
	b.report()
	syscall.Exit(1)
}

// plan is what is to be done, in the order of the lines.
type plan struct {
	entries []entry
	user    int // -1 = none
	groups  []uint32
	rights  bool
	dir     string
	path    string
	args    []string
}

// entry is a path to hide or to show.
type entry struct {
	path   string
	show   bool
	source int // an open file, for one to show
	folder bool
}

// builder carries a plan out. It runs on the main thread alone, whose rights are those of the program that it becomes.
type builder struct {
	plan

	step, at string // what failed, and where
	errno    syscall.Errno
}

// failed records the first failure.
func (b *builder) failed(step, at string, err error) bool {
	errno, _ := err.(syscall.Errno) //nolint:errorlint // package errors would have to be initialized first
	if errno != 0 && b.errno == 0 {
		b.step, b.at, b.errno = step, at, errno
	}
	return b.errno != 0
}

// start starts this program once more, in new namespaces and as a child of the program that waits outside. In the user
// namespace it has all rights, which are capabilities up to the last.
func (b *builder) start(last uint32) {
	_ = syscall.Setenv(Variable, Here)
	attr := syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_PARENT,
		Setpgid:    syscall.Getpgrp() == syscall.Getpid(),
	}
	for c := range uintptr(last) + 1 {
		attr.AmbientCaps = append(attr.AmbientCaps, c)
	}
	const program = "/proc/self/exe"
	pid, err := syscall.ForkExec(program, []string{"magpie-wall"}, &syscall.ProcAttr{
		Env: syscall.Environ(), Files: []uintptr{0, 1, 2, PlanFile, StatusFile}, Sys: &attr,
	})
	if b.failed("start", program, err) {
		return
	}
	_, _ = syscall.Write(StatusFile, []byte(text(pid)+End))
	syscall.Exit(0)
}

func (b *builder) run() {
	_ = syscall.Unsetenv(Variable)
	syscall.CloseOnExec(StatusFile)
	_, _ = syscall.Write(StatusFile, []byte(Runs))
	b.read()
	// What is mounted outside later is mounted here, too, but not the other way around.
	if b.failed("mount", "/", syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SLAVE, "")) {
		return
	}
	b.open()
	for _, e := range b.entries {
		if e.show {
			b.show(e)
		} else {
			b.hide(e)
		}
	}
	for _, e := range b.entries {
		if !e.show && e.folder {
			const flags = syscall.MS_REMOUNT | syscall.MS_BIND | syscall.MS_RDONLY | tmpfsFlags
			b.failed("protect", e.path, syscall.Mount("", e.path, "", flags, ""))
		}
	}
	b.forbidRights()
	b.becomeUser()
	b.dropRights()
	if b.errno != 0 {
		return
	}
	if b.path == "" {
		b.try()
		return
	}
	if b.failed("enter", b.dir, syscall.Chdir(b.dir)) {
		return
	}
	b.failed("run", b.path, syscall.Exec(b.path, b.args, syscall.Environ()))
}

// read reads the plan.
func (b *builder) read() {
	b.user = -1
	var text []byte
	var buf [4096]byte
	for {
		n, err := syscall.Read(PlanFile, buf[:])
		if err == syscall.EINTR { //nolint:errorlint // as above
			continue
		}
		if b.failed("read", "plan", err) || n <= 0 {
			break
		}
		text = append(text, buf[:n]...)
	}
	_ = syscall.Close(PlanFile)
	for start, i := 0, 0; i < len(text); i++ {
		if text[i] == 0 && i > start {
			b.take(text[start], string(text[start+1:i]))
			start = i + 1
		}
	}
}

func (b *builder) take(kind byte, value string) {
	switch kind {
	case Hide, Show:
		b.entries = append(b.entries, entry{path: value, show: kind == Show, source: -1})
	case Group:
		b.groups = append(b.groups, number(value))
	case User:
		b.user = int(number(value))
	case Rights:
		b.rights = true
	case Dir:
		b.dir = value
	case Path:
		b.path = value
	case Arg:
		b.args = append(b.args, value)
	}
}

func number(text string) (n uint32) {
	for _, c := range []byte(text) {
		n = n*10 + uint32(c-'0')
	}
	return n
}

// open opens what is to be shown, before anything is hidden, and finds out which of the paths are folders. What does not
// exist is left out.
func (b *builder) open() {
	there := b.entries[:0]
	for _, e := range b.entries {
		var info syscall.Stat_t
		err := syscall.Stat(e.path, &info)
		if err == syscall.ENOENT { //nolint:errorlint // as above
			continue
		}
		if b.failed("find", e.path, err) {
			return
		}
		e.folder = info.Mode&syscall.S_IFMT == syscall.S_IFDIR
		if e.show {
			e.source, err = syscall.Open(e.path, openPath|syscall.O_CLOEXEC, 0)
			b.failed("open", e.path, err)
		}
		there = append(there, e)
	}
	b.entries = there
}

const tmpfsFlags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC

// hide puts an empty folder in the place of a folder, and an empty file in the place of a file.
func (b *builder) hide(e entry) {
	if e.folder {
		b.failed("hide", e.path, syscall.Mount("magpie", e.path, "tmpfs", tmpfsFlags, "mode=755,size=64k"))
		return
	}
	b.failed("hide", e.path, syscall.Mount("/dev/null", e.path, "", syscall.MS_BIND, ""))
}

// show brings back what a hidden folder has covered, with all that is mounted in it.
func (b *builder) show(e entry) {
	for i := 1; i < len(e.path); i++ {
		if e.path[i] == '/' {
			_ = syscall.Mkdir(e.path[:i], 0o755) // it may be there, and the mount fails if it is not
		}
	}
	if e.folder {
		_ = syscall.Mkdir(e.path, 0o755)
	} else if fd, err := syscall.Open(e.path, syscall.O_CREAT|syscall.O_RDONLY|syscall.O_CLOEXEC, 0o600); err == nil {
		_ = syscall.Close(fd)
	}
	source := "/proc/self/fd/" + text(e.source)
	b.failed("show", e.path, syscall.Mount(source, e.path, "", syscall.MS_BIND|syscall.MS_REC, ""))
	_ = syscall.Close(e.source)
}

func text(n int) string {
	var digits []byte
	for ; n > 0 || len(digits) == 0; n /= 10 {
		digits = append([]byte{'0' + byte(n%10)}, digits...)
	}
	return string(digits)
}

// becomeUser changes this thread to the user of the plan.
func (b *builder) becomeUser() {
	if b.user < 0 || b.errno != 0 {
		return
	}
	gid, more := uintptr(b.groups[0]), b.groups[1:]
	b.call("change groups", syscall.SYS_SETGROUPS, uintptr(len(more)), uintptr(unsafe.Pointer(unsafe.SliceData(more))), 0)
	b.call("change group", syscall.SYS_SETRESGID, gid, gid, gid)
	b.call("change user", syscall.SYS_SETRESUID, uintptr(b.user), uintptr(b.user), uintptr(b.user))
}

func (b *builder) call(step string, number, a, c, d uintptr) {
	if _, _, errno := syscall.RawSyscall(number, a, c, d); errno != 0 {
		b.failed(step, "", errno)
	}
}

// forbidRights makes sure that no program gets the right to mount again: not one with the setuid bit, and in namespaces
// of its own these mounts are locked.
func (b *builder) forbidRights() {
	b.call("forbid rights", syscall.SYS_PRCTL, prCapAmbient, ambientClearAll, 0)
	b.call("forbid rights", syscall.SYS_PRCTL, prCapBoundingDrop, capSysAdmin, 0)
	b.call("forbid rights", syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0)
}

// dropRights gives away the rights with which the wall was built: all but those of root that are kept, and of these the
// one to mount.
func (b *builder) dropRights() {
	header := struct{ version, pid uint32 }{capabilityVersion, 0}
	var sets [2]struct{ effective, permitted, inheritable uint32 }
	if b.rights {
		b.call("read rights", syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets[0])), 0)
		sets[0].permitted &^= 1 << capSysAdmin
		for i := range sets {
			sets[i].effective, sets[i].inheritable = sets[i].permitted, 0
		}
	}
	b.call("drop rights", syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets[0])), 0)
}

// try looks whether the first path is hidden, and cannot be uncovered.
func (b *builder) try() {
	for _, e := range b.entries {
		if syscall.Unmount(e.path, syscall.MNT_DETACH) == nil {
			b.failed("keep hidden", e.path, syscall.EEXIST)
		}
		var info syscall.Stat_t
		if syscall.Stat(e.path+"/hidden", &info) == nil {
			b.failed("hide", e.path, syscall.EEXIST)
		}
	}
	if b.errno == 0 {
		syscall.Exit(0)
	}
}

// report tells what went wrong.
func (b *builder) report() {
	_, _ = syscall.Write(StatusFile, []byte(text(int(b.errno))+Separator+b.step+Separator+b.at))
}
