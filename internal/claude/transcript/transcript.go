// Package transcript reads the files in which the CLI keeps its sessions: what was said, what has become of a turn, and
// whether a session can be resumed. It runs no process.
package transcript

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
	"magpie/internal/safepath"
)

// Files are the files in which the CLI keeps its sessions.
type Files struct {
	root string // has a folder for each project
	as   func(do func() error) error
	err  error // why the folder is unknown
}

// New returns the transcripts in a folder with one folder for each project. Whatever changes a file runs by as, which
// makes it run as the user of the agents. With an err, which says why the folder is unknown, there are none.
func New(root string, as func(do func() error) error, err error) Files {
	return Files{root, as, err}
}

// Path is the file of a session that runs in the folder dir. It may not exist.
func (t Files) Path(dir, session string) (string, error) {
	if t.err != nil {
		return "", t.err
	}
	real, err := safepath.Real(dir) // as the CLI sees it
	if err != nil {
		return "", fmt.Errorf("project path: %w", err)
	}
	return filepath.Join(t.root, projectName(real), session+".jsonl"), nil
}

// find returns the file of a session, or nothing. It searches all projects: the project may have moved, or have a name
// that the CLI shortens, and the session's ID is unique anyway.
func (t Files) find(dir, session string) (string, error) {
	if err := uuid.Validate(session); err != nil {
		return "", fmt.Errorf("session %q: %w", session, err)
	}
	if t.err != nil {
		return "", t.err
	}
	if path, err := t.Path(dir, session); err == nil {
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	if files := t.anywhere(session); len(files) > 0 {
		return filepath.Join(t.root, files[0]), nil
	}
	return "", nil
}

// anywhere lists the transcripts of a session below the root, whichever folder it has worked in.
func (t Files) anywhere(session string) []string {
	files, _ := fs.Glob(os.DirFS(t.root), "*/"+session+".jsonl") // fails only for bad patterns
	return files
}

// maxTranscript limits how much of a transcript is read, in bytes: whatever runs as the agents' user can write to it.
const maxTranscript = 1 << 30

// projectName is the CLI's name for the folder of a project's transcripts: every UTF-16 unit that is not an ASCII
// letter or digit becomes a dash.
func projectName(dir string) string {
	var b strings.Builder
	for _, r := range dir {
		switch {
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			b.WriteRune(r)
		case r > 0xFFFF:
			b.WriteString("--")
		default:
			b.WriteByte('-')
		}
	}
	return b.String()
}

// maxProjectName is the length above which the CLI shortens a project's name with a hash that we do not know.
const maxProjectName = 200

// check detects a session that cannot be resumed before the CLI is started for it. A session that passes may still
// fail; the CLI decides.
func (t Files) check(dir, session string) error {
	path, err := t.Path(dir, session)
	if err != nil {
		return err
	}
	if len(filepath.Base(filepath.Dir(path))) > maxProjectName {
		return nil
	}
	f, err := safepath.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		if len(t.anywhere(session)) > 0 {
			return &LostError{session, LostElsewhere}
		}
		return &LostError{session, LostMissing}
	} else if err != nil {
		return &LostError{session, LostCorrupt}
	}
	defer f.Close() //nolint:errcheck // only read
	return checkLines(io.LimitReader(f, maxTranscript), session)
}

// checkLines searches for the first line with a message.
func checkLines(f io.Reader, session string) error {
	br := bufio.NewReaderSize(f, 64<<10)
	empty := true
	for range 1000 { // a transcript begins with only a few other lines
		line, err := readLine(br)
		empty = empty && len(line) == 0
		if kind := gjson.GetBytes(line, "type").String(); stream.ValidJSON(line) &&
			(kind == "user" || kind == "assistant") {
			return nil
		}
		if err != nil {
			break
		}
	}
	if empty {
		return &LostError{session, LostEmpty}
	}
	return &LostError{session, LostCorrupt}
}

// readLine reads to the next newline, keeping at most maxLine bytes.
func readLine(br *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := br.ReadSlice('\n')
		if room := stream.MaxLine - len(line); room > 0 {
			line = append(line, part[:min(len(part), room)]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// CutPrompt removes a prompt and all that follows it from the end of a session that ran in the folder dir, so that the
// session can be resumed as if nobody had asked. Without the prompt there it changes nothing. The session must not be
// running.
func (t Files) CutPrompt(dir, session, prompt string) error {
	path, err := t.find(dir, session)
	if err != nil || path == "" {
		return err
	}
	return t.as(func() error { // the folder is that of the agents, who may have put a link there
		root, err := os.OpenRoot(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer root.Close() //nolint:errcheck // only read
		f, err := root.OpenFile(filepath.Base(path), os.O_RDWR, 0)
		if err != nil {
			return err
		}
		return errors.Join(cutPrompt(f, prompt), f.Close())
	})
}

func cutPrompt(f *os.File, prompt string) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	for line, err := range backwards(f, info.Size()) {
		if err != nil {
			return err
		}
		if v, ok := promptOf(line.text); ok && v.Get("uuid").String() == prompt {
			return f.Truncate(line.at)
		}
	}
	return nil
}
