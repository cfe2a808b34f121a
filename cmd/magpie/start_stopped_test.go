package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A start that is interrupted prints no error: the operator knows why it ended, and the error would name an internal
// step.
func TestAStoppedStartEndsQuietly(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(t *testing.T, dir string) (cmd *exec.Cmd, begun func() bool){
		"serve": func(t *testing.T, dir string) (*exec.Cmd, func() bool) {
			writeService(t, dir, startSim(t), "")
			path := filepath.Join(dir, "data", "magpie.db")
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			raw, err := sql.Open("sqlite3", "file:"+path+"?_txlock=exclusive")
			must(t, err)
			// Nobody else can set the database up. The test's context ends before its cleanup, and a transaction with it.
			tx, err := raw.BeginTx(context.Background(), nil)
			must(t, err)
			t.Cleanup(func() { must(t, errors.Join(tx.Rollback(), raw.Close())) })
			return magpie(t, dir, "serve"), func() bool {
				pid, err := os.ReadFile(path + ".lock")
				return err == nil && len(pid) > 0
			}
		},
		"playground": func(t *testing.T, dir string) (*exec.Cmd, func() bool) {
			cli, asked := filepath.Join(dir, "claude"), filepath.Join(dir, "asked")
			must(t, os.WriteFile(cli, fmt.Appendf(nil, "#!/bin/sh\ntouch %s\nexec sleep 600\n", asked), 0o700))
			return magpie(t, dir, "playground", "--listen", "127.0.0.1:0", "--data", dir, "--command", cli), func() bool {
				_, err := os.Stat(asked)
				return err == nil
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err, out := os.ErrProcessDone, ""
			// On a busy machine SQLite's wait for its lock may be over before the signal comes.
			for tries := 0; errors.Is(err, os.ErrProcessDone) && tries < 3; tries++ {
				cmd, begun := prepare(t, t.TempDir())
				out, err = startAndStop(t, cmd, begun)
			}
			if err != nil || strings.Contains(out, "magpie: ") {
				t.Errorf("%v:\n%s", err, out)
			}
		})
	}
}

// startAndStop stops a program once it has begun, which it polls: what another process does can be seen only by its
// files. The error is [os.ErrProcessDone] if the program has ended by itself.
func startAndStop(t *testing.T, cmd *exec.Cmd, begun func() bool) (string, error) {
	t.Helper()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for end := time.Now().Add(patience); !begun() && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
	}
	err := cmd.Process.Signal(syscall.SIGINT)
	err = errors.Join(err, <-ended)
	return out.String(), err
}
