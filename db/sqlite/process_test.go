package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"magpie/db"
)

const helperEnv = "MAGPIE_DB_TEST_HELPER"

// TestMain runs the test binary as the other process in tests that need one.
func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) == "" {
		goleak.VerifyTestMain(m)
	}
	if err := help(os.Args[1], os.Args[2:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// help prints "ready" once it has done its task, and ends with its standard input.
func help(what string, args []string) error {
	ctx := context.Background()
	switch cfg := (db.Config{URL: "sqlite://" + args[0]}); what {
	case "serve":
		if _, err := db.Open(ctx, cfg); err != nil {
			return err
		}
	case "lock": // SQLite's lock
		pool, err := sql.Open("sqlite3", "file:"+args[0]+"?_txlock=immediate")
		if err != nil {
			return err
		}
		if _, err := pool.Begin(); err != nil { // held until the process ends
			return err
		}
	case "accept": // endless messages; prints each that is acknowledged
		d, err := db.Open(ctx, cfg)
		if err != nil {
			return err
		}
		fmt.Println("ready")
		for w := range 8 {
			go func() {
				for i := range 100_000 {
					id := fmt.Sprintf("om_%d_%d", w, i)
					if _, err := d.Messages().Accept(ctx, say(id, "x")); err == nil {
						fmt.Println(id)
					}
				}
			}()
		}
		_, err = io.Copy(io.Discard, os.Stdin)
		return err
	case "backup":
		d, err := db.OpenReadOnly(ctx, cfg)
		if err != nil {
			return err
		}
		if err := errors.Join(d.Backup(ctx, args[1]), d.Close()); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

// helper is another process.
type helper struct {
	*exec.Cmd
	in  io.Closer     // closing it ends the process
	out *bufio.Reader // output after "ready"
}

// end ends the process, and waits until it is gone.
func (h *helper) end() {
	_ = h.in.Close()
	_ = h.Wait() // some tests have killed it
}

// startHelper starts another process and waits until it is ready. It ends with the test.
func startHelper(t testing.TB, args ...string) *helper {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h := &helper{cmd, in, bufio.NewReader(pipe)}
	t.Cleanup(h.end)
	line, err := h.out.ReadString('\n')
	if strings.TrimSpace(line) != "ready" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return h
}
