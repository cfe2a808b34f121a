package workspace

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Program identifies a version of a file. A CLI that is updated while this program runs is a different program.
type Program struct {
	path    string
	size    int64
	changed time.Time
}

// ProgramAt is the program that a command runs at this moment; zero = there is none that could run.
func ProgramAt(command string) Program {
	path, err := exec.LookPath(command)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return Program{}
	}
	info, err := os.Stat(path)
	if err != nil {
		return Program{}
	}
	return Program{path, info.Size(), info.ModTime()}
}

// feature is a variable or an option of a program.
type feature struct {
	of   Program
	name string
}

// programs caches which programs support a feature, since the files are large.
type programs struct {
	mu    sync.Mutex
	known map[feature]bool
}

var knownPrograms = programs{known: map[feature]bool{}}

// knows reports whether a command's program contains the name of a variable or an option, and whether that is certain.
// It is uncertain for a script that starts the CLI, or a file that cannot be read.
func (ps *programs) knows(command, name string) (knows, sure bool) {
	path, err := exec.LookPath(command)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return false, false
	}
	f, err := os.Open(path)
	if err != nil {
		return false, false
	}
	defer f.Close() //nolint:errcheck // only read
	info, err := f.Stat()
	if err != nil || !isBinary(f) {
		return false, false
	}
	of := feature{Program{path, info.Size(), info.ModTime()}, name}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	known, ok := ps.known[of]
	if !ok {
		known = containsText(f, name)
		ps.known[of] = known
	}
	return known, true
}

// isBinary reports whether a file is a binary, not a script.
func isBinary(f io.ReaderAt) bool {
	head := make([]byte, 2)
	_, err := f.ReadAt(head, 0)
	return err == nil && string(head) != "#!"
}

// containsText reports whether r contains a text.
func containsText(r io.Reader, text string) bool {
	buf := make([]byte, 1<<20)
	kept := 0 // bytes of the previous piece, in which the text may begin
	for {
		n, err := r.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], []byte(text)) {
			return true
		}
		if err != nil { // usually io.EOF
			return false
		}
		end := kept + n
		kept = min(len(text)-1, end)
		copy(buf, buf[end-kept:end])
	}
}
