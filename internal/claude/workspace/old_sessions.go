package workspace

import (
	"context"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/google/uuid"
)

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
