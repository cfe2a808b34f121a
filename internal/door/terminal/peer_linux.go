package terminal

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peerUser is the user who has opened a connection.
func peerUser(c net.Conn) (uid int, err error) {
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return 0, errors.New("not a unix socket")
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}
