package claude

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

// ofSession are patterns of the CLI's files of a session, relative to its folder. %s is the session's ID.
var ofSession = []string{
	"projects/*/%s", "projects/*/%s.jsonl", "file-history/%s", "session-env/%s", "tasks/%s", "todos/%s*",
}

// MoveSessions moves sessions of a chat into the folder of its agents: from the CLI's folder of the machine's user, and
// from the folder that the chat's agents used under an earlier name. Missing files are not an error. An interrupted
// move can be repeated as long as no agent of the chat was started. None may be running.
func (c Config) MoveSessions(owner string, sessions []string) error {
	a, err := c.agentOf(owner)
	if err != nil {
		return err
	}
	earlier := a.state.earlierFolder(owner)
	err = a.account.runAs(func() error {
		if err := os.MkdirAll(string(a.state), 0o700); err != nil {
			return err
		}
		if _, err := os.Lstat(a.folder.path); errors.Is(err, fs.ErrNotExist) {
			if err := os.Rename(earlier, a.folder.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
		for _, from := range []string{a.folder.machine, earlier} {
			if err := moveAll(from, a.folder.path, sessions); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("move the sessions of a chat: %w", err)
	}
	return nil
}

// moveAll moves every file of the sessions. Patterns find the files of a session, because the CLI keeps those of
// subagents beside the transcript.
func moveAll(from, to string, sessions []string) error {
	tree := os.DirFS(from)
	for _, id := range sessions {
		if uuid.Validate(id) != nil {
			continue // it could be any path
		}
		for _, pattern := range ofSession {
			found, err := fs.Glob(tree, fmt.Sprintf(pattern, id))
			if err != nil {
				return err
			}
			for _, name := range found {
				if err := move(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// move moves a file or a folder. While it exists under its old name, that copy is complete and authoritative.
func move(from, to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil { // left by an earlier attempt
		return err
	}
	err := os.Rename(from, to)
	if !errors.Is(err, errOtherDisk) {
		return err
	}
	next, gone := to+".new", from+".moved"
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	if err := copyTree(from, next); err != nil {
		return err
	}
	if err := os.Rename(next, to); err != nil {
		return err
	}
	if err := os.Rename(from, gone); err != nil {
		return err
	}
	return os.RemoveAll(gone)
}

// copyTree copies a file, or a folder with its contents.
func copyTree(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.CopyFS(to, os.DirFS(from))
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
