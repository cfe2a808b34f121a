package claude

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Without one of these variables, "@path" in a chat message makes the CLI read that file into the prompt, whatever the
// permissions. The second one does only this, but versions before 2.1.330 or somewhat earlier do not know it. The first
// one keeps more from the model, since 2.1.330 also in which folder it works, which tools it can search for, and that
// it is in plan mode.
const (
	noAttachments = "CLAUDE_CODE_DISABLE_ATTACHMENTS"
	noMentions    = "CLAUDE_CODE_DISABLE_FILE_MENTIONS"
)

// withoutMentions is env for a CLI that answers people: with [noMentions] in place of [noAttachments] if it is sure to
// know it.
func (e environment) withoutMentions(command string) environment {
	if knows, _ := knownPrograms.knows(command, noMentions); !knows {
		return e
	}
	e = slices.DeleteFunc(slices.Clone(e), func(kv string) bool {
		return strings.HasPrefix(kv, noAttachments+"=") || strings.HasPrefix(kv, noMentions+"=")
	})
	return append(e, noMentions+"=1")
}

// program is a file as it was when it was read. A CLI that is replaced while this program runs is another one.
type program struct {
	path    string
	size    int64
	changed time.Time
}

// programs notes which of them know a variable.
type programs struct {
	mu    sync.Mutex
	known map[program]bool
}

var knownPrograms = programs{known: map[program]bool{}}

// knows reports whether a command is a program in which the name of a variable stands, and whether that is sure. Of a
// script that starts the CLI, or of a file that cannot be read, nothing is.
func (ps *programs) knows(command, variable string) (knows, sure bool) {
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
	p := program{path, info.Size(), info.ModTime()}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	known, ok := ps.known[p]
	if !ok {
		known = holds(f, variable)
		ps.known[p] = known
	}
	return known, true
}

// isBinary reports whether a file is a program by itself, and not a script.
func isBinary(f io.ReaderAt) bool {
	head := make([]byte, 2)
	_, err := f.ReadAt(head, 0)
	return err == nil && string(head) != "#!"
}

// holds reports whether a text stands in what is read.
func holds(r io.Reader, text string) bool {
	buf := make([]byte, 1<<20)
	kept := 0 // the end of the piece before, in which the text may begin
	for {
		n, err := r.Read(buf[kept:])
		if bytes.Contains(buf[:kept+n], []byte(text)) {
			return true
		}
		if err != nil { // mostly its end
			return false
		}
		end := kept + n
		kept = min(len(text)-1, end)
		copy(buf, buf[end-kept:end])
	}
}
