package workspace

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/internal/claude/account"
	"magpie/internal/safepath"
)

// temporaryName is the name of a chat's folder for the CLI's temporary files, below that of its agents.
const temporaryName = "tmp"

// SweepTemporary deletes the CLI's temporary files of all chats that were written before a time, and returns their
// number. They are copies of the pictures in questions, and the output of tools. The CLI itself never deletes them: its
// settings keep transcripts, and it has only one age limit for both.
func SweepTemporary(ctx context.Context, c Config, before time.Time) (deleted int, err error) {
	s := fileSweep{before: before}
	return s.run(ctx, c, func(chat *os.Root) {
		s.within(chat, temporaryName, func(dir *os.Root) { s.sweep(ctx, dir, deepestFolder) })
	})
}

// fileSweep deletes old files in folders that agents can write to: it follows no links.
type fileSweep struct {
	before  time.Time
	deleted int
	failed  error // the first error; the others are likely to be the same
}

// deepestFolder limits the depth of folders that are looked into; the CLI's own have four levels.
const deepestFolder = 12

// run sweeps the folders of all chats, as the user of the agents.
func (s *fileSweep) run(ctx context.Context, c Config, chat func(*os.Root)) (deleted int, err error) {
	if c.Folder == nil || c.StateDir() == "" {
		return 0, nil
	}
	as, err := account.Find(c.User)
	if err != nil {
		return 0, err
	}
	err = as.RunAs(func() error { return s.sweepChats(ctx, c.StateDir(), chat) })
	return s.deleted, cmp.Or(err, s.failed)
}

// sweepChats sweeps the folders of all chats below the folder of their state.
func (s *fileSweep) sweepChats(ctx context.Context, state string, chat func(*os.Root)) error {
	root, err := os.OpenRoot(state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // only a handle
	return s.each(ctx, root, func(info fs.FileInfo) {
		if !info.IsDir() || uuid.Validate(info.Name()) != nil {
			return
		}
		s.within(root, info.Name(), chat)
	})
}

// sweep deletes the old files in a folder, and the old folders that are empty then.
func (s *fileSweep) sweep(ctx context.Context, dir *os.Root, levels int) {
	s.note(s.each(ctx, dir, func(info fs.FileInfo) { s.entry(ctx, dir, info, levels) }))
}

// entry deletes a file of a folder if it is old, or the old files in a folder of it.
func (s *fileSweep) entry(ctx context.Context, dir *os.Root, info fs.FileInfo, levels int) {
	old := info.ModTime().Before(s.before)
	switch {
	case info.IsDir() && levels > 0:
		s.within(dir, info.Name(), func(inner *os.Root) { s.sweep(ctx, inner, levels-1) })
		if old {
			_ = dir.Remove(info.Name()) // fails if something is left in it
		}
	case info.IsDir() || !old:
	default:
		if err := dir.Remove(info.Name()); err != nil {
			s.note(err)
			return
		}
		s.deleted++
	}
}

// within calls do with a subfolder, if there is one.
func (s *fileSweep) within(dir *os.Root, name string, do func(*os.Root)) {
	inner, err := safepath.OpenDir(dir, name, nil)
	if err != nil {
		s.note(err)
		return
	}
	defer inner.Close() //nolint:errcheck // only a handle
	do(inner)
}

// each calls do with the content of a folder, which may be large.
func (s *fileSweep) each(ctx context.Context, dir *os.Root, do func(fs.FileInfo)) error {
	f, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	for ctx.Err() == nil {
		names, err := f.Readdirnames(256)
		if len(names) == 0 { // at the end with an error
			return nil
		} else if err != nil {
			return err
		}
		for _, name := range names {
			info, err := dir.Lstat(name)
			if err != nil {
				s.note(err)
				continue
			}
			do(info)
		}
	}
	return ctx.Err()
}

// note records an error. A file that is gone needs no deletion.
func (s *fileSweep) note(err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		s.failed = cmp.Or(s.failed, err)
	}
}

// ofSession are patterns of the CLI's files of a session, relative to its folder; the CLI keeps those of subagents beside
// the transcript. %s is the session's ID.
var ofSession = []string{
	"projects/*/%s", "projects/*/%s.jsonl", "file-history/%s", "session-env/%s", "tasks/%s", "todos/%s*",
}

// SweepSessions deletes what the CLI has stored of sessions before a time, except those in use, and returns the number
// of files.
func SweepSessions(ctx context.Context, c Config, before time.Time, inUse func(session string) bool) (int, error) {
	s := fileSweep{before: before}
	return s.run(ctx, c, func(chat *os.Root) {
		for _, pattern := range ofSession {
			folders, _, _ := strings.Cut(pattern, "/%s")
			s.eachFolder(ctx, chat, strings.Split(folders, "/"), func(dir *os.Root) {
				s.note(s.each(ctx, dir, func(info fs.FileInfo) {
					if id, ok := sessionOfFile(pattern, info.Name()); ok && !inUse(id) {
						s.entry(ctx, dir, info, deepestFolder)
					}
				}))
			})
		}
	})
}

// sessionOfFile is the session to which a file or folder belongs that a pattern of [ofSession] matches.
func sessionOfFile(pattern, name string) (session string, ok bool) {
	const length = len("00000000-0000-0000-0000-000000000000")
	if len(name) < length || uuid.Validate(name[:length]) != nil {
		return "", false
	}
	_, tail, _ := strings.Cut(pattern, "%s")
	ok, err := path.Match(tail, name[length:])
	return name[:length], ok && err == nil
}

// eachFolder calls do with the folders of a path below dir, in which "*" is any folder.
func (s *fileSweep) eachFolder(ctx context.Context, dir *os.Root, names []string, do func(*os.Root)) {
	if len(names) == 0 {
		do(dir)
		return
	}
	s.note(s.each(ctx, dir, func(info fs.FileInfo) {
		if info.IsDir() && (names[0] == "*" || names[0] == info.Name()) {
			s.within(dir, info.Name(), func(inner *os.Root) { s.eachFolder(ctx, inner, names[1:], do) })
		}
	}))
}
