//go:build unix

package delivery

import (
	"io/fs"
	"syscall"
)

// mayHaveOtherNames reports whether a file may have more than one name.
func mayHaveOtherNames(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || st.Nlink > 1
}
