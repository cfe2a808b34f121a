//go:build unix

package diskspace

import "syscall"

// Free is how many bytes may still be written to the disk of a file or folder. The reserve of root does not count: it
// does not help a service.
func Free(path string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
