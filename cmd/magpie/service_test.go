package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
)

// asMagpie makes the test binary behave as the program, so that tests can start and signal a real process.
const asMagpie = "MAGPIE_TEST_AS_MAGPIE"

func TestMain(m *testing.M) {
	if os.Getenv(asMagpie) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// magpie is the command line of the program, to be started in dir.
func magpie(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Dir = dir
	cmd.Env = []string{asMagpie + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LANG=C.UTF-8"}
	return cmd
}

// writeService writes a configuration for a service at the platform's double into a new folder, and returns the folder.
func writeService(t testing.TB, sim *feishusim.Server, more string) string {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf("[feishu]\napp_id = %q\napp_secret = %q\nbase_url = %q\n[claude]\ncommand = %q\nproject = %q\n[db]\nurl = %q\n[access]\nowner = \"ou_1\"\n%s",
		sim.AppID(), sim.AppSecret(), sim.URL(), claudetest.Command(t), dir, "sqlite://"+filepath.Join(dir, "data", "magpie.db"), more)
	must(t, os.WriteFile(filepath.Join(dir, "magpie.toml"), []byte(text), 0o600))
	return dir
}

func startSim(t testing.TB) *feishusim.Server {
	t.Helper()
	sim, err := feishusim.Start(feishusim.Config{})
	must(t, err)
	t.Cleanup(func() { must(t, sim.Close()) })
	return sim
}

// notifySocket stands for systemd.
type notifySocket struct {
	testing.TB
	conn *net.UnixConn
	path string
}

func listenNotify(t testing.TB) *notifySocket {
	t.Helper()
	dir, err := os.MkdirTemp("", "notify") // the path of a socket may have 107 bytes only
	must(t, err)
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	path := filepath.Join(dir, "s")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return &notifySocket{t, conn, path}
}

// await reads messages until one holds want, and returns it.
func (n *notifySocket) await(want string) string {
	n.Helper()
	must(n, n.conn.SetReadDeadline(time.Now().Add(patience)))
	var heard []string
	for buf := make([]byte, 4096); ; {
		got, err := n.conn.Read(buf)
		if err != nil {
			n.Fatalf("waiting for %q, heard %q: %v", want, heard, err)
		}
		if heard = append(heard, string(buf[:got])); strings.Contains(heard[len(heard)-1], want) {
			return heard[len(heard)-1]
		}
	}
}

// systemd hears that the service is ready while the platform is away, how the connection is, that it lives, and that it stops.
func TestAServiceOfSystemd(t *testing.T) {
	t.Parallel()
	sim, socket := startSim(t), listenNotify(t)
	sim.RefuseEndpoint(1, "busy")
	cmd := magpie(t, writeService(t, sim, ""), "serve")
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+socket.path, "WATCHDOG_USEC=1000000")
	var logs bytes.Buffer
	cmd.Stderr = &logs
	must(t, cmd.Start())
	socket.await("READY=1")
	if got := socket.await("STATUS=not connected to the platform"); !strings.Contains(got, "busy") {
		t.Errorf("status %q", got)
	}
	sim.RefuseEndpoint(0, "")
	socket.await("STATUS=connected to the platform since ")
	socket.await("WATCHDOG=1")
	socket.await("WATCHDOG=1")
	must(t, cmd.Process.Signal(syscall.SIGTERM))
	socket.await("STOPPING=1")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v; log:\n%s", err, &logs)
	}
}
