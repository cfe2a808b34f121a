package inside

import (
	"syscall"
	"unsafe"
)

// Numbers that package syscall does not have (linux/prctl.h, linux/capability.h, linux/fcntl.h, linux/signal.h).
const (
	prCapBoundingDrop = 24
	prSetNoNewPrivs   = 38

	capabilityVersion = 0x20080522
	capSysAdmin       = 21

	openPath = 0x200000 // O_PATH
	here     = -100     // AT_FDCWD
	setMask  = 2        // SIG_SETMASK
)

func init() {
	last, ok := syscall.Getenv(Variable)
	if !ok {
		return
	}
	_ = syscall.Unsetenv(Variable)
	syscall.CloseOnExec(PlanFile)
	syscall.CloseOnExec(StatusFile)
	b := builder{last: number(last)}
	if b.prepare(); b.errno == 0 {
		b.start()
	}
	_, _ = syscall.Write(StatusFile, []byte(text(int(b.errno))+Separator+b.step+Separator+b.at))
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
	folder bool
}

// builder makes the process that builds a wall and becomes another program. That process is a copy of this one, in new
// namespaces and a child of the program that waits outside. A copy has only one of this one's threads, and must not wait
// for what another may hold, the memory's lock for example. So all its system calls are prepared here.
type builder struct {
	plan
	last  uint32 // the last capability of the kernel
	calls []call
	kept  []unsafe.Pointer // what the calls point to

	step, at string // what failed, and where
	errno    syscall.Errno
}

// call is a system call of the new process.
type call struct {
	step, at string // to tell of a failure; no step = it may fail
	number   uintptr
	args     [6]uintptr
	fails    bool // it has to
}

// lastResult is an argument that is the result of the call before.
const lastResult = ^uintptr(0) - 4711

// sourceFile is the first of the files that are shown.
const sourceFile = 100

// failed records the first failure.
func (b *builder) failed(step, at string, err error) bool {
	errno, _ := err.(syscall.Errno) //nolint:errorlint // package errors would have to be initialized first
	if errno != 0 && b.errno == 0 {
		b.step, b.at, b.errno = step, at, errno
	}
	return b.errno != 0
}

// start makes the process, tells its ID, and ends. In the process it does not return either.
func (b *builder) start() {
	var all, old uint64
	all = ^all
	b.call("become the program", "", syscall.SYS_RT_SIGPROCMASK, setMask, b.pointer(unsafe.Pointer(&old)), 0, 8)
	b.exec()
	report := make([][]byte, len(b.calls))
	for i, c := range b.calls {
		report[i] = []byte(Separator + c.step + Separator + c.at)
	}
	// A signal would be handled by this program.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(&all)),
		uintptr(unsafe.Pointer(&old)), 8, 0, 0)
	const flags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_PARENT | uintptr(syscall.SIGCHLD)
	pid, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	switch {
	case errno != 0:
		b.failed("start", "", errno)
		return
	case pid == 0:
		carryOut(b.calls, report)
	}
	_, _ = syscall.Write(StatusFile, []byte(text(int(pid))+End))
	syscall.Exit(0)
}

// carryOut makes the calls. It ends the process when one does not do as it should.
//
//go:nosplit
//go:norace
func carryOut(calls []call, report [][]byte) {
	var digits [4]byte
	result := uintptr(0)
	for i := range calls {
		c := &calls[i]
		for j, arg := range c.args {
			if arg == lastResult {
				c.args[j] = result
			}
		}
		r, _, errno := syscall.RawSyscall6(c.number, c.args[0], c.args[1], c.args[2], c.args[3], c.args[4], c.args[5])
		if result = r; len(c.step) == 0 || (errno != 0) == c.fails && (c.number != syscall.SYS_READ || r > 0) {
			continue
		}
		if errno == 0 {
			errno = syscall.EEXIST
		}
		for n, at := errno, len(digits)-1; at >= 0; at-- {
			digits[at] = '0' + byte(n%10)
			n /= 10
		}
		write(unsafe.Pointer(&digits), len(digits))
		write(unsafe.Pointer(unsafe.SliceData(report[i])), len(report[i]))
		break
	}
	_, _, _ = syscall.RawSyscall6(syscall.SYS_EXIT_GROUP, 1, 0, 0, 0, 0, 0)
}

//go:nosplit
//go:norace
func write(data unsafe.Pointer, size int) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_WRITE, StatusFile, uintptr(data), uintptr(size), 0, 0, 0)
}

// call adds a call.
func (b *builder) call(step, at string, number uintptr, args ...uintptr) {
	c := call{step: step, at: at, number: number}
	copy(c.args[:], args)
	b.calls = append(b.calls, c)
}

// pointer is an argument that points to memory.
func (b *builder) pointer(p unsafe.Pointer) uintptr {
	b.kept = append(b.kept, p)
	return uintptr(p)
}

// text is an argument with a text.
func (b *builder) text(s string) uintptr {
	p, err := syscall.BytePtrFromString(s)
	b.failed("name", s, err)
	return b.pointer(unsafe.Pointer(p))
}

// texts is an argument with a list of texts.
func (b *builder) texts(list []string) uintptr {
	pointers, err := syscall.SlicePtrFromStrings(list)
	b.failed("name", "arguments", err)
	return b.pointer(unsafe.Pointer(unsafe.SliceData(pointers)))
}

func (b *builder) mount(step, source, target, kind string, flags uintptr, data string) {
	b.call(step, target, syscall.SYS_MOUNT, b.text(source), b.text(target), b.text(kind), flags, b.text(data))
}

// prepare reads the plan and prepares the calls up to the one that becomes the other program.
func (b *builder) prepare() {
	b.read()
	b.look()
	if b.errno != 0 {
		return
	}
	if syscall.Getpgrp() == syscall.Getpid() {
		b.call("lead a group", "", syscall.SYS_SETPGID, 0, 0)
	}
	// The program that waits outside maps the IDs first.
	b.call("wait", "", syscall.SYS_READ, PlanFile, b.pointer(unsafe.Pointer(new(byte))), 1)
	// What is mounted outside later is mounted here, too, but not the other way around.
	b.mount("mount", "", "/", "", syscall.MS_REC|syscall.MS_SLAVE, "")
	for i, e := range b.entries { // before anything is hidden
		if e.show {
			dir := here
			b.call("open", e.path, syscall.SYS_OPENAT, uintptr(dir), b.text(e.path), openPath|syscall.O_CLOEXEC)
			b.call("open", e.path, syscall.SYS_DUP3, lastResult, uintptr(sourceFile+i), syscall.O_CLOEXEC)
		}
	}
	for i, e := range b.entries {
		if e.show {
			b.show(e, sourceFile+i)
		} else {
			b.hide(e)
		}
	}
	for _, e := range b.entries {
		if !e.show && e.folder {
			const flags = syscall.MS_REMOUNT | syscall.MS_BIND | syscall.MS_RDONLY | tmpfsFlags
			b.mount("protect", "", e.path, "", flags, "")
		}
	}
	b.dropRights()
}

// read reads the plan, up to its end.
func (b *builder) read() {
	b.user = -1
	var all []byte
	var buf [4096]byte
	for !isWhole(all) {
		n, err := syscall.Read(PlanFile, buf[:])
		if err == syscall.EINTR { //nolint:errorlint // as above
			continue
		}
		if n == 0 && err == nil {
			err = syscall.EPIPE
		}
		if b.failed("read", "plan", err) {
			return
		}
		all = append(all, buf[:n]...)
	}
	for start, i := 0, 0; i < len(all); i++ {
		if all[i] == 0 {
			b.take(all[start], string(all[start+1:i]))
			start = i + 1
		}
	}
}

// isWhole reports whether the last line of a plan is there.
func isWhole(plan []byte) bool {
	n := len(plan)
	return n >= 2 && plan[n-2] == Last && plan[n-1] == 0 && (n == 2 || plan[n-3] == 0)
}

func (b *builder) take(kind byte, value string) {
	switch kind {
	case Hide, Show:
		b.entries = append(b.entries, entry{path: value, show: kind == Show})
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

// look finds out which of the paths are folders. What does not exist is left out.
func (b *builder) look() {
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
		there = append(there, e)
	}
	b.entries = there
}

const tmpfsFlags = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC

// hide puts an empty folder in the place of a folder, and an empty file in the place of a file.
func (b *builder) hide(e entry) {
	if e.folder {
		b.mount("hide", "magpie", e.path, "tmpfs", tmpfsFlags, "mode=755,size=64k")
		return
	}
	b.mount("hide", "/dev/null", e.path, "", syscall.MS_BIND, "")
}

// show brings back what a hidden folder has covered, with all that is mounted in it.
func (b *builder) show(e entry, source int) {
	dir := here
	folder := func(path string) { // it may be there, and the mount fails if it is not
		b.call("", "", syscall.SYS_MKDIRAT, uintptr(dir), b.text(path), 0o755)
	}
	for i := 1; i < len(e.path); i++ {
		if e.path[i] == '/' {
			folder(e.path[:i])
		}
	}
	if e.folder {
		folder(e.path)
	} else {
		const flags = syscall.O_CREAT | syscall.O_RDONLY | syscall.O_CLOEXEC
		b.call("", "", syscall.SYS_OPENAT, uintptr(dir), b.text(e.path), flags, 0o600)
	}
	b.mount("show", "/proc/self/fd/"+text(source), e.path, "", syscall.MS_BIND|syscall.MS_REC, "")
}

func text(n int) string {
	var digits []byte
	for ; n > 0 || len(digits) == 0; n /= 10 {
		digits = append([]byte{'0' + byte(n%10)}, digits...)
	}
	return string(digits)
}

// dropRights makes sure that no program gets the right to mount again: not one with the setuid bit, and in namespaces of
// its own these mounts are locked. It becomes the user of the plan and gives away the rights with which the wall was
// built: all but those of root that are kept, and of these the one to mount.
func (b *builder) dropRights() {
	b.call("forbid rights", "", syscall.SYS_PRCTL, prCapBoundingDrop, capSysAdmin)
	b.call("forbid rights", "", syscall.SYS_PRCTL, prSetNoNewPrivs, 1)
	if b.user >= 0 {
		gid, more, uid := uintptr(b.groups[0]), b.groups[1:], uintptr(b.user)
		b.call("change groups", "", syscall.SYS_SETGROUPS, uintptr(len(more)),
			b.pointer(unsafe.Pointer(unsafe.SliceData(more))))
		b.call("change group", "", syscall.SYS_SETRESGID, gid, gid, gid)
		b.call("change user", "", syscall.SYS_SETRESUID, uid, uid, uid)
	}
	header := &struct{ version, pid uint32 }{capabilityVersion, 0}
	sets := &[2]struct{ effective, permitted, inheritable uint32 }{}
	for c := uint32(0); b.rights && c <= b.last; c++ {
		if c != capSysAdmin {
			sets[c/32].effective |= 1 << (c % 32)
			sets[c/32].permitted |= 1 << (c % 32)
		}
	}
	b.call("drop rights", "", syscall.SYS_CAPSET, b.pointer(unsafe.Pointer(header)), b.pointer(unsafe.Pointer(sets)))
}

// exec adds the call that becomes the other program. Without one, those that look whether what is hidden is, and stays.
func (b *builder) exec() {
	dir := here
	if b.path != "" {
		b.call("enter", b.dir, syscall.SYS_CHDIR, b.text(b.dir))
		b.call("run", b.path, syscall.SYS_EXECVE, b.text(b.path), b.texts(b.args), b.texts(syscall.Environ()))
		return
	}
	for _, e := range b.entries {
		b.call("keep hidden", e.path, syscall.SYS_UMOUNT2, b.text(e.path), syscall.MNT_DETACH)
		b.calls[len(b.calls)-1].fails = true
		b.call("hide", e.path, syscall.SYS_FACCESSAT, uintptr(dir), b.text(e.path+"/hidden"))
		b.calls[len(b.calls)-1].fails = true
	}
	b.call("end", "", syscall.SYS_EXIT_GROUP, 0)
}
