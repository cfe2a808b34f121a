package memdoc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// maxDocument is the maximum size of a document, in bytes.
const maxDocument = 256 << 10

// ErrEdited means that a document was edited and not imported since. It is not overwritten.
var ErrEdited = i18n.Mistakef("文件被编辑过：请先导入，或者删掉它",
	"it was edited: import it first, or remove it")

// Export writes the memories of the chats into dir, one folder per chat and one document per memory, and returns their
// number. It replaces the documents of an earlier export. Errors of single documents are joined; the others are
// written. show, unless nil, is told how many memories are done.
func Export(ctx context.Context, store *db.DB, dir string, chats []chat.Key, show func(done, total int)) (
	written int, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, i18n.Mistakef("导出记忆：%v", "export memories: %v", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, i18n.Mistakef("导出记忆：%v", "export memories: %v", err)
	}
	defer root.Close() //nolint:errcheck // only a handle
	step, err := stepper(ctx, store, chats, show)
	if err != nil {
		return 0, err
	}
	var problems []error
	for _, key := range chats {
		list, err := store.Memories().List(ctx, key)
		if err != nil {
			return written, err
		}
		folder := folderName(key)
		if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return written, i18n.Mistakef("导出记忆：%v", "export memories: %v", err)
		}
		for _, m := range list {
			step()
			if err := writeDocument(ctx, store, root, folder, m); err != nil {
				problems = append(problems, err)
				continue
			}
			written++
		}
	}
	return written, errors.Join(problems...)
}

// stepper counts the memories of the chats, and returns a function to call before each.
func stepper(ctx context.Context, store *db.DB, chats []chat.Key, show func(done, total int)) (step func(), err error) {
	if show == nil {
		return func() {}, nil
	}
	done, total := 0, 0
	for _, key := range chats {
		list, err := store.Memories().List(ctx, key)
		if err != nil {
			return nil, err
		}
		total += len(list)
	}
	return func() {
		show(done, total)
		done++
	}, nil
}

// writeDocument writes one document and removes an earlier export of the same memory under another name.
func writeDocument(ctx context.Context, store *db.DB, root *os.Root, folder string, m db.Memory) error {
	name := path.Join(folder, fileName(m))
	old, err := fs.Glob(root.FS(), path.Join(folder, fmt.Sprintf("%04d-*.md", m.Number)))
	if err != nil {
		return err
	}
	for _, o := range old {
		doc, err := readDocument(root, o)
		if err != nil {
			return fmt.Errorf("%s: %w", o, err)
		}
		there, err := Parse(doc)
		if err != nil || there.ID != m.ID {
			continue // not a document of this memory; the check below refuses to overwrite it
		}
		if edited, err := isEdited(ctx, store, there); err != nil {
			return err
		} else if edited {
			return fmt.Errorf("%s: %w", o, ErrEdited)
		}
		if o != name {
			if err := root.Remove(o); err != nil {
				return err
			}
		}
	}
	if there, err := readDocument(root, name); err == nil {
		if m2, err := Parse(there); err != nil || m2.ID != m.ID {
			return i18n.Mistakef("%s：不是导出的文件，占了这个位置：请改名或删掉它",
				"%s: it was not exported and is in the way: rename or remove it", name)
		}
	}
	// The rename makes the change atomic: an import never reads half a document.
	const begun = ".unfinished"
	if err := root.WriteFile(name+begun, Format(m), 0o600); err != nil {
		return err
	}
	return root.Rename(name+begun, name)
}

// isEdited reports whether a document differs from all versions of its memory.
func isEdited(ctx context.Context, store *db.DB, doc db.Memory) (bool, error) {
	doc, err := doc.Tidy()
	if err != nil {
		return true, nil
	}
	versions, err := store.Memories().Versions(ctx, doc.Key, doc.ID)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(versions, func(v db.MemoryVersion) bool { return sameContent(doc, v.Memory) }), nil
}

// sameContent reports whether a document says the same as a version of its memory.
func sameContent(doc, m db.Memory) bool {
	return doc.Text == m.Text && doc.Title == m.Title && doc.Scope == m.Scope && doc.Of == m.Of &&
		doc.Proposed == m.Proposed &&
		slices.Equal(doc.Keywords, m.Keywords) && slices.Equal(doc.Sources, m.Sources)
}

// folderName is a safe and unique folder name for a chat.
func folderName(key chat.Key) string {
	return cmp.Or(safepath.Slug(key.String(), 80), "memory") + "-" + key.StableID("")[:8]
}

// fileName is a safe file name for a memory's document.
func fileName(m db.Memory) string {
	return fmt.Sprintf("%04d-%s.md", m.Number, cmp.Or(safepath.Slug(m.Title, 90), "memory"))
}

// Imported counts the results of an import.
type Imported struct {
	Added, Changed, Known int
}

// Import reads the documents in dir and its subfolders into the database. Edited documents become new versions of their
// memories; unedited ones change nothing, and memories without a document stay. clean is applied to every text before
// it is stored. Errors of single documents, with their names, are joined; the others are imported. show, unless nil, is
// told how many documents are done.
func Import(ctx context.Context, store *db.DB, dir string, clean func(string) string, show func(done, total int)) (
	done Imported, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return done, i18n.Mistakef("导入记忆：%v", "import memories: %v", err)
	}
	defer root.Close() //nolint:errcheck // only a handle
	names, err := documents(root.FS())
	problems := []error{err}
	for i, name := range names {
		if show != nil {
			show(i, len(names))
		}
		if err := done.importFile(ctx, store, root, name, clean); ctx.Err() != nil {
			return done, errors.Join(append(problems, ctx.Err())...)
		} else if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
	}
	return done, errors.Join(problems...)
}

// documents are the names of the documents in a folder and its subfolders. With an error it returns those before it.
func documents(files fs.FS) (names []string, err error) {
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.Name() != "." && strings.HasPrefix(entry.Name(), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir() || path.Ext(name) != ".md":
			return nil
		}
		names = append(names, name)
		return nil
	})
	return names, err
}

// Importer is the author of the changes of an import.
const Importer = "import"

// Reasons of the changes of an import.
const (
	NewDocument    = "new document"
	EditedDocument = "edited document"
)

// importFile imports one document.
func (done *Imported) importFile(ctx context.Context, store *db.DB, root *os.Root, name string,
	clean func(string) string) error {
	doc, err := readDocument(root, name)
	if err != nil {
		return err
	}
	m, err := Parse(doc)
	if err != nil {
		return err
	}
	m.Text, m.Title = clean(m.Text), clean(m.Title)
	for i := range m.Keywords {
		m.Keywords[i] = clean(m.Keywords[i])
	}
	if m, err = m.Tidy(); err != nil {
		return err
	}
	if m.ID == "" { // a new document: from now on the file's name identifies the memory
		m.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(m.Key.String()+"\n"+name)).String()
	}
	versions, err := store.Memories().Versions(ctx, m.Key, m.ID)
	switch {
	case errors.Is(err, db.ErrNotFound):
		return done.importNew(ctx, store, m)
	case err != nil:
		return err
	}
	now := versions[len(versions)-1]
	if now.Text == "" {
		return i18n.Mistakef("%v：要重新记住它，请删掉写着 id 的那一行",
			"%v: remove the line with its id to remember it again", db.ErrForgotten)
	}
	if isOutdated(m, versions) {
		done.Known++
		return nil
	}
	if !changedSince(m, versions) {
		m.Version = now.Version
	}
	saved, err := store.Memories().Save(ctx, m, db.Change{Who: Importer, Why: EditedDocument})
	switch {
	case errors.Is(err, db.ErrChanged) && sameContent(m, now.Memory):
		done.Known++
	case errors.Is(err, db.ErrChanged):
		return i18n.Mistakef("%v：请重新导出，再改一次", "%v: export it again and repeat your edit there", err)
	case err != nil:
		return err
	case saved.Version == now.Version:
		done.Known++
	default:
		done.Changed++
	}
	return nil
}

// importNew stores the memory of a document that was not imported before.
func (done *Imported) importNew(ctx context.Context, store *db.DB, m db.Memory) error {
	_, err := store.Memories().Save(ctx, m, db.Change{Who: Importer, Why: NewDocument})
	if errors.Is(err, db.ErrNotFound) {
		return i18n.Mistakef("这里没有它所属的聊天，或者它的 ID 属于另一个聊天",
			"its chat is not known here, or its ID belongs to another one")
	} else if err != nil {
		return err
	}
	done.Added++
	return nil
}

// isOutdated reports whether the document equals an earlier version, as it was exported or imported then.
func isOutdated(doc db.Memory, versions []db.MemoryVersion) bool {
	return slices.ContainsFunc(versions[:len(versions)-1], func(v db.MemoryVersion) bool {
		return (doc.Version == 0 || doc.Version == v.Version) && sameContent(doc, v.Memory)
	})
}

// changedSince reports whether the memory was changed, other than by an import, after the document was written.
func changedSince(doc db.Memory, versions []db.MemoryVersion) bool {
	return doc.Version != 0 && slices.ContainsFunc(versions, func(v db.MemoryVersion) bool {
		return v.Version > doc.Version && v.By.Who != Importer
	})
}

// readDocument reads a document of bounded size. A pipe would keep the import waiting, and a link may lead to what is no
// document. Its errors do not name the document, as those of a wrong content do not.
func readDocument(root *os.Root, name string) ([]byte, error) {
	f, err := safepath.OpenRegular(root, name, nil)
	if bad := (*fs.PathError)(nil); errors.As(err, &bad) {
		return nil, bad.Err
	} else if errors.Is(err, safepath.ErrNotRegular) {
		return nil, i18n.Mistakef("不是普通文件", "it is no regular file")
	} else if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	doc, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err == nil && len(doc) > maxDocument {
		err = i18n.Mistakef("超过 %d 字节", "it has more than %d bytes", maxDocument)
	}
	return doc, err
}
