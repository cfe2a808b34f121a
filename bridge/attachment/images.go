package attachment

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/safepath"
)

// Limits of the pictures in one question.
const (
	maxPictures   = 20
	readAsPicture = 20 << 20 // bytes of a file
)

// Images returns the pictures in the questions' files that the model can see; the agent has the path of any other, and
// opens it itself. A missing file is marked as such.
func (fs *Store) Images(asked []chat.Message) (list []claude.Image) {
	for i := range asked {
		for j := range asked[i].Files {
			f := &asked[i].Files[j]
			if f.State != chat.Here || f.Path == "" {
				continue
			}
			f.Path = fs.abs(f.Path)
			// Beyond the maximum only the existence of the file is checked.
			data, err := fs.readImage(*f, len(list) < maxPictures)
			if err != nil {
				f.State = chat.Past
				continue
			}
			if picture, err := stream.NewImage(data); err == nil {
				f.Shown = true
				list = append(list, picture)
			}
		}
	}
	return list
}

// abs is the path of a stored file, which the database has relative to the folder.
func (fs *Store) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(fs.Folder, path)
}

// isMissing reports whether a file that was fetched is not on this machine.
func (fs *Store) isMissing(f chat.File) bool {
	if f.Path == "" {
		return false
	}
	_, err := os.Lstat(fs.abs(f.Path))
	return errors.Is(err, os.ErrNotExist)
}

// open opens a stored file. An agent may have replaced it, for example by a link or an endless pipe; that is an error
// like a missing file.
func (fs *Store) open(path string) (*os.File, error) {
	root, err := os.OpenRoot(fs.Folder)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written through it
	below, err := filepath.Rel(fs.Folder, path)
	if err != nil {
		return nil, err
	}
	return safepath.OpenRegular(root, below, nil)
}

// readImage returns the content of a stored file if it may be a picture for the model, otherwise nothing.
func (fs *Store) readImage(f chat.File, shown bool) (data []byte, err error) {
	file, err := fs.open(f.Path)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // nothing was written through it
	if !shown || f.Kind != chat.Picture && f.Kind != chat.Document {
		return nil, nil
	}
	data, err = io.ReadAll(io.LimitReader(file, readAsPicture+1))
	if len(data) > readAsPicture {
		return nil, err
	}
	return data, err
}
