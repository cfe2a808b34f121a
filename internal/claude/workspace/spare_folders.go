package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"
)

// MarkSpare marks the agent's folder as that of a spare process.
func (a Agent) MarkSpare() error {
	return a.User.RunAs(func() error { return a.state.mark(filepath.Base(a.folder.path)) })
}

// RemoveFolder removes the folder of an agent without a chat, with its settings.
func (a Agent) RemoveFolder() error {
	id := filepath.Base(a.folder.path)
	return a.User.RunAs(func() error {
		if err := os.RemoveAll(a.folder.path); err != nil {
			return err
		}
		if err := os.RemoveAll(a.state.chatSettings(a.folder.path)); err != nil {
			return err
		}
		return os.RemoveAll(a.state.spareMark(id))
	})
}

// UnmarkSpare removes the mark of a spare process that has become a chat's.
func UnmarkSpare(c Config, folder string) error {
	if c.Folder == nil {
		return nil
	}
	a, err := NewAgent(c, folder)
	if err != nil {
		return err
	}
	return a.User.RunAs(func() error { return os.Remove(a.state.spareMark(folder)) })
}

// RemoveSpares removes the folders of spare processes that were left when the program was killed, except those that
// have become a chat's. files is the folder with the files of chats; empty = none. No process may be running.
func (c Config) RemoveSpares(files string, isChats func(folder string) (bool, error)) error {
	marks, err := os.ReadDir(filepath.Dir(stateDir(c.StateDir()).spareMark("x")))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("spare processes of the last run: %w", err)
	}
	var errs []error
	for _, m := range marks {
		if uuid.Validate(m.Name()) != nil {
			continue
		}
		taken, err := isChats(m.Name())
		if err == nil && taken {
			err = UnmarkSpare(c, m.Name())
		} else if err == nil {
			var a Agent
			if a, err = NewAgent(c, m.Name()); err == nil {
				if files != "" {
					_ = os.Remove(filepath.Join(files, m.Name())) // it is empty
				}
				err = a.RemoveFolder()
			}
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("spare processes of the last run: %w", err)
	}
	return nil
}
