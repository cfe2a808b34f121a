package terminal

import "golang.org/x/sys/unix"

// peerOf is the process at the other end of a unix socket.
func peerOf(fd uintptr) (p Peer, err error) {
	peer, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return p, err
	}
	pid, err := unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return Peer{int(peer.Uid), pid}, err
}
