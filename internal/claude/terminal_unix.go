//go:build unix

package claude

import (
	"errors"
	"os"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// openTerminal opens a pseudo-terminal: keys is the person's side, tty that of the program.
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
		err = unix.SetNonblock(fd, true) // else Close would not end a read
	}
	if err != nil {
		return nil, nil, errors.Join(err, tty.Close())
	}
	return os.NewFile(uintptr(fd), master.Name()), tty, nil
}

// inTerminal gives a process the terminal that is its standard input.
func inTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true, Setctty: true} }
