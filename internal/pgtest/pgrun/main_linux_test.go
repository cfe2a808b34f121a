package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// itself is set in a copy of this test binary that is pgrun.
const itself = "MAGPIE_TEST_PGRUN"

func TestMain(m *testing.M) {
	if os.Getenv(itself) != "" {
		main()
	}
	os.Exit(m.Run())
}

// pgrun is the command, which keeps what it makes in a folder.
func pgrun(t *testing.T, arguments ...string) (cmd *exec.Cmd, folder string) {
	folder, err := os.MkdirTemp("", "magpie-pgrun-") // which the server's user can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o711); err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(t.Context(), os.Args[0], arguments...)
	cmd.Env = append(os.Environ(), itself+"=1", "TMPDIR="+folder)
	return cmd, folder
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not so: %s", what)
		}
	}
}

// servers are the processes that are servers with data in a folder.
func servers(t *testing.T, folder string) (pids []int) {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(folder, "*", "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range list {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if pid, err := strconv.Atoi(strings.Split(string(data), "\n")[0]); err == nil { // it may be written now
			pids = append(pids, pid)
		}
	}
	return pids
}

func empty(folder string) bool {
	list, err := os.ReadDir(folder)
	return err == nil && len(list) == 0
}

func TestACommandHasAServer(t *testing.T) {
	t.Parallel()
	cmd, folder := pgrun(t, "sh", "-c", `echo "$MAGPIE_TEST_POSTGRES"; exit 7`)
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 7 {
		t.Errorf("%v", err)
	}
	if !strings.HasPrefix(string(out), "postgres://magpie@127.0.0.1:") {
		t.Errorf("%s", out)
	}
	if !empty(folder) {
		t.Errorf("something is left in %s", folder)
	}
}

func TestTheServerEndsWithAnInterrupt(t *testing.T) {
	t.Parallel()
	cmd, folder := pgrun(t)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.HasPrefix(line, "postgres://") {
		t.Errorf("%s, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil || !empty(folder) {
		t.Errorf("%v; empty: %t", err, empty(folder))
	}
}

// Whoever is killed, nobody runs on.
func TestTheServerEndsWithItsParents(t *testing.T) {
	t.Parallel()
	for _, parent := range []bool{false, true} {
		cmd, folder := pgrun(t, "sh", "-c", `echo $$; exec sleep 1000`)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if parent { // a shell that waits for pgrun
			cmd.Args = append([]string{"sh", "-c", `"$@" & wait`, "sh"}, cmd.Args...)
			cmd.Path = "/bin/sh"
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		command, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		running := servers(t, folder)
		if len(running) != 1 {
			t.Fatalf("servers: %v", running)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		for _, pid := range append(running, command) {
			eventually(t, "processes have ended", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
		}
		if parent {
			eventually(t, "its folder is removed", func() bool { return empty(folder) })
		}
	}
}
