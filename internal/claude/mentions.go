package claude

import (
	"bytes"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// Without one of these variables, "@path" in a chat message makes the CLI read that file into the prompt, whatever the
// permissions. The second variable disables only that, but versions before about 2.1.330 do not know it. The first one
// also disables other information for the model: since 2.1.330 the working folder, the tools that it can search for,
// and that it is in plan mode.
const (
	noAttachments = "CLAUDE_CODE_DISABLE_ATTACHMENTS"
	noMentions    = "CLAUDE_CODE_DISABLE_FILE_MENTIONS"
)

// withoutMentions returns e for a CLI that answers people: with [noMentions] instead of [noAttachments] if this CLI
// certainly supports it.
func (e environment) withoutMentions(command string) environment {
	if knows, _ := knownPrograms.knows(command, noMentions); !knows {
		return e
	}
	e = maps.Clone(e)
	delete(e, noAttachments)
	e[noMentions] = "1"
	return e
}

// program identifies a version of a file. A CLI that is updated while this program runs is a different program.
type program struct {
	path    string
	size    int64
	changed time.Time
}

// feature is a variable or an option of a program.
type feature struct {
	of   program
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
	of := feature{program{path, info.Size(), info.ModTime()}, name}
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
