package terminal

import "golang.org/x/sys/unix"

// userOf is the user at the other end of a unix socket.
func userOf(fd uintptr) (uid int, err error) {
	peer, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}
