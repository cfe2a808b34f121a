package pgtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/leaktest"
)

// abandoned is set in a copy of this test binary that starts a server and does not end it.
const abandoned = "MAGPIE_TEST_ABANDONED_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(abandoned) != "" {
		s, err := Open(context.Background(), Config{})
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(s.folder)
		fmt.Println(s.process.cmd.Process.Pid)
		time.Sleep(time.Hour)
	}
	leaktest.Main(m)
}

// query runs a statement as the role of a URL, and returns its result.
func query(ctx context.Context, s *Server, url, statement string) (string, error) {
	cmd := exec.CommandContext(ctx, s.binaries+"/psql", "-X", "-w", "-A", "-t", "-q", "-c", statement, url)
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", statement, err, out)
	}
	return strings.TrimSpace(string(out)), err
}

func mustQuery(t *testing.T, s *Server, statement string) string {
	t.Helper()
	result, err := query(t.Context(), s, s.URL("postgres"), statement)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// gone reports when a process has ended, or fails.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if _, state := parentAndState(pid); state == "Z" {
			return // nobody waits for orphans in some containers
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d goes on", pid)
		}
	}
}

func TestAServerIsLikeThoseOfUsers(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	for statement, want := range map[string]string{
		"SHOW fsync":                     "on",
		"SHOW synchronous_commit":        "on",
		"SHOW full_page_writes":          "on",
		"SHOW server_encoding":           "UTF8",
		"SELECT 'a' < 'B'":               "t", // not so in the order of bytes
		"SELECT 'a' COLLATE \"C\" < 'B'": "f",
		"SELECT count(*) FROM (VALUES ('啊'), ('不'), ('从')) AS t (v) WHERE v <= '不'": "2",
	} {
		if got := mustQuery(t, s, statement); got != want {
			t.Errorf("%s: %s, not %s", statement, got, want)
		}
	}
	// Under eatmydata, with which scripts/test runs this, nothing would be durable.
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", s.process.cmd.Process.Pid))
	do(t, err)
	if bytes.Contains(maps, []byte("eatmydata")) {
		t.Error("the server runs under eatmydata")
	}
}

func TestNothingIsLeftOfAServer(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), Config{})
	do(t, err)
	family := append(children(s.process.cmd.Process.Pid), s.process.cmd.Process.Pid)
	if len(family) < 4 {
		t.Errorf("only processes %v", family)
	}
	memory, err := os.ReadFile(filepath.Join(s.data(), "postmaster.pid"))
	do(t, err)
	id := strings.Fields(strings.Split(string(memory), "\n")[6])[1]
	shared := func() bool {
		list, err := os.ReadFile("/proc/sysvipc/shm")
		do(t, err)
		return regexp.MustCompile(`(?m)^ *-?\d+ +` + id + ` `).Match(list)
	}
	if !shared() {
		t.Fatalf("no shared memory %s", id)
	}
	if maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", family[0])); err != nil || bytes.Contains(maps, []byte("/dev/shm")) {
		t.Errorf("it has files outside of its folder: %v", err)
	}
	do(t, s.Close())
	if shared() {
		t.Errorf("its shared memory %s is left", id)
	}
	for _, pid := range family {
		gone(t, pid)
	}
	if _, err := os.Stat(s.folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder: %v", err)
	}
}

func TestCommitsOutliveStopAndKill(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	url := s.URL("postgres")
	mustQuery(t, s, "CREATE TABLE t (n int)")
	for i, end := range []func() error{s.Stop, s.Kill} {
		mustQuery(t, s, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		do(t, end())
		if out, err := query(t.Context(), s, url, "SELECT 1"); err == nil {
			t.Fatalf("a stopped server answers %s", out)
		}
		do(t, s.Start(t.Context()))
		if s.URL("postgres") != url {
			t.Errorf("its URL changes from %s to %s", url, s.URL("postgres"))
		}
		if got := mustQuery(t, s, "SELECT count(*) FROM t"); got != strconv.Itoa(i+1) {
			t.Errorf("%s of %d rows", got, i+1)
		}
		if recovered := strings.Contains(s.log(), "automatic recovery in progress"); recovered != (i == 1) {
			t.Errorf("end %d: recovery %t", i, recovered)
		}
	}
	if err := s.Start(t.Context()); err == nil {
		t.Error("a running server starts again")
	}
}

// A backend in the middle of a statement, and its processes of many databases, do not keep the next server from starting.
func TestAKilledServerStartsAgainAtOnce(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	for i := range 20 {
		mustQuery(t, s, fmt.Sprintf("CREATE DATABASE d%d", i))
	}
	busy := exec.CommandContext(t.Context(), s.binaries+"/psql", "-X", "-q", "-c", "SELECT count(*) FROM generate_series(1, 1e10)", s.URL("d1"))
	do(t, busy.Start())
	for mustQuery(t, s, "SELECT count(*) FROM pg_stat_activity WHERE datname = 'd1'") == "0" {
		if t.Context().Err() != nil {
			t.Fatal("psql does not connect")
		}
	}
	do(t, s.Kill())
	if err := busy.Wait(); err == nil {
		t.Error("its client sees no error")
	}
	do(t, s.Start(t.Context()))
	if got := mustQuery(t, s, "SELECT count(*) FROM pg_database WHERE datname LIKE 'd%'"); got != "20" {
		t.Errorf("%s of 20 databases", got)
	}
}

func TestAFrozenServerAnswersNobody(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{})
	do(t, s.Freeze())
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if out, err := query(ctx, s, s.URL("postgres"), "SELECT 1"); err == nil || ctx.Err() == nil {
		t.Errorf("%s, %v", out, err)
	}
	do(t, s.Thaw())
	mustQuery(t, s, "SELECT 1")
}

func TestTheConfiguration(t *testing.T) {
	t.Parallel()
	s := Start(t, Config{
		InitDB:   []string{"--locale=C"},
		Settings: []string{"max_connections = 20"},
		Access:   []string{"hostssl all magpie 127.0.0.1/32 trust", "hostssl all guest 127.0.0.1/32 scram-sha-256"},
		TLS:      true,
	})
	plain := s.URL("postgres")
	if out, err := query(t.Context(), s, plain, "SELECT 1"); err == nil || !strings.Contains(out, "no encryption") {
		t.Errorf("without TLS: %s, %v", out, err)
	}
	secure := strings.Replace(plain, "sslmode=disable", "sslmode=verify-full&sslrootcert="+s.Certificate(), 1)
	for statement, want := range map[string]string{
		"SELECT 'a' < 'B'":                          "f",
		"SHOW max_connections":                      "20",
		"CREATE ROLE guest LOGIN PASSWORD 'secret'": "",
	} {
		if got, err := query(t.Context(), s, secure, statement); err != nil || got != want {
			t.Errorf("%s: %s, %v", statement, got, err)
		}
	}
	guest := strings.Replace(secure, "magpie@", "guest@", 1)
	if out, err := query(t.Context(), s, guest, "SELECT 1"); err == nil || !strings.Contains(out, "no password") {
		t.Errorf("without the password: %s, %v", out, err)
	}
	if _, err := query(t.Context(), s, strings.Replace(guest, "guest@", "guest:secret@", 1), "SELECT 1"); err != nil {
		t.Error(err)
	}
	do(t, s.Configure("max_connections = 21"))
	do(t, s.Stop())
	do(t, s.Start(t.Context()))
	if got, err := query(t.Context(), s, secure, "SHOW max_connections"); err != nil || got != "21" {
		t.Errorf("max_connections: %s, %v", got, err)
	}
}

func TestAServerThatCannotStart(t *testing.T) {
	t.Parallel()
	_, err := Open(t.Context(), Config{Settings: []string{"no_such_setting = 1"}})
	if err == nil || !strings.Contains(err.Error(), "no_such_setting") {
		t.Errorf("%v", err)
	}
	_, err = Open(t.Context(), Config{InitDB: []string{"--locale=zz_ZZ"}})
	if err == nil || !strings.Contains(err.Error(), "zz_ZZ") {
		t.Errorf("%v", err)
	}
}

func TestAServerEndsWithItsTest(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), abandoned+"=1")
	out, err := cmd.StdoutPipe()
	do(t, err)
	do(t, cmd.Start())
	var lines []string
	for scanner := bufio.NewScanner(out); len(lines) < 2 && scanner.Scan(); {
		lines = append(lines, scanner.Text())
	}
	do(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if len(lines) < 2 {
		t.Fatalf("it says only %q", lines)
	}
	pid, err := strconv.Atoi(lines[1])
	do(t, err)
	gone(t, pid)
	do(t, os.RemoveAll(lines[0]))
}
