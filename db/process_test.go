package db_test

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
	"time"

	"go.uber.org/goleak"

	"magpie/db"
)

const helperEnv = "MAGPIE_DB_TEST_HELPER"

// TestMain lets the test binary be the other process in tests that need one.
func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) == "" {
		goleak.VerifyTestMain(m)
	}
	if err := help(os.Args[1], os.Args[2:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// help says "ready" once it has done what it is there for, and ends with its standard input.
func help(what string, args []string) error {
	ctx := context.Background()
	switch cfg := (db.Config{URL: "sqlite://" + args[0]}); what {
	case "serve":
		if _, err := db.Open(ctx, cfg); err != nil {
			return err
		}
	case "lock": // SQLite's lock, for as long as args[1] says
		pool, err := sql.Open("sqlite3", "file:"+args[0]+"?_txlock=immediate")
		if err != nil {
			return err
		}
		tx, err := pool.Begin()
		if err != nil {
			return err
		}
		fmt.Println("ready")
		d, err := time.ParseDuration(args[1])
		if err != nil {
			return err
		}
		<-time.After(d)
		return tx.Rollback()
	case "accept": // messages without end, each named once it is acknowledged
		d, err := db.Open(ctx, cfg)
		if err != nil {
			return err
		}
		fmt.Println("ready")
		for w := range 8 {
			go func() {
				for i := range 100_000 {
					id := fmt.Sprintf("om_%d_%d", w, i)
					if _, err := d.Accept(ctx, say(id, "x")); err == nil {
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

// startHelper starts another process and waits until it is ready. It ends with the test. Its output goes on in out.
func startHelper(t testing.TB, args ...string) (cmd *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], args...)
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
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait() // killed, in some tests
	})
	out = bufio.NewReader(pipe)
	line, err := out.ReadString('\n')
	if strings.TrimSpace(line) != "ready" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd, out
}
