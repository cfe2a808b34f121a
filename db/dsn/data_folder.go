package dsn

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"magpie/db/sqlite"
	"magpie/internal/filelock"
	"magpie/internal/i18n"
)

// LockFile is the file that whoever serves the database has locked: beside SQLite's file, or in the data folder; empty if
// that is not known.
func (d DSN) LockFile() string {
	switch {
	case d.IsFile():
		return sqlite.RealPath(d.File()) + ".lock"
	case d.Data == "":
		return ""
	}
	return filepath.Join(d.Data, "magpie.lock")
}

// Lock makes this process the only one that uses the data folder: with PostgreSQL there is no file that two processes
// would meet at, but they would run each other's agents. It returns nil without a data folder.
func (d DSN) Lock() (*filelock.Lock, error) {
	if d.Data == "" {
		return nil, nil
	}
	err := os.MkdirAll(d.Data, 0o700)
	if err != nil {
		return nil, i18n.Mistakef("data 文件夹：%v", "data: %v", err)
	}
	l, err := filelock.Take(d.LockFile())
	var held *filelock.HeldError
	if errors.As(err, &held) {
		return nil, &FolderLockedError{Folder: d.Data, PID: held.PID}
	} else if err != nil {
		return nil, i18n.Mistakef("data 文件夹：%v", "data: %v", err)
	}
	return l, nil
}

// FolderID identifies the data folder, whose lock is held: one on another machine may have the same path. It is empty without
// a data folder.
func (d DSN) FolderID() (string, error) {
	if d.Data == "" {
		return "", nil
	}
	file := filepath.Join(d.Data, "magpie.id")
	id, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(id) == 0 { // a crash may leave an empty file
		id = []byte(uuid.NewString())
		err = errors.Join(os.MkdirAll(d.Data, 0o700), os.WriteFile(file, id, 0o600))
	}
	if err != nil {
		return "", i18n.Mistakef("data 文件夹：%v", "data: %v", err)
	}
	return string(id), nil
}

// Instance identifies the bridge of this data folder and name on this machine, and reveals nothing about it. Without a data
// folder it is that of the database.
func (d DSN) Instance() string {
	sum := sha256.Sum256([]byte(cmp.Or(d.Data, d.URL) + "\x00" + d.Node))
	return hex.EncodeToString(sum[:8])
}

// ErrNoDataFolder means that it is not configured where on this machine the files are.
var ErrNoDataFolder = i18n.Mistakef("data：数据库在 PostgreSQL 里时必须设置：这台机器上存放助手状态和收到的文件的文件夹",
	"data: must be set if the database is PostgreSQL: the folder of this machine for the agents' state and received files")

// FolderLockedError means that another process, or another part of this one, uses the data folder.
type FolderLockedError struct {
	Folder string
	PID    int // 0 = unknown
}

func (e *FolderLockedError) Error() string { return e.describe().Error() }

// In is the error message in a language.
func (e *FolderLockedError) In(l i18n.Lang) string { return i18n.ErrorText(l, e.describe()) }

func (e *FolderLockedError) describe() error {
	who := i18n.Mistakef("另一个进程", "another process")
	if e.PID != 0 {
		who = i18n.Mistakef("进程 %d ", "process %d", e.PID)
	}
	return i18n.Mistakef("数据文件夹 %s 正被%v使用：先停掉它，或用 data 给这里另外指定一个文件夹",
		"the data folder %s is in use by %v: stop that one first, or give this one a folder of its own in data", e.Folder, who)
}
