package workspace

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"magpie/internal/i18n"
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

// NodeForCLI is the oldest major version of Node.js whose npm is to install the CLI. Once installed, the CLI does not
// need it.
const NodeForCLI = 22

// HasNPM reports whether the CLI can be installed as the pages say: with the npm of Node.js.
func HasNPM() bool {
	_, noNode := exec.LookPath("node")
	_, noNPM := exec.LookPath("npm")
	return noNode == nil && noNPM == nil
}

// MissingCLI is the mistake that the configured CLI was not found, and how to install it; err is that of
// [exec.LookPath].
func MissingCLI(err error) error {
	return i18n.Mistakef("[claude] command：%v（%v）", "[claude] command: %v (%v)", err, InstallCLI())
}

// InstallCLI says how to install the CLI on this machine.
func InstallCLI() error {
	if !HasNPM() {
		return i18n.Mistakef("先安装带 npm 的 Node.js %d 或更新的版本，再执行 npm install -g @anthropic-ai/claude-code",
			"install Node.js %d or later, with npm, then: npm install -g @anthropic-ai/claude-code", NodeForCLI)
	}
	return i18n.Mistakef("安装：npm install -g @anthropic-ai/claude-code",
		"install it with: npm install -g @anthropic-ai/claude-code")
}

// explainMissing says what to do about a CLI that cannot be run.
func explainMissing(command string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return i18n.Mistakef("[claude] command：%s 没有执行权限：运行 chmod +x %[1]s，或者写另一个程序",
			"[claude] command: %s is not executable: run chmod +x %[1]s, or name another program", command)
	case errors.Is(err, syscall.EISDIR):
		return i18n.Mistakef("[claude] command：%s 是文件夹：要写里面的程序",
			"[claude] command: %s is a folder: name the program in it", command)
	}
	return MissingCLI(err)
}

// refuseBatchFile rejects a batch file as the CLI: Windows runs it with a command interpreter, which would execute text
// in arguments, such as the title of a chat.
func refuseBatchFile(system, path string) error {
	ext := strings.ToLower(filepath.Ext(path))
	if system != "windows" || ext != ".cmd" && ext != ".bat" {
		return nil
	}
	return i18n.Mistakef("[claude] command：%s 是批处理文件，无法安全地传递参数：请写它启动的程序 claude.exe",
		"[claude] command: %s is a batch file, and arguments cannot be passed to it safely: name the program that it starts, claude.exe",
		path)
}
