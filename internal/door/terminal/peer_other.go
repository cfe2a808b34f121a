//go:build !linux && !darwin

package terminal

import "os"

// peerOf takes everybody for this user: only the folder keeps others out.
func peerOf(uintptr) (p Peer, err error) { return Peer{UID: os.Geteuid()}, nil }
