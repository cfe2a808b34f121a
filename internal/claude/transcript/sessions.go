package transcript

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Session is a session of the CLI.
type Session struct {
	ID      string
	Text    string // of the first prompt
	Updated time.Time
	Size    int64 // of the transcript
}

// All lists the sessions that ran in the folder dir, the newest first, without their texts. If the CLI has shortened the name
// of that folder, a session that ran there tells the name.
func (t Files) All(dir, session string) (list []Session, err error) {
	example, err := t.Path(dir, "")
	if err == nil && len(filepath.Base(filepath.Dir(example))) > maxProjectName && session != "" {
		example, err = t.find(dir, session)
	}
	if err != nil || example == "" {
		return nil, err
	}
	entries, err := os.ReadDir(filepath.Dir(example))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), ".jsonl")
		info, err := e.Info()
		if ok && err == nil && uuid.Validate(id) == nil {
			list = append(list, Session{ID: id, Updated: info.ModTime(), Size: info.Size()})
		}
	}
	slices.SortFunc(list, func(a, b Session) int { return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.ID, b.ID)) })
	return list, nil
}

// Sessions lists the sessions that somebody has begun in a terminal in the folder dir, the newest first: the one of that ID,
// or with none those of the newest transcripts.
func (t Files) Sessions(dir, id string) (typed []Session, err error) {
	const most = 20
	list, err := t.All(dir, id)
	if err != nil {
		return nil, err
	}
	if id == "" {
		list = list[:min(len(list), most)]
	} else {
		list = slices.DeleteFunc(list, func(s Session) bool { return s.ID != id })
	}
	for _, s := range list {
		if turns, err := t.turns(dir, s.ID, nil, true); err == nil && len(turns) > 0 && turns[0].Typed {
			s.Text = turns[0].Text
			typed = append(typed, s)
		}
	}
	return typed, nil
}
