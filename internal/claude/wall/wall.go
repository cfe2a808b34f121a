// Package wall keeps a process, and all that it starts, away from files that it must not see: for them these files are
// not there, whatever command reads them. It is a mount namespace of Linux, which the process enters at its start,
// without more rights than this program has: a user namespace gives it those to mount, which are dropped before the
// process runs. Since the process is in another user namespace than this program, it cannot look into this program's
// other processes by way of /proc either.
//
// Which files these are is not decided here.
package wall

import (
	"errors"
	"os"
	"slices"
	"sync"
)

// Plan says what is hidden from a process. All paths are absolute and without symbolic links.
type Plan struct {
	Hide []string // files and folders
	Show []string // files and folders below them that are visible all the same

	hidden []os.FileInfo // what Hide named when it was hidden; nil = nothing
}

// Holds reports whether the wall of a process that was started with the plan still hides all that the plan names. A file
// that has been replaced or created since is visible to the process; only a new process has a new wall.
func (p *Plan) Holds() bool {
	return slices.EqualFunc(p.hidden, p.look(), func(was, is os.FileInfo) bool {
		return was == nil && is == nil || was != nil && is != nil && os.SameFile(was, is)
	})
}

// look looks at what is to be hidden.
func (p *Plan) look() (list []os.FileInfo) {
	for _, path := range p.Hide {
		info, _ := os.Stat(path)
		list = append(list, info)
	}
	return list
}

// Available is nil if a wall can be had here; otherwise it says why not. It tries it, once.
var Available = sync.OnceValue(try)

// ErrUnsupported means that the system has no such thing as a wall.
var ErrUnsupported = errors.New("this system has no mount namespaces")
