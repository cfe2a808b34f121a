package terminal

import "golang.org/x/sys/unix"

// peerOf is the process at the other end of a unix socket.
func peerOf(fd uintptr) (p Peer, err error) {
	peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return p, err
	}
	return Peer{int(peer.Uid), int(peer.Pid)}, nil
}
