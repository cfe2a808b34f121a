package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/uuid"

	"magpie/contextmgr/redact"
	"magpie/internal/agenttools"
	"magpie/internal/safepath"
)

// What a platform takes of a file, in bytes.
const (
	mostPicture = 10 << 20
	mostFile    = 30 << 20
)

// fileSpool is the folder of copies of what goes out. What people get is what the agent has sent, also when it changes
// the file afterwards or the program ends in between.
type fileSpool struct {
	dir     string   // empty = nothing is sent
	private []string // folders and files that never are
	known   redact.Known
}

// copied is a copy of a file.
type copied struct {
	name    string // in the folder
	size    int64
	sum     string // of its content
	picture bool
}

// take copies a file of a project. The error is for the agent when it is its own fault.
func (o fileSpool) take(project, path string) (c copied, err error) {
	src, err := o.open(project, path)
	if err != nil {
		return copied{}, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return copied{}, fmt.Errorf("folder of what goes out: %w", err)
	}
	c.name = uuid.NewString()
	dst, err := os.OpenFile(o.path(c.name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return copied{}, fmt.Errorf("copy what goes out: %w", err)
	}
	err = errors.Join(c.fill(dst, src, path), dst.Close())
	if err == nil {
		err = o.harmless(c.name, path)
	}
	if err != nil {
		o.drop(c.name)
		return copied{}, err
	}
	return c, nil
}

// harmless refuses a copy that holds one of the program's own secrets, also in another encoding.
func (o fileSpool) harmless(name, path string) error {
	f, err := os.Open(o.path(name))
	if err != nil {
		return fmt.Errorf("look at what goes out: %w", err)
	}
	found, err := o.known.Within(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("look at what goes out: %w", err)
	}
	if found {
		return notSent("Not sent: %q holds a secret of the bridge. Send it without that, if at all.", path)
	}
	return nil
}

// fill copies what was opened. How much that is is found out on the way: the file may still grow.
func (c *copied) fill(dst *os.File, src io.Reader, path string) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(dst, sum), io.LimitReader(src, mostFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("copy what goes out: %w", err)
	case n == 0:
		return notSent("Not sent: %q is empty.", path)
	case n > mostFile:
		return notSent("Not sent: %q has more than %d MB, which is the most that can be sent. Compress it, or send a part of it.", path, mostFile>>20)
	}
	head := make([]byte, 512)
	read, err := dst.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("look at what goes out: %w", err)
	}
	pictures := []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}
	c.size, c.sum = n, hex.EncodeToString(sum.Sum(nil))
	c.picture = n <= mostPicture && slices.Contains(pictures, http.DetectContentType(head[:read]))
	return dst.Sync()
}

func (o fileSpool) path(name string) string { return filepath.Join(o.dir, name) }

func (o fileSpool) drop(name string) { _ = os.Remove(o.path(name)) } // what stays is found at the next start

// sweep removes all copies but those that are still needed.
func (o fileSpool) sweep(needed []string) error {
	entries, err := os.ReadDir(o.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !slices.Contains(needed, e.Name()) {
			err = errors.Join(err, os.Remove(o.path(e.Name())))
		}
	}
	return err
}

// notSent tells the agent why something is not sent.
func notSent(format string, args ...any) error {
	return &agenttools.RefusedError{Reason: fmt.Sprintf(format, args...)}
}

// open opens a file that really lies in the project. It goes from folder to folder by what is open already, so nothing
// that is changed meanwhile leads anywhere else.
func (o fileSpool) open(project, path string) (*os.File, error) {
	rel, err := liesIn(project, path)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(project)
	if err != nil {
		return nil, fmt.Errorf("open the project: %w", err)
	}
	secret, err := o.secrets(dir)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	defer func() { _ = dir.Close() }()
	parts := strings.Split(rel, string(filepath.Separator))
	for _, name := range parts[:len(parts)-1] {
		next, err := safepath.OpenDir(dir, name, secret.refuse)
		if err != nil {
			return nil, missing(path, err)
		}
		_ = dir.Close()
		dir = next
	}
	f, err := openFile(dir, parts[len(parts)-1], secret)
	if err != nil {
		return nil, missing(path, err)
	}
	return f, nil
}

// secrets are the folders and files that are never sent, whatever they are called.
func (o fileSpool) secrets(project *os.Root) (*ownFiles, error) {
	root, err := project.Stat(".")
	if err != nil {
		return nil, fmt.Errorf("look at the project: %w", err)
	}
	own := &ownFiles{project: root}
	for _, path := range append([]string{o.dir}, o.private...) {
		if info, err := os.Stat(path); err == nil {
			own.list = append(own.list, info)
			own.paths = append(own.paths, path)
		}
	}
	return own, nil
}

// liesIn is where a file lies in the project, all links resolved.
func liesIn(project, path string) (rel string, err error) {
	outside := notSent("Not sent: only files of the project folder can be sent, and %q does not lie there. Copy it into the project if the user wants it.", path)
	given, err := filepath.Abs(project)
	if err != nil {
		return "", fmt.Errorf("folder of the project: %w", err)
	}
	root, err := filepath.EvalSymlinks(given)
	if err != nil {
		return "", fmt.Errorf("folder of the project: %w", err)
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(given, path)
	}
	path = filepath.Clean(path)
	if !safepath.Contains(given, path) && !safepath.Contains(root, path) {
		return "", outside
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", missing(path, err)
	}
	if real == root || !safepath.Contains(root, real) {
		return "", outside
	}
	return filepath.Rel(root, real)
}

// openFile opens a file of a folder, unless that is a link, a secret, or no usual file. It does not wait for a pipe's
// other end.
func openFile(dir *os.Root, name string, secret *ownFiles) (*os.File, error) {
	f, err := safepath.OpenRegular(dir, name, secret.refuse)
	if errors.Is(err, safepath.ErrNotRegular) {
		return nil, notSent("Not sent: %q is no usual file. Pack a folder into an archive first.", name)
	}
	return f, err
}

// missing tells the agent that a file cannot be had. What is wrong with the machine is not for it.
func missing(path string, err error) error {
	var refused *agenttools.RefusedError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, fs.ErrPermission):
		return notSent("Not sent: %q cannot be read.", path)
	}
	return notSent("Not sent: there is no file %q in the project.", path)
}
