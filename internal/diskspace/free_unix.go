//go:build unix

package diskspace

import "syscall"

// Free returns how many bytes can still be written to the disk of a file or folder, without the space reserved for
// root, which a service cannot use.
func Free(path string) (uint64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, err
	}
	return uint64(st.Bavail) * uint64(st.Bsize), nil
}
