//go:build unix

package claude

import (
	"errors"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal: keys is the user's side, tty the program's.
func openTerminal() (keys, tty *os.File, err error) {
	master, tty, err := pty.Open()
	if err != nil {
		return nil, nil, err
	}
	defer master.Close() //nolint:errcheck // keys is a copy
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 50, Cols: terminalWidth}); err != nil {
		return nil, nil, errors.Join(err, tty.Close())
	}
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true) // otherwise Close would not end a read
	}
	if err != nil {
		return nil, nil, errors.Join(err, tty.Close())
	}
	return os.NewFile(uintptr(fd), master.Name()), tty, nil
}

// inTerminal makes its standard input the controlling terminal of a process.
func inTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }
