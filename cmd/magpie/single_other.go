//go:build !linux

package main

import "io"

// holdApp does nothing: only Linux has abstract sockets, and a lock file would not be visible from every sandbox.
func holdApp(string) (io.Closer, error) { return io.NopCloser(nil), nil }
