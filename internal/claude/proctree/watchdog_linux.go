package proctree

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"magpie/internal/boottime"
)

// watchdogVariable is the environment variable that makes the program a watchdog. It has no other ones, so no secrets.
const watchdogVariable = "MAGPIE_WATCHDOG"

// watchdogName is the name of its process.
const watchdogName = "magpie-watchdog"

// runOnce runs the process until it ends, and has it end when ctx is done.
func (w *Watchdog) runOnce(ctx context.Context) error {
	theirs, pipe, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start the watchdog: %w", err)
	}
	defer pipe.Close() //nolint:errcheck // it is closed already, or the process has ended
	// It leads a group of its own: a Ctrl-C is for this program, which ends later than the CLIs. It has no output: who
	// waits for the end of this program's would wait for its end, too.
	cmd := &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{watchdogName, w.Instance}, Dir: "/", Stdin: theirs,
		SysProcAttr: OwnGroup(),
	}
	for _, user := range w.Users {
		cmd.Args = append(cmd.Args, strconv.FormatUint(uint64(user), 10))
	}
	if len(w.Users) > 0 && os.Geteuid() != 0 { // this program hands on nothing by itself
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_KILL, unix.CAP_SYS_PTRACE}
	}
	child := New(cmd, "", "") // no sweep ends it
	err = child.Start([]string{watchdogVariable + "=1"}, nil)
	_ = theirs.Close()
	if err != nil {
		return fmt.Errorf("start the watchdog: %w", err)
	}
	tell := func() {
		_ = pipe.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := pipe.Write(binary.NativeEndian.AppendUint64(nil, uint64(w.until))); err != nil {
			_ = cmd.Process.Kill() // it reads nothing for long, or has ended
		}
	}
	w.mu.Lock()
	w.tell = tell
	tell()
	w.mu.Unlock()
	defer context.AfterFunc(ctx, func() { _ = pipe.Close() })()
	child.Wait()
	child.Close()
	w.mu.Lock()
	w.tell = nil
	w.mu.Unlock()
	return fmt.Errorf("the watchdog has ended: %w", child.Err())
}

func init() {
	if os.Getenv(watchdogVariable) == "" {
		return
	}
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	d := watch{instance: os.Args[1], until: math.MaxInt64}
	for _, arg := range os.Args[2:] {
		user, err := strconv.ParseUint(arg, 10, 32)
		if err != nil {
			os.Exit(2)
		}
		d.users = append(d.users, uint32(user))
	}
	d.keep()
	os.Exit(0)
}

// watch is what the process of a watchdog does.
type watch struct {
	instance string
	users    []uint32
	until    time.Duration
	alone    bool // the program that it watches has ended
}

const (
	look      = 200 * time.Millisecond // how often it looks at the clock, which may jump when the machine has slept
	lastWords = 500 * time.Millisecond // for a CLI to complete its transcript
)

// keep ends the CLIs when their time is over, and returns when the program has ended as well. Until then the next process of
// the program may take them up; its watchdog takes the place of this one.
func (d *watch) keep() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM) // also meant for all processes of a service
	s := d.sweeper()
	if d.listen(-1); d.alone {
		return // before it was told when; that of an earlier process still knows
	}
	d.replaceEarlier()
	for !d.alone {
		if left := d.until - boottime.Now(); left > 0 {
			s = d.sweeper()
			d.listen(min(left, look))
			continue
		}
		s.scan()
		// Those that start after the time was extended are not meant.
		if len(s.alive) == 0 {
			s = d.sweeper()
			d.listen(look)
		} else if !d.listen(0) {
			Kill(s.alive)
			d.listen(sweepTick)
		}
	}
	for ; d.until-boottime.Now() > lastWords; time.Sleep(look) {
		s = d.sweeper()
		if s.scan(); len(s.alive) == 0 {
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), d.until-boottime.Now())
	defer cancel()
	s.ask(ctx)
	_, _ = s.kill(context.Background())
}

func (d *watch) sweeper() *sweeper { return newSweeper(d.instance, nil, d.users) }

// replaceEarlier ends the watchdogs of earlier processes of the program. This one ends what they would have ended.
func (d *watch) replaceEarlier() {
	for _, p := range processes(0) {
		data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "cmdline"))
		if err == nil && p.pid != os.Getpid() && bytes.HasPrefix(data, []byte(watchdogName+"\x00"+d.instance+"\x00")) {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}

// listen waits for the program to extend the time or to end, and reports whether it did; for ever if wait is negative.
func (d *watch) listen(wait time.Duration) bool {
	files, most := []unix.PollFd{{Fd: 0, Events: unix.POLLIN}}, -1
	if wait >= 0 {
		most = int((wait + time.Millisecond - 1).Milliseconds())
	}
	n, err := unix.Poll(files, most)
	for errors.Is(err, syscall.EINTR) {
		n, err = unix.Poll(files, most)
	}
	if n == 0 {
		return false
	}
	// Each time is written at once, and a full buffer holds whole ones.
	var said [512]byte
	if n, _ := unix.Read(0, said[:]); n >= 8 {
		d.until = time.Duration(binary.NativeEndian.Uint64(said[n-8:]))
	} else {
		d.alone = true
	}
	return true
}
