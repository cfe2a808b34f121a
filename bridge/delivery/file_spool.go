package delivery

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

// The platform's limits, in bytes.
const (
	maxPicture = 10 << 20
	maxFile    = 30 << 20
)

// Spool is the folder with copies of outgoing files. People get the file as it was sent, even if the agent changes it
// afterwards or the program restarts.
type Spool struct {
	Dir     string   // empty = nothing is sent
	Private []string // folders and files that are never sent
	Known   redact.Known
}

// spoolCopy is a copy of a file.
type spoolCopy struct {
	name    string // in the folder
	size    int64
	sum     string // of its content
	picture bool
}

// copyIn copies a file of a project. An [agenttools.RefusedError] tells the agent why it may not be sent.
func (s Spool) copyIn(project, path string) (c spoolCopy, err error) {
	src, err := s.open(project, path)
	if err != nil {
		return spoolCopy{}, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return spoolCopy{}, fmt.Errorf("folder for outgoing files: %w", err)
	}
	c.name = uuid.NewString()
	// O_EXCL: an existing file must not be overwritten, nor a link followed.
	dst, err := os.OpenFile(s.path(c.name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return spoolCopy{}, fmt.Errorf("copy an outgoing file: %w", err)
	}
	err = errors.Join(c.fill(dst, src, path), dst.Close())
	if err == nil {
		err = s.refuseSecrets(c.name, path)
	}
	if err != nil {
		s.remove(c.name)
		return spoolCopy{}, err
	}
	return c, nil
}

// refuseSecrets rejects a copy that contains one of the program's own secrets, in any known encoding.
func (s Spool) refuseSecrets(name, path string) error {
	f, err := os.Open(s.path(name))
	if err != nil {
		return fmt.Errorf("check an outgoing file: %w", err)
	}
	found, err := s.Known.FoundInReader(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("check an outgoing file: %w", err)
	}
	if found {
		return agenttools.Refusedf("Not sent: %q holds a secret of the bridge. Send it without that, if at all.", path)
	}
	return nil
}

// fill copies an open file. It counts the bytes while copying: the file may still grow.
func (c *spoolCopy) fill(dst *os.File, src io.Reader, path string) error {
	sum := sha256.New()
	// One byte more than allowed shows that the file is too large.
	n, err := io.Copy(io.MultiWriter(dst, sum), io.LimitReader(src, maxFile+1))
	switch {
	case err != nil:
		return fmt.Errorf("copy an outgoing file: %w", err)
	case n == 0:
		return agenttools.Refusedf("Not sent: %q is empty.", path)
	case n > maxFile:
		return agenttools.Refusedf("Not sent: %q has more than %d MB, which is the most that can be sent. "+
			"Compress it, or send a part of it.", path, maxFile>>20)
	}
	head := make([]byte, 512)
	read, err := dst.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("check an outgoing file: %w", err)
	}
	pictures := []string{"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp"}
	c.size, c.sum = n, hex.EncodeToString(sum.Sum(nil))
	c.picture = n <= maxPicture && slices.Contains(pictures, http.DetectContentType(head[:read]))
	// Synced before the database refers to it: a crash must not lead to the delivery of an empty file.
	return dst.Sync()
}

func (s Spool) path(name string) string { return filepath.Join(s.Dir, name) }

func (s Spool) remove(name string) { _ = os.Remove(s.path(name)) } // the next start removes what is left

// sweep removes copies without a delivery, which a crash between copying and storing may leave.
func (s Spool) sweep(needed []string) error {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !slices.Contains(needed, e.Name()) {
			err = errors.Join(err, os.Remove(s.path(e.Name())))
		}
	}
	return err
}

// open opens a file inside the project. It descends through open folder handles, so a link swapped in meanwhile cannot
// lead outside.
func (s Spool) open(project, path string) (*os.File, error) {
	rel, err := relativeToProject(project, path)
	if err != nil {
		return nil, err
	}
	dir, err := os.OpenRoot(project)
	if err != nil {
		return nil, fmt.Errorf("open the project: %w", err)
	}
	secret, err := s.neverSent(dir)
	if err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	defer func() { _ = dir.Close() }()
	parts := strings.Split(rel, string(filepath.Separator))
	for _, name := range parts[:len(parts)-1] {
		next, err := safepath.OpenDir(dir, name, secret.refuse)
		if err != nil {
			return nil, explainUnreadable(path, err)
		}
		_ = dir.Close()
		dir = next
	}
	f, err := openFile(dir, parts[len(parts)-1], secret)
	if err != nil {
		return nil, explainUnreadable(path, err)
	}
	return f, nil
}

// neverSent lists the folders and files that are never sent. They are compared by device and inode, so another name
// does not help.
func (s Spool) neverSent(project *os.Root) (*ownFiles, error) {
	root, err := project.Stat(".")
	if err != nil {
		return nil, fmt.Errorf("look at the project: %w", err)
	}
	own := &ownFiles{project: root}
	for _, path := range append([]string{s.Dir}, s.Private...) {
		if info, err := os.Stat(path); err == nil {
			own.infos = append(own.infos, info)
			own.paths = append(own.paths, path)
		}
	}
	return own, nil
}

// relativeToProject returns the path of a file relative to the project, with all links resolved.
func relativeToProject(project, path string) (rel string, err error) {
	outside := agenttools.Refusedf("Not sent: only files of the project folder can be sent, and %q does not lie "+
		"there. Copy it into the project if the user wants it.", path)
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
	// The project may be given by a link, so a path may begin with either of its names.
	if !safepath.Contains(given, path) && !safepath.Contains(root, path) {
		return "", outside
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", explainUnreadable(path, err)
	}
	if real == root || !safepath.Contains(root, real) {
		return "", outside
	}
	return filepath.Rel(root, real)
}

// openFile opens a file of a folder, unless it is a link, a secret, or not a regular file. It does not block on a pipe.
func openFile(dir *os.Root, name string, secret *ownFiles) (*os.File, error) {
	f, err := safepath.OpenRegular(dir, name, secret.refuse)
	if errors.Is(err, safepath.ErrNotRegular) {
		return nil, agenttools.Refusedf("Not sent: %q is no usual file. Pack a folder into an archive first.", name)
	}
	return f, err
}

// explainUnreadable tells the agent that a file cannot be read, without details of the machine.
func explainUnreadable(path string, err error) error {
	var refused *agenttools.RefusedError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.Is(err, fs.ErrPermission):
		return agenttools.Refusedf("Not sent: %q cannot be read.", path)
	}
	return agenttools.Refusedf("Not sent: there is no file %q in the project.", path)
}
