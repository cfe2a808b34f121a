package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

type historyCmd struct {
	Import importCmd `cmd:"" help:"Import messages from a JSONL file into the history. Stop Magpie first, unless the database is PostgreSQL."`
	Export exportCmd `cmd:"" help:"Write the history as JSONL, even while Magpie runs."`
}

// importCmd opens the database for writing, which with SQLite only one process can do at a time.
type importCmd struct {
	File   string `arg:"" help:"The file, one message per line; - is the standard input." type:"existingfile"`
	Strict bool   `help:"Stop at the first line that cannot be imported."`
	configFlag
}

// Run imports the file and prints a summary. It returns an error if any line was bad.
func (i importCmd) Run(ctx context.Context) (err error) {
	c, err := config.ReadForDatabase(i.Config, os.Environ())
	if err != nil {
		return err
	}
	in, size, err := openInput(i.File)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	store, err := openForImport(ctx, c.DBConfig())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	im := lineImporter{
		from: newLineReader(in), to: store.Messages().Importer(), strict: i.Strict, complain: os.Stderr,
		progress: newProgress(os.Stderr, i18n.CmdImporting, i18n.CmdInMessages, size),
	}
	began := time.Now()
	if err = im.run(ctx); err == nil {
		err = store.Search().Merge(ctx)
	}
	fmt.Println(i18n.CmdImported.Sprintf(userLang(), im.good+im.bad, im.added, im.good-im.added, im.bad,
		time.Since(began)))
	if err == nil && im.bad > 0 {
		err = errors.New(i18n.CmdNotImported.Sprintf(userLang(), im.bad))
	}
	return err
}

// openForImport opens the database for an import. No bridge may be serving a file; with PostgreSQL they go on.
func openForImport(ctx context.Context, c db.Config) (*db.DB, error) {
	show, end := databaseWork()
	defer end()
	c.Progress, c.Node = show, ""
	store, err := db.Open(ctx, c)
	return store, inUse(err, c)
}

// errInUse says that a bridge must be stopped first, which is process pid; 0 = it is not known.
func errInUse(database string, pid int) error {
	who := ""
	if pid != 0 {
		who = i18n.CmdByProcess.Sprintf(userLang(), pid)
	}
	return errors.New(i18n.CmdInUse.Sprintf(userLang(), database, who))
}

// openInput opens a file, or the standard input, whose size is unknown.
func openInput(name string) (in io.ReadCloser, size int64, err error) {
	if name == "-" {
		return io.NopCloser(os.Stdin), 0, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, 0, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		size = info.Size()
	}
	return f, size, nil
}

// The largest batch per transaction.
const (
	batchRecords = 2000
	batchBytes   = 8 << 20
)

// maxComplaints is how many bad lines are reported individually; further ones are only counted.
const maxComplaints = 100

// lineImporter reads records line by line and stores them in batches, so that memory does not grow with the file.
type lineImporter struct {
	from     *lineReader
	to       func(context.Context, []db.Record) (int, error)
	strict   bool
	complain io.Writer
	progress *progress

	batch            []db.Record
	bytes            int
	good, bad, added int // lines
}

// errStrict ends a strict import.
var errStrict = i18n.Mistakef("遇到第一行错误就停下了，它之前的行已经导入",
	"stopped at the first bad line; the lines before it are imported")

// run stores complete batches even when it stops early: an import is idempotent, so it can be repeated once the mistake
// is corrected.
func (im *lineImporter) run(ctx context.Context) error {
	defer im.progress.clear()
	for {
		l, err := im.from.next()
		if errors.Is(err, io.EOF) {
			return im.store(ctx)
		} else if err != nil {
			return errors.Join(im.store(ctx), i18n.Mistakef("第 %d 行：%v", "line %d: %v", im.from.n, err))
		}
		r, err := readRecord(l)
		switch {
		case errors.Is(err, errCompressed):
			return err
		case err != nil:
			im.bad++
			im.reportBadLine(l, err)
			if im.strict {
				return errors.Join(im.store(ctx), errStrict)
			}
			continue
		}
		im.batch = append(im.batch, r)
		im.bytes += len(l.text)
		if len(im.batch) >= batchRecords || im.bytes >= batchBytes {
			if err := im.store(ctx); err != nil {
				return err
			}
		}
	}
}

// reportBadLine prints only the first bad lines; a file of the wrong kind would flood the terminal.
func (im *lineImporter) reportBadLine(l line, err error) {
	switch {
	case im.bad <= maxComplaints:
		im.progress.clear()
		fmt.Fprintln(im.complain, i18n.CmdLine.Sprintf(userLang(), l.number, errorText(err)))
	case im.bad == maxComplaints+1:
		im.progress.clear()
		fmt.Fprintln(im.complain, i18n.CmdMoreBad.In(userLang()))
	}
}

// store stores the batch. Earlier batches stay when ctx ends; an import is idempotent, so it can be repeated.
func (im *lineImporter) store(ctx context.Context) error {
	if ctx.Err() != nil {
		return i18n.Mistakef("已中断，再次导入同一个文件即可继续：%v",
			"interrupted: import the file again to continue: %v", ctx.Err())
	}
	added, err := im.to(ctx, im.batch)
	if err != nil {
		return err
	}
	im.good, im.added = im.good+len(im.batch), im.added+added
	clear(im.batch)
	im.batch, im.bytes = im.batch[:0], 0
	im.progress.draw(im.from.read, int64(im.good))
	return nil
}

// errCompressed stops the import at once: every further line would be reported as bad.
var errCompressed = i18n.Mistakef("文件是压缩的：试试 gunzip -c 文件 | magpie history import -",
	"the file is compressed: try gunzip -c FILE | magpie history import -")

// gzipMagic is the beginning of every gzip file (RFC 1952).
var gzipMagic = []byte{0x1f, 0x8b}

// readRecord checks for gzip only at the beginning: a compressed file is the usual mistake, and its error should say
// so.
func readRecord(l line) (db.Record, error) {
	switch {
	case l.number == 1 && bytes.HasPrefix(l.text, gzipMagic):
		return db.Record{}, errCompressed
	case l.long:
		return db.Record{}, errLong
	}
	return parseRecord(l.text)
}

type exportCmd struct {
	File string `arg:"" optional:"" default:"-" help:"Where to write; it must not exist. - is the standard output." type:"path"`
	Chat string `help:"Only this chat, as in feishu:chat:oc_xxx or oc_xxx." placeholder:"KEY"`
	configFlag
}

// Run writes the History, or that of one chat if it is named.
func (e exportCmd) Run(ctx context.Context) (err error) {
	c, err := config.ReadForDatabase(e.Config, os.Environ())
	if err != nil {
		return err
	}
	store, err := db.OpenReadOnly(ctx, c.DBConfig())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var key chat.Key // zero = all chats
	if e.Chat != "" {
		if key, err = knownChat(ctx, store, e.Chat); err != nil {
			return err
		}
	}
	records, err := exportWithProgress(ctx, store, key, e.File == "-" && isTerminal(os.Stdout))
	if err != nil {
		return err
	}
	if e.File == "-" {
		_, err := writeRecords(os.Stdout, records)
		return err
	}
	n, err := exportFile(e.File, records)
	if err == nil {
		fmt.Println(i18n.CmdExported.Sprintf(userLang(), e.File, n))
	}
	return err
}

// exportWithProgress returns the records of a chat, or of all chats if the key is zero. It shows its progress unless
// the records themselves go to the terminal.
func exportWithProgress(ctx context.Context, store *db.DB, key chat.Key, seen bool) (iter.Seq2[db.Record, error], error) {
	records := store.Messages().Export(ctx, key)
	if seen || !isTerminal(os.Stderr) {
		return records, nil
	}
	total, err := store.Messages().Count(ctx, key)
	if err != nil {
		return nil, err
	}
	p := newProgress(os.Stderr, i18n.CmdExporting, i18n.CmdInMessages, total)
	return func(yield func(db.Record, error) bool) {
		defer p.clear()
		n := int64(0)
		for r, err := range records {
			p.draw(n, n)
			n++
			if !yield(r, err) {
				return
			}
		}
	}, nil
}

// parseChat parses a chat's key, or the bare ID of a Feishu chat.
func parseChat(s string) (chat.Key, error) {
	if strings.HasPrefix(s, "oc_") && !strings.Contains(s, ":") {
		return chat.FeishuChat(s), nil
	}
	key, err := chat.ParseKey(s)
	if err != nil {
		return key, wrongUsage(i18n.Mistakef("聊天 %q：应写成 oc_xxx 或 feishu:chat:oc_xxx 的形式",
			"chat %q: must be like oc_xxx or feishu:chat:oc_xxx", s))
	}
	return key, nil
}

// knownChat parses the name of a chat that has a History: a mistyped name would find nothing without an error.
func knownChat(ctx context.Context, store *db.DB, name string) (chat.Key, error) {
	key, err := parseChat(name)
	if err != nil {
		return chat.Key{}, err
	}
	if _, err = store.Chats().Get(ctx, key); errors.Is(err, db.ErrNotFound) {
		err = errNoChat(key)
	}
	return key, err
}

// errNoChat means that the History has no such chat.
func errNoChat(key chat.Key) error {
	return i18n.Mistakef("没有聊天 %v", "there is no chat %v", key)
}

// errLong rejects a line of a file.
var errLong = i18n.Mistakef("一行超过 %d MB", "longer than %d MB", longestLine>>20)

// exportFile writes a new file, which gets its name when it is complete.
func exportFile(name string, records iter.Seq2[db.Record, error]) (n int, err error) {
	// Checked early for a clear error; the export of a large History takes minutes.
	if _, err := os.Lstat(name); err == nil {
		return 0, i18n.Mistakef("%s 已经存在：换一个文件名，或先删掉它",
			"%s exists: name another file, or remove that one", name)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part")
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) {
		bad.Path = filepath.Dir(name) // rather than a name that nobody has chosen
	}
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	n, err = writeRecords(f, records)
	// Synced before the rename: after a crash the name must not belong to an empty file.
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	return n, os.Rename(f.Name(), name)
}

// writeRecords reuses one buffer and writes in large pieces, since a history may have millions of records.
func writeRecords(out io.Writer, records iter.Seq2[db.Record, error]) (n int, err error) {
	w := bufio.NewWriterSize(out, 256<<10)
	var b bytes.Buffer
	for r, err := range records {
		if err != nil {
			return n, err
		}
		b.Reset()
		if err := appendRecord(&b, r); err != nil {
			return n, err
		}
		if _, err := w.Write(b.Bytes()); err != nil {
			return n, err
		}
		n++
	}
	return n, w.Flush()
}
