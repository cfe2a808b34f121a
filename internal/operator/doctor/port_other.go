//go:build !linux

package doctor

// portHolder is not supported on this system.
func portHolder(string) (name string, pid int) { return "", 0 }
