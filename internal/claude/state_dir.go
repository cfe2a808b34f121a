package claude

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// stateDir is the folder for files that only agents need; see [Config.StateDir].
type stateDir string

// folder is the folder in which the agents of one chat keep their state.
func (d stateDir) folder(id string) string { return filepath.Join(string(d), id) }

// earlierFolder is what earlier versions of this program used for it.
func (d stateDir) earlierFolder(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return filepath.Join(string(d), "chats", hex.EncodeToString(sum[:12]))
}

// settings is the settings file of all agents of chats.
func (d stateDir) settings() string { return filepath.Join(string(d), "settings.json") }

// chatSettings is the settings file of the agents that keep their state in folder.
func (d stateDir) chatSettings(folder string) string {
	return filepath.Join(string(d), "settings", filepath.Base(folder)+".json")
}

// loginSettings is the settings file of background tasks.
func (d stateDir) loginSettings() string { return filepath.Join(string(d), "login.json") }
