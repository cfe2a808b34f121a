package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running server: the process postgres, and one below it for each connection.
type process struct {
	cmd   *exec.Cmd
	data  string
	log   string
	ended chan struct{} // closed when the process has ended
}

// run starts the process of a server.
func (s *cluster) run() (*process, error) {
	log, err := os.OpenFile(s.logFile(), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	cmd := s.command(context.Background(), "postgres", "-D", s.data(), "-p", strconv.Itoa(s.port))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr.Setpgid = true              // an interrupt at the terminal is for the test alone
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // which stops it at once if the test is killed
	p := &process{cmd: cmd, data: s.data(), log: s.logFile(), ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The parent whose death is signaled is this thread.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- errors.Join(err, log.Close())
		if err == nil {
			_ = cmd.Wait()
		}
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return p, nil
}

// untilReady waits until the server takes connections, of which it keeps a line in a file.
func (p *process) untilReady(ctx context.Context) error {
	pid := strconv.Itoa(p.cmd.Process.Pid)
	for {
		data, err := os.ReadFile(filepath.Join(p.data, "postmaster.pid"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		lines := strings.Split(string(data), "\n")
		if lines[0] == pid && len(lines) > 7 && strings.TrimSpace(lines[7]) == "ready" {
			return nil
		}
		select {
		case <-p.ended:
			return p.whyEnded()
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *process) whyEnded() error {
	if log, _ := os.ReadFile(p.log); bytes.Contains(log, []byte("Address already in use")) {
		return syscall.EADDRINUSE
	}
	return errors.New(p.cmd.ProcessState.String())
}

func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil { // its fast shutdown
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		return errors.Join(errors.New("PostgreSQL does not stop"), p.kill())
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("stop PostgreSQL: %v", p.cmd.ProcessState)
	}
	return nil
}

// kill kills the process and those below it, which would live on for a while and keep another one from starting.
func (p *process) kill() error {
	family, err := p.pause()
	if err != nil {
		return err
	}
	for _, pid := range family {
		err = errors.Join(err, ignoreGone(syscall.Kill(pid, syscall.SIGKILL)))
	}
	<-p.ended
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		alive := 0
		for _, pid := range family {
			if _, state := parentAndState(pid); state != "" && state != "Z" && state != "X" {
				alive = pid
			}
		}
		if alive == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return errors.Join(err, fmt.Errorf("process %d of PostgreSQL does not end", alive))
		}
	}
}

// pause stops the process, so that it starts no others, and returns it and those below it.
func (p *process) pause() ([]int, error) {
	select {
	case <-p.ended:
		return nil, nil // and those below it have ended before
	default:
	}
	pid := p.cmd.Process.Pid
	if err := ignoreGone(syscall.Kill(pid, syscall.SIGSTOP)); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, state := parentAndState(pid); state == "T" || state == "Z" || state == "" {
			break
		}
		if time.Now().After(deadline) {
			return nil, errors.New("PostgreSQL cannot be paused")
		}
	}
	return append([]int{pid}, children(pid)...), nil
}

func (p *process) signal(sig syscall.Signal) error {
	family, err := p.pause()
	for _, pid := range family {
		err = errors.Join(err, ignoreGone(syscall.Kill(pid, sig)))
	}
	return err
}

func ignoreGone(err error) error {
	if errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return err
}

// children are the processes that a process has started.
func children(pid int) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, _ := parentAndState(child); parent == pid {
			pids = append(pids, child)
		}
	}
	return pids
}

// parentAndState reads the file stat of a process; the state is empty if there is none.
func parentAndState(pid int) (parent int, state string) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, ""
	}
	// The name before the state is in parentheses and may have spaces.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 2 {
		return 0, ""
	}
	parent, _ = strconv.Atoi(fields[1])
	return parent, fields[0]
}
