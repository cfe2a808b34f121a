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
)

// LostError says that the files of the open database are not those that the next start would find: what is written to
// them now would be gone then. So nothing is stored until they are back, see [File.Guard].
type LostError struct {
	Path        string
	What        string // what happened to the files
	Overwritten bool   // the content of the open file is another one: it cannot be saved
	Rescued     string // where it was saved; empty = it is not
	Err         error  // why it could not be saved; nil = it was not tried yet
}

func (e *LostError) Error() string {
	s := fmt.Sprintf("the database %s is lost: %s while magpie uses it. Nothing is stored or acknowledged. ",
		e.Path, e.What)
	switch {
	case e.Overwritten:
		return s + fmt.Sprintf("What it held cannot be saved any more. Stop magpie, %s, and start magpie again",
			replace(e.Path, "the latest file made by `magpie backup`"))
	case e.Rescued != "":
		return s + fmt.Sprintf("What it held is saved in %[2]s. Stop magpie, move %[1]s, %[1]s-wal and %[1]s-shm aside "+
			"if they exist, move %[2]s to %[1]s, and start magpie again", e.Path, e.Rescued)
	case e.Err != nil:
		return s + fmt.Sprintf("What it held could not be saved: %v. Do not stop magpie: it tries again every %v",
			e.Err, rescueAgain)
	}
	return s + "What it held is being saved. Do not stop magpie"
}

func (e *LostError) Unwrap() error { return e.Err }

// openFiles are those of which an open database is made.
type openFiles struct {
	path    string
	file    *os.File      // the database's, open until SQLite has closed it: to close it drops SQLite's locks
	known   []os.FileInfo // of the database, its -wal and its -shm; nil = SQLite may still make them
	logSize atomic.Int64  // bytes, when it was last looked at
	changes atomic.Uint32 // the highest change counter that was seen in the file

	lost   atomic.Pointer[LostError] // nil = all are in place
	notice chan struct{}             // holds a token when they are newly found to be lost
}

// suffixes are what follows the path of a database in the names of its files.
var suffixes = []string{"", "-wal", "-shm"}

const logFile = 1 // of suffixes

// openPrivate opens the file at path before SQLite does. It is made when it does not exist: SQLite would make it
// readable for everybody, and gives its companions the mode of the file.
func openPrivate(path string) (*openFiles, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}
	return &openFiles{path: path, file: f, notice: make(chan struct{}, 1)}, nil
}

// remember notes which files SQLite has opened. They stay the same for as long as one of its connections is open.
func (o *openFiles) remember() error {
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
	found := o.compare()
	if found == nil {
		o.lost.Store(nil)
		return nil
	}
	for {
		known := o.lost.Load()
		if known != nil && known.What == found.What {
			return known
		}
		if known != nil && !known.Overwritten { // it was lost before in another way, and may have been saved then
			found.Rescued, found.Err = known.Rescued, known.Err
		}
		if o.lost.CompareAndSwap(known, found) {
			break
		}
	}
	select {
	case o.notice <- struct{}{}:
	default: // nobody has read the last one yet
	}
	return found
}

// isLost returns a [LostError] when check has found one; it does not look itself.
func (o *openFiles) isLost() error {
	if o == nil {
		return nil
	}
	if known := o.lost.Load(); known != nil {
		return known
	}
	return nil
}

// compare looks at the names, not at the open files: those stay readable after somebody has deleted or
// replaced them.
func (o *openFiles) compare() *LostError {
	for i, suffix := range suffixes {
		info, err := os.Stat(o.path + suffix)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return &LostError{Path: o.path, What: o.path + suffix + " was deleted or moved"}
		case err != nil:
			return &LostError{Path: o.path, What: fmt.Sprintf("%s cannot be reached (%v)", o.path+suffix, err)}
		case !os.SameFile(info, o.known[i]):
			return &LostError{Path: o.path, What: o.path + suffix + " was replaced by another file"}
		case i == logFile:
			o.logSize.Store(info.Size())
		}
	}
	if o.otherContent() {
		return &LostError{Path: o.path, What: o.path + " was overwritten by another program", Overwritten: true}
	}
	return nil
}

// The head of a database file: what it begins with, and where its change counter stands (SQLite, "Database File
// Format", 1.3). SQLite raises the counter and never lowers it, so one that is lower than before is that of an older
// copy.
const (
	fileMagic     = "SQLite format 3\x00"
	changeCounter = 24
)

// overwritten reports whether somebody has written another content into the open file.
func (o *openFiles) overwritten() bool {
	var lost *LostError
	return errors.As(o.check(), &lost) && lost.Overwritten
}

// leave leaves an overwritten database as it is. SQLite writes the log into the database when the last connection is
// closed, so one stays open until the process ends; and so does the next start with a log that it finds. Parts of the
// old content would be mixed with the new one.
func (f *File) leave() error {
	if _, err := f.read.Conn(context.Background()); err != nil {
		return fmt.Errorf("leave the overwritten database: %w", err)
	}
	return setLogAside(f.path)
}

// setLogAside renames the log at path if there is one. SQLite would apply it to whatever comes to the path next, such
// as an older copy or the one that was saved: it cannot know that the log is not that database's.
func setLogAside(path string) error {
	log := path + suffixes[logFile]
	err := os.Rename(log, log+".lost-"+time.Now().UTC().Format(rescueTimeForm))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// leftLog reports whether the log is where it was and the database is not. SQLite deletes the log when it closes a
// database, but not that of a file that has lost its name.
func (o *openFiles) leftLog() bool {
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

// otherContent reports whether the file has got another content, for example that of an older copy. SQLite's
// change counter in the header only grows, so a smaller one gives it away (SQLite file format, 1.3.6).
func (o *openFiles) otherContent() bool {
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

// close closes the file; once is enough.
func (o *openFiles) close() error {
	if err := o.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// What stands in the name of a rescue copy behind the name of the database.
const (
	rescueMark     = ".rescued-"
	rescueTimeForm = "20060102-150405"
)

// Rescued lists the copies that were made of databases which were lost at this path, see [LostError].
func Rescued(path string) (copies []string, err error) {
	folder := existing(filepath.Dir(path))
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

// existing is the nearest folder of a path that exists.
func existing(folder string) string {
	for {
		if info, err := os.Stat(folder); err == nil && info.IsDir() || folder == filepath.Dir(folder) {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}

// refuseAfterLoss refuses to begin with an empty database where a lost one was saved: what people have said would seem
// to be gone, and its operator would find out too late. A log that a killed program has left there is set aside, so
// that the copy can be moved to the path.
func refuseAfterLoss(path string) error {
	if info, err := os.Stat(path); err == nil && info.Size() > 0 {
		return nil
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("database: %w", err)
	}
	copies, err := Rescued(path)
	if err != nil || len(copies) == 0 {
		return err
	}
	if l, err := lock(path); err == nil { // else the program that has lost the database still runs, or the folder is gone
		if err := errors.Join(setLogAside(path), unlock(l)); err != nil {
			return fmt.Errorf("log of the lost database: %w", err)
		}
	}
	last := copies[len(copies)-1]
	return fmt.Errorf("database %[1]s is missing, and %[2]s holds what it held when it was lost: move %[2]s to %[1]s "+
		"to go on with it, or move it to another folder to begin with an empty database", path, last)
}
