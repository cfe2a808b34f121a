package console

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// fromOwnUser reports whether a request comes from a program of this user, or of root. A loopback address is open to
// all users of the machine, and whoever opens the playground can run commands as its user.
func fromOwnUser(r *http.Request) bool {
	here, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	if !ok {
		return true // not over TCP
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	owner, err := socketOwner(peer, here.AddrPort())
	return os.IsNotExist(err) || err == nil && (owner == 0 || owner == os.Geteuid())
}

// socketOwner returns the user of the socket that is bound to local and connected to remote (proc_net(5)). Without the
// kernel's tables the error is [os.ErrNotExist].
func socketOwner(local, remote netip.AddrPort) (uid int, err error) {
	for table, wide := range map[string]bool{"/proc/net/tcp": false, "/proc/net/tcp6": true} {
		data, err := os.ReadFile(table)
		if os.IsNotExist(err) && wide {
			continue // no IPv6
		} else if err != nil {
			return 0, err
		}
		of, to := tableAddress(local, wide), tableAddress(remote, wide)
		for line := range strings.Lines(string(data)) {
			const localField, remoteField, uidField, inodeField = 1, 2, 7, 9
			f := strings.Fields(line)
			// A socket that was closed already has no inode, and is listed as root's.
			if len(f) > inodeField && f[localField] == of && f[remoteField] == to && f[inodeField] != "0" {
				return strconv.Atoi(f[uidField])
			}
		}
	}
	return 0, fmt.Errorf("no socket from %v to %v", local, remote)
}

// tableAddress is an address in the form of the kernel's table for IPv4, or for IPv6 if wide: 32 bits after 32 bits,
// each as a number of this machine.
func tableAddress(a netip.AddrPort, wide bool) string {
	ip := a.Addr().Unmap()
	bytes := ip.AsSlice()
	if wide {
		full := ip.As16()
		bytes = full[:]
	}
	var b strings.Builder
	for word := range slices.Chunk(bytes, 4) {
		fmt.Fprintf(&b, "%08X", binary.NativeEndian.Uint32(word))
	}
	fmt.Fprintf(&b, ":%04X", a.Port())
	return b.String()
}
