// Command pgrun runs a command with a PostgreSQL server of its own, whose URL is in the environment variable of package
// pgtest, and exits as the command does. Without a command it prints the URL and waits. The server ends with pgrun,
// and pgrun with its parent. scripts/postgres installs what it needs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"magpie/internal/pgtest"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "pgrun:", err)
	}
	os.Exit(code)
}

func run(command []string) (code int, err error) {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	// go run is killed alone. And whom this process starts ends with the thread that started it.
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGTERM), 0, 0, 0); err != nil {
		return 1, err
	}
	server, err := pgtest.Open(ctx, pgtest.Config{})
	if err != nil {
		return 1, err
	}
	defer func() {
		if closed := server.Close(); closed != nil {
			code, err = 1, errors.Join(err, closed)
		}
	}()
	url := server.URL("postgres")
	if len(command) == 0 {
		fmt.Println(url)
		<-ctx.Done()
		return 0, nil
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), pgtest.Variable+"="+url)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return max(exit.ExitCode(), 1), nil
		}
		return 1, err
	}
	return 0, nil
}
