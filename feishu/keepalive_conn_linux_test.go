package feishu

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

func TestConnectionsAreProbed(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := keepAliveDialer(&eventLimiter{}, &watchdog{}).NetDialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*deadlineConn).Conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	for option, want := range map[int]int{
		unix.TCP_KEEPIDLE: 15, unix.TCP_KEEPINTVL: 5, unix.TCP_KEEPCNT: 3, unix.TCP_USER_TIMEOUT: 30_000,
	} {
		var got int
		if err := raw.Control(func(fd uintptr) {
			got, err = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
		}); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("socket option %d is %d, want %d", option, got, want)
		}
	}
}
