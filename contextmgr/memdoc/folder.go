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
	"magpie/internal/safepath"
)

// largest is how large a document may be, in bytes.
const largest = 256 << 10

// ErrEdited says that a document was edited and not imported since. It is not overwritten.
var ErrEdited = errors.New("it was edited: import it first, or remove it")

// Export writes the memories of the chats into dir, one folder for each chat and one document for each memory, and
// returns how many. What is there from an earlier export is replaced. The errors about single documents are joined; the
// others are written.
func Export(ctx context.Context, store *db.DB, dir string, chats []chat.Key) (written int, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return 0, fmt.Errorf("export memories: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, fmt.Errorf("export memories: %w", err)
	}
	defer root.Close() //nolint:errcheck // only a handle
	var problems []error
	for _, key := range chats {
		list, err := store.Memories().Of(ctx, key)
		if err != nil {
			return written, err
		}
		folder := folderName(key)
		if err := root.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return written, fmt.Errorf("export memories: %w", err)
		}
		for _, m := range list {
			if err := write(ctx, store, root, folder, m); err != nil {
				problems = append(problems, err)
				continue
			}
			written++
		}
	}
	return written, errors.Join(problems...)
}

// write writes one document, in the place of what an earlier export has left of the memory.
func write(ctx context.Context, store *db.DB, root *os.Root, folder string, m db.Memory) error {
	name := path.Join(folder, fileName(m))
	old, err := fs.Glob(root.FS(), path.Join(folder, fmt.Sprintf("%04d-*.md", m.Number)))
	if err != nil {
		return err
	}
	for _, o := range old {
		doc, err := read(root.FS(), o)
		if err != nil {
			return fmt.Errorf("%s: %w", o, err)
		}
		there, err := Parse(doc)
		if err != nil || there.ID != m.ID {
			continue // somebody else's file; ours has another name, or none can be written
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
	if there, err := read(root.FS(), name); err == nil {
		if m2, err := Parse(there); err != nil || m2.ID != m.ID {
			return fmt.Errorf("%s: is not from here; it is in the way", name)
		}
	}
	const begun = ".unfinished"
	if err := root.WriteFile(name+begun, Format(m), 0o600); err != nil {
		return err
	}
	return root.Rename(name+begun, name)
}

// isEdited reports whether a document says something that the memory has said in no version.
func isEdited(ctx context.Context, store *db.DB, doc db.Memory) (bool, error) {
	doc, err := doc.Tidy()
	if err != nil {
		return true, nil
	}
	versions, err := store.Memories().Versions(ctx, doc.Key, doc.ID)
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(versions, func(v db.MemoryVersion) bool { return says(doc, v.Memory) }), nil
}

// says reports whether a document says the same as a version of its memory.
func says(doc, m db.Memory) bool {
	return doc.Text == m.Text && doc.Title == m.Title && doc.Scope == m.Scope && doc.Of == m.Of && doc.State == m.State &&
		slices.Equal(doc.Keywords, m.Keywords) && slices.Equal(doc.Sources, m.Sources)
}

// folderName is a safe name for a chat's folder, which no other chat has.
func folderName(key chat.Key) string {
	return cmp.Or(safepath.Slug(key.String(), 80), "memory") + "-" + key.Stable("")[:8]
}

// fileName is a safe name for a memory's document.
func fileName(m db.Memory) string {
	return fmt.Sprintf("%04d-%s.md", m.Number, cmp.Or(safepath.Slug(m.Title, 90), "memory"))
}

// Imported counts what an import came to.
type Imported struct {
	Added, Changed, Known int
}

// Import brings the documents in dir and the folders below into the store. Edited ones become new versions of their
// memories; what is known already changes nothing, and memories without a document stay. clean is applied to every text
// before it is stored. The errors about single documents, each with its name, are joined; the others are imported.
func Import(ctx context.Context, store *db.DB, dir string, clean func(string) string) (done Imported, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return done, fmt.Errorf("import memories: %w", err)
	}
	defer root.Close() //nolint:errcheck // only a handle
	var problems []error
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
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
		if err := done.take(ctx, store, root.FS(), name, clean); ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", name, err))
		}
		return nil
	})
	return done, errors.Join(append(problems, err)...)
}

// importer is who makes the changes of an import.
const importer = "import"

// Why an import has changed a memory.
const (
	NewDocument    = "new document"
	EditedDocument = "edited document"
)

// take imports one document.
func (done *Imported) take(ctx context.Context, store *db.DB, files fs.FS, name string, clean func(string) string) error {
	doc, err := read(files, name)
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
	if m.ID == "" { // written by hand: the file stands for the memory, from now on
		m.ID = uuid.NewSHA1(uuid.NameSpaceURL, []byte(m.Key.String()+"\n"+name)).String()
	}
	versions, err := store.Memories().Versions(ctx, m.Key, m.ID)
	switch {
	case errors.Is(err, db.ErrNotFound):
		if _, err := store.Memories().Save(ctx, m, db.Change{Who: importer, Why: NewDocument}); errors.Is(err, db.ErrNotFound) {
			return errors.New("its chat is not known here, or its id belongs to another one")
		} else if err != nil {
			return err
		}
		done.Added++
		return nil
	case err != nil:
		return err
	}
	now := versions[len(versions)-1]
	if now.Act == db.MemoryForgotten {
		return fmt.Errorf("%w: remove the line with its id to have it anew", db.ErrForgotten)
	}
	if outdated(m, versions) {
		done.Known++
		return nil
	}
	if !overtaken(m, versions) {
		m.Version = now.Version
	}
	saved, err := store.Memories().Save(ctx, m, db.Change{Who: importer, Why: EditedDocument})
	switch {
	case errors.Is(err, db.ErrChanged) && says(m, now.Memory):
		done.Known++
	case errors.Is(err, db.ErrChanged):
		return fmt.Errorf("%w: export it again and repeat your edit there", err)
	case err != nil:
		return err
	case saved.Version == now.Version:
		done.Known++
	default:
		done.Changed++
	}
	return nil
}

// outdated reports whether the document is as it was written, or imported, for an earlier version.
func outdated(doc db.Memory, versions []db.MemoryVersion) bool {
	return slices.ContainsFunc(versions[:len(versions)-1], func(v db.MemoryVersion) bool {
		return (doc.Version == 0 || doc.Version == v.Version) && says(doc, v.Memory)
	})
}

// overtaken reports whether the memory was changed, by something other than an import, since the document was written.
func overtaken(doc db.Memory, versions []db.MemoryVersion) bool {
	return doc.Version != 0 && slices.ContainsFunc(versions, func(v db.MemoryVersion) bool {
		return v.Version > doc.Version && v.By.Who != importer
	})
}

// read reads a document of bounded size.
func read(files fs.FS, name string) ([]byte, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // only read
	doc, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(doc) > largest {
		err = fmt.Errorf("it has more than %d bytes", largest)
	}
	return doc, err
}
