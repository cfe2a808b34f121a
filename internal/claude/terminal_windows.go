package claude

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// openTerminal fails: the CLI shows its login only in a console, and this program has none to offer. Users are told to
// log in at the machine.
func openTerminal() (keys, tty *os.File, err error) {
	return nil, nil, fmt.Errorf("open a terminal: %w", errors.ErrUnsupported)
}

func inTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
