package sqlite

import (
	"io/fs"
	"strings"

	"magpie/db/engine"
	"magpie/internal/i18n"
)

// fullError is [engine.ErrFull] with its cause, which tells people nothing more: what was being written, in SQLite's words.
type fullError struct{ cause error }

func (e *fullError) Error() string { return engine.ErrFull.Error() }

// In is the error message in a language.
func (e *fullError) In(l i18n.Lang) string { return i18n.ErrorText(l, engine.ErrFull) }

func (e *fullError) Unwrap() []error { return []error{engine.ErrFull, e.cause} }

// CorruptError means that the database is damaged. No program can repair it; the operator has to act.
type CorruptError struct {
	Path string
	Err  error // the findings
}

func (e *CorruptError) Error() string { return e.describe().Error() }

// In is the error message in a language.
func (e *CorruptError) In(l i18n.Lang) string { return i18n.ErrorText(l, e.describe()) }

func (e *CorruptError) describe() error {
	return i18n.Mistakef("数据库 %s 已损坏：%v。停止鹊桥，%v，再启动鹊桥",
		"database %s is corrupt: %v. Stop Magpie, %v, then start it again",
		e.Path, e.finding(), replaceAdvice(e.Path, latestBackup))
}

func (e *CorruptError) Unwrap() error { return e.Err }

// finding is what people are told about the damage: SQLite's results in plain words, without what was tried, and the
// findings of its check as they are.
func (e *CorruptError) finding() error {
	switch found := e.Err.Error(); {
	case strings.Contains(found, "file is not a database"):
		return i18n.Mistakef("这个文件不是 SQLite 数据库", "the file is not an SQLite database")
	case strings.Contains(found, "database disk image is malformed"):
		return i18n.Mistakef("文件的一部分已损坏", "parts of the file are damaged")
	}
	return e.Err
}

var latestBackup = i18n.Mistakef(" magpie backup 生成的最新备份", "the latest backup made by `magpie backup`")

// replaceAdvice describes how to replace a database by a copy. The old log must not be applied to the copy.
func replaceAdvice(path string, by error) error {
	return i18n.Mistakef("移走 %[1]s、%[1]s-wal 和 %[1]s-shm，把%[2]v复制为 %[1]s",
		"move %[1]s, %[1]s-wal and %[1]s-shm aside, copy %[2]v to %[1]s", path, by)
}

// LockedError means that another process, or another DB of this one, serves the database.
type LockedError struct {
	Path string
	PID  int // 0 = unknown
}

func (e *LockedError) Error() string { return e.describe().Error() }

// In is the error message in a language.
func (e *LockedError) In(l i18n.Lang) string { return i18n.ErrorText(l, e.describe()) }

func (e *LockedError) describe() error {
	who := i18n.Mistakef("另一个进程", "another process")
	if e.PID != 0 {
		who = i18n.Mistakef("进程 %d ", "process %d", e.PID)
	}
	return i18n.Mistakef("数据库 %s 正被%v使用：先停掉它，或在 [db] url 里给这里另外指定一个数据库",
		"database %s is in use by %v: stop that one first, or give this one a database of its own in [db] url", e.Path, who)
}

// missingError means that there is no database yet. It is an [fs.ErrNotExist].
type missingError struct{ path string }

func (e *missingError) Error() string { return e.In(i18n.English) }

// In is the error message in a language.
func (e *missingError) In(l i18n.Lang) string {
	return i18n.Phrase{ZH: "还没有数据库 %s：第一次启动鹊桥时会创建", EN: "there is no database %s yet: Magpie makes it when it first starts"}.
		Sprintf(l, e.path)
}

func (e *missingError) Unwrap() error { return fs.ErrNotExist }

// explain converts errors that somebody has to act on to their types.
func explain(path string, err error) error {
	switch {
	case isFull(err):
		return &fullError{err}
	case isDamage(err):
		return &CorruptError{Path: path, Err: err}
	}
	return err
}
