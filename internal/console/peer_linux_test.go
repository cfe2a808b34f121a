package console

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// request is a command that requests the page from an address.
func request(t *testing.T, address, more string) *exec.Cmd {
	t.Helper()
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", "-c",
		`exec 3<>/dev/tcp/$0/$1; printf 'GET / HTTP/1.0\r\nHost: localhost\r\n\r\n' >&3; `+more, host, port)
	cmd.Dir = "/"
	return cmd
}

func asNobody(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

// Anybody who can open the page can run commands, and other users of the machine can reach its address.
func TestOtherUsersOfTheMachineAreRefused(t *testing.T) {
	t.Parallel()
	s := serve(t, PlaygroundConfig{})
	address := strings.TrimPrefix(s.url, "http://")
	for want, cmd := range map[string]*exec.Cmd{
		"HTTP/1.0 200 OK\r\n": request(t, address, "cat <&3"), "HTTP/1.0 403 ": asNobody(request(t, address, "cat <&3")),
	} {
		if cmd.SysProcAttr != nil && os.Geteuid() != 0 {
			continue // only root can connect as another user
		}
		if out, err := cmd.Output(); err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%.100q, %v, want %s", out, err, want)
		}
	}
}

// The kernel lists a closed socket as root's: a client that does not wait for the answer must not pass for root.
func TestSocketsWithoutAnOwner(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() //nolint:errcheck // it is only used here
	if out, err := request(t, ln.Addr().String(), "").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it was only accepted
	peer, here := c.RemoteAddr().(*net.TCPAddr).AddrPort(), c.LocalAddr().(*net.TCPAddr).AddrPort()
	if uid, err := socketOwner(peer, here); err == nil {
		t.Errorf("it belongs to %d", uid)
	}
}

func TestOwnUserOnEachAddress(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", "[::]:0"} {
		ln, err := net.Listen("tcp", address)
		if err != nil {
			t.Logf("%s: %v", address, err) // a machine without IPv6
			continue
		}
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !fromOwnUser(r) {
				w.WriteHeader(http.StatusForbidden)
			}
		}))
		_ = srv.Listener.Close()
		srv.Listener = ln
		srv.Start()
		resp, err := srv.Client().Get("http://" + strings.Replace(ln.Addr().String(), "[::]", "127.0.0.1", 1))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %v, %v", address, resp, err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
		srv.Close()
	}
}
