package sqlite

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"magpie/internal/i18n"
)

// LostError means that the next start would not find the files of the open database, so that anything written now would
// be lost. Nothing is stored until they are back, see [File.Guard].
type LostError struct {
	Path        string
	What        error  // what happened to the files
	Overwritten bool   // the content of the open file was replaced, so it cannot be saved
	Rescued     string // where it was saved; empty = not saved
	Err         error  // why it could not be saved; nil = not tried yet
}

func (e *LostError) Error() string { return e.describe().Error() }

// In is the error message in a language.
func (e *LostError) In(l i18n.Lang) string { return i18n.ErrorText(l, e.describe()) }

// describe says what happened, and what the operator is to do about it.
func (e *LostError) describe() error {
	do := i18n.Mistakef("正在抢救其中的内容，先不要停止鹊桥", "Its contents are being saved. Do not stop Magpie")
	switch {
	case e.Overwritten:
		do = i18n.Mistakef("原来的内容已无法抢救。停止鹊桥，%v，再启动鹊桥",
			"Its contents can no longer be recovered. Stop Magpie, %v, then start it again", replaceAdvice(e.Path, latestBackup))
	case e.Rescued != "":
		do = i18n.Mistakef("原来的内容保存在 %[2]s。停止鹊桥；%[1]s、%[1]s-wal、%[1]s-shm 如果还在，先移走；"+
			"把 %[2]s 移到 %[1]s，再启动鹊桥", "Its contents are saved in %[2]s. Stop Magpie, move %[1]s, %[1]s-wal and %[1]s-shm aside "+
			"if they exist, move %[2]s to %[1]s, then start Magpie again", e.Path, e.Rescued)
	case e.Err != nil:
		do = i18n.Mistakef("原来的内容没能保存：%v。先不要停止鹊桥：每隔 %v 会再试一次",
			"Its contents could not be saved: %v. Do not stop Magpie: it tries again every %v", e.Err, rescueAgain)
	}
	return i18n.Mistakef("数据库 %s 丢失：鹊桥正在使用时，%v。现在不再保存任何内容，也不再确认消息。%v",
		"the database %s is lost: %v while Magpie was using it. Nothing is stored or acknowledged. %v", e.Path, e.What, do)
}

func (e *LostError) Unwrap() error { return e.Err }

// openFiles are the files of an open database.
type openFiles struct {
	path    string
	file    *os.File      // the database file; open until SQLite has closed it: closing drops its locks
	known   []os.FileInfo // of the database, its -wal and its -shm; nil = SQLite may still create them
	logSize atomic.Int64  // bytes, at the last check
	changes atomic.Uint32 // the highest change counter seen in the file

	lost   atomic.Pointer[LostError] // nil = all files are in place
	notice chan struct{}             // holds a token when a new loss was found
}

// suffixes are appended to the path of a database to name its files.
var suffixes = []string{"", "-wal", "-shm"}

const logFile = 1 // index in suffixes

// openPrivate opens the file at path before SQLite does, creating it if necessary: SQLite would make it readable for
// everyone, and gives its companion files the same mode.
func openPrivate(path string) (*openFiles, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, i18n.Mistakef("数据库：%v", "database: %v", err)
	}
	return &openFiles{path: path, file: f, notice: make(chan struct{}, 1)}, nil
}

// recordFiles records which files SQLite has opened. They stay the same as long as one of its connections is open.
func (o *openFiles) recordFiles() error {
	known := make([]os.FileInfo, len(suffixes))
	for i, suffix := range suffixes {
		info, err := os.Stat(o.path + suffix)
		if err != nil {
			return fmt.Errorf("files of the database: %w", err)
		}
		known[i] = info
	}
	if own, err := o.file.Stat(); err != nil {
		return fmt.Errorf("files of the database: %w", err)
	} else if !os.SameFile(own, known[0]) {
		return fmt.Errorf("database %s was replaced while it was opened", o.path)
	}
	o.known = known
	return o.check()
}

// check returns a [LostError] unless the files are in place. It takes some microseconds.
func (o *openFiles) check() error {
	if o == nil || o.known == nil {
		return nil
	}
	found := o.compareFiles()
	if found == nil {
		o.lost.Store(nil)
		return nil
	}
	for {
		known := o.lost.Load()
		if known != nil && known.What.Error() == found.What.Error() {
			return known
		}
		if known != nil && !known.Overwritten { // it was lost in another way before, and may have been saved then
			found.Rescued, found.Err = known.Rescued, known.Err
		}
		if o.lost.CompareAndSwap(known, found) {
			break
		}
	}
	select {
	case o.notice <- struct{}{}:
	default: // the previous token was not read yet
	}
	return found
}

// lossError returns the [LostError] that check has found, without another check.
func (o *openFiles) lossError() error {
	if o == nil {
		return nil
	}
	if known := o.lost.Load(); known != nil {
		return known
	}
	return nil
}

// compareFiles checks the names, not the open files, which stay readable after somebody has deleted or replaced them.
func (o *openFiles) compareFiles() *LostError {
	for i, suffix := range suffixes {
		info, err := os.Stat(o.path + suffix)
		var what error
		switch name := o.path + suffix; {
		case errors.Is(err, fs.ErrNotExist):
			what = i18n.Mistakef("%s 被删除或移走", "%s was deleted or moved", name)
		case err != nil:
			what = i18n.Mistakef("%s 无法访问（%v）", "%s cannot be reached (%v)", name, err)
		case !os.SameFile(info, o.known[i]):
			what = i18n.Mistakef("%s 被另一个文件替换", "%s was replaced by another file", name)
		case i == logFile:
			o.logSize.Store(info.Size())
		}
		if what != nil {
			return &LostError{Path: o.path, What: what}
		}
	}
	if o.contentReplaced() {
		what := i18n.Mistakef("%s 被另一个程序覆盖", "%s was overwritten by another program", o.path)
		return &LostError{Path: o.path, What: what, Overwritten: true}
	}
	return nil
}

// The header of a database file: its magic string, and the offset of its change counter (SQLite, "Database File
// Format", 1.3). SQLite never lowers the counter, so a lower value means an older copy.
const (
	fileMagic     = "SQLite format 3\x00"
	changeCounter = 24
)

// isOverwritten reports whether somebody has written other content into the open file.
func (o *openFiles) isOverwritten() bool {
	var lost *LostError
	return errors.As(o.check(), &lost) && lost.Overwritten
}

// keepOverwritten keeps an overwritten database unchanged. SQLite writes the log into the database when the last
// connection is closed, so one stays open until the process ends. The next start would do the same with the log. The
// result would be a mixture of old and new content.
func (d *DB) keepOverwritten() error {
	if _, err := d.read.Conn(context.Background()); err != nil {
		return fmt.Errorf("leave the overwritten database: %w", err)
	}
	return setLogAside(d.path)
}

// setLogAside renames the log at path if there is one. SQLite would apply it to whatever comes to the path next, such
// as an older copy or the rescued one: it cannot know that the log belongs to another database.
func setLogAside(path string) error {
	log := path + suffixes[logFile]
	err := os.Rename(log, log+".lost-"+time.Now().UTC().Format(rescueTimeForm))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// hasOrphanedLog reports whether the log is in place but the database is not. SQLite deletes the log when it closes a
// database, but not that of a file without a name.
func (o *openFiles) hasOrphanedLog() bool {
	if o.known == nil {
		return false
	}
	file, err := os.Stat(o.path)
	if err == nil && os.SameFile(file, o.known[0]) || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	log, err := os.Stat(o.path + suffixes[logFile])
	return err == nil && os.SameFile(log, o.known[logFile])
}

// contentReplaced reports whether the file has got another content, for example that of an older copy. SQLite's
// change counter in the header only grows, so a smaller one gives it away (SQLite file format, 1.3.6).
func (o *openFiles) contentReplaced() bool {
	var head [changeCounter + 4]byte
	// A closed file is our own doing: the database is being closed.
	if _, err := o.file.ReadAt(head[:], 0); errors.Is(err, os.ErrClosed) {
		return false
	} else if err != nil || !bytes.HasPrefix(head[:], []byte(fileMagic)) {
		return true
	}
	now := binary.BigEndian.Uint32(head[changeCounter:])
	for {
		seen := o.changes.Load()
		if now < seen {
			return true
		}
		if now == seen || o.changes.CompareAndSwap(seen, now) {
			return false
		}
	}
}

// close closes the file; it may be called again.
func (o *openFiles) close() error {
	if err := o.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// The parts of a rescue copy's name after the database's name.
const (
	rescueMark     = ".rescued-"
	rescueTimeForm = "20060102-150405"
)

// RescuedCopies lists the copies of databases that were lost at this path, see [LostError].
func RescuedCopies(path string) (copies []string, err error) {
	folder := nearestExistingFolder(filepath.Dir(path))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("look for rescue copies: %w", err)
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, filepath.Base(path)+rescueMark) && !strings.HasSuffix(name, ".tmp") {
			copies = append(copies, filepath.Join(folder, name))
		}
	}
	return copies, nil
}

// nearestExistingFolder is the nearest existing folder of a path.
func nearestExistingFolder(folder string) string {
	for {
		if info, err := os.Stat(folder); err == nil && info.IsDir() || folder == filepath.Dir(folder) {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}

// refuseAfterLoss refuses to create an empty database where a lost one was saved: all messages would seem to be gone,
// and the operator would notice too late. It sets the log of a killed program aside, so that the copy can be moved to
// the path.
func refuseAfterLoss(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return i18n.Mistakef("数据库：%v", "database: %v", err)
	}
	copies, err := RescuedCopies(path)
	if err != nil || len(copies) == 0 {
		return err
	}
	if l, err := Lock(path); err == nil { // otherwise its program is still running, or the folder is gone
		if err := errors.Join(setLogAside(path), l.Release()); err != nil {
			return fmt.Errorf("log of the lost database: %w", err)
		}
	}
	last := copies[len(copies)-1]
	return i18n.Mistakef("数据库 %[1]s 不见了，原来的内容保存在 %[2]s：把 %[2]s 移到 %[1]s 就能继续使用，"+
		"或者把它移到别的文件夹，从空的数据库开始",
		"database %[1]s is missing; its contents are saved in %[2]s: move %[2]s to %[1]s "+
			"to continue with them, or to another folder to start with an empty database", path, last)
}
