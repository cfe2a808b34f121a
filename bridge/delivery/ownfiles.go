package delivery

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"magpie/internal/agenttools"
)

// ownFiles are the folders and files that must not be sent: the received files of all chats, the database, the
// configuration. They are checked for one outgoing file. nil = there are none.
type ownFiles struct {
	infos   []fs.FileInfo
	paths   []string    // of the list
	project fs.FileInfo // the source folder, which may be inside one of the folders
}

// refuse returns an error for the agent if a file or folder is one of them, under any name.
func (o *ownFiles) refuse(info fs.FileInfo) error {
	if o == nil {
		return nil
	}
	own := slices.ContainsFunc(o.infos, func(s fs.FileInfo) bool { return os.SameFile(s, info) })
	// A file with several names may have one in a folder of the program, so those are searched.
	if !own && info.Mode().IsRegular() && mayHaveOtherNames(info) {
		var err error
		if own, err = o.holds(info); err != nil {
			return fmt.Errorf("look for other names of an outgoing file: %w", err)
		}
	}
	if own {
		return agenttools.Refusedf("Not sent: this belongs to the bridge itself and is never sent.")
	}
	return nil
}

// holds reports whether a file with several names has one of them in one of the folders.
func (o *ownFiles) holds(file fs.FileInfo) (found bool, err error) {
	for _, path := range o.paths {
		err := filepath.WalkDir(path, func(_ string, e fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) { // it has just been deleted
				return nil
			} else if err != nil {
				return err
			}
			if !e.IsDir() && !e.Type().IsRegular() {
				return nil
			}
			info, err := e.Info()
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case e.IsDir() && os.SameFile(info, o.project):
				return fs.SkipDir
			case os.SameFile(info, file):
				found = true
				return fs.SkipAll
			}
			return nil
		})
		if found || err != nil {
			return found, err
		}
	}
	return false, nil
}
