package workspace

import (
	"os"
	"path/filepath"
)

// stateDir is the folder for files that only agents need; see [Config.StateDir].
type stateDir string

// folder is the folder in which the agents of one chat keep their state.
func (d stateDir) folder(id string) string { return filepath.Join(string(d), id) }

// spareMark is a file that marks the folder with that ID as that of a spare process, possibly from before the program
// was killed.
func (d stateDir) spareMark(id string) string { return filepath.Join(string(d), "spares", id) }

// mark writes the mark of a spare process.
func (d stateDir) mark(id string) error {
	path := d.spareMark(id)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}

// settings is the settings file of all agents of chats.
func (d stateDir) settings() string { return filepath.Join(string(d), "settings.json") }

// chatSettings is the settings file of the agents that keep their state in folder.
func (d stateDir) chatSettings(folder string) string {
	return filepath.Join(string(d), "settings", filepath.Base(folder)+".json")
}

// loginSettings is the settings file of background tasks.
func (d stateDir) loginSettings() string { return filepath.Join(string(d), "login.json") }
