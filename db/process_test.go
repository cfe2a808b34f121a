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

	"magpie/db"
)

const helperEnv = "MAGPIE_DB_TEST_HELPER"

// TestMain lets the test binary be the other process in tests that need one.
func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) == "" {
		os.Exit(m.Run())
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

// startHelper starts another process and waits until it is ready. It ends with the test.
func startHelper(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), helperEnv+"=1")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
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
	line, err := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(line) != "ready" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd
}
