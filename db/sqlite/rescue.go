package sqlite

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"time"
)

// How often the files are checked while nothing is written, and how a lost database is saved.
const (
	guardEvery  = time.Second
	rescueAgain = 30 * time.Second
	rescueTime  = 10 * time.Minute // some 5 s per GB
)

// Guard watches the files of the database until ctx is done. If they are lost, it saves the content of the open file to
// a copy beside it, once, however long that takes. tell is called for every change: with a [*LostError], or nil when
// the files are back in place.
func (d *DB) Guard(ctx context.Context, tell func(error)) {
	tick := time.NewTicker(guardEvery)
	defer tick.Stop()
	g := guard{db: d, tell: tell}
	for {
		g.checkFiles(ctx)
		select {
		case <-tick.C:
		case <-d.files.notice:
		case <-ctx.Done():
			g.again = time.Time{} // the file ends with the program, so this is the last chance
			g.checkFiles(ctx)
			return
		}
	}
}

// guard is the state of a Guard.
type guard struct {
	db    *DB
	tell  func(error)
	lost  bool
	what  string    // the reported loss
	again time.Time // when to retry saving
}

// checkFiles reports each kind of loss once and tries to save the content, with pauses between attempts. It saves even
// during shutdown: the open files are the last copy.
func (g *guard) checkFiles(ctx context.Context) {
	files := g.db.files
	_ = files.check() // the result is in lost
	found := files.lost.Load()
	switch {
	case found == nil && g.lost:
		g.lost, g.what = false, ""
		g.tell(nil)
		return
	case found == nil:
		return
	case found.What.Error() != g.what:
		g.lost, g.what, g.again = true, found.What.Error(), time.Time{}
		g.tell(found)
	}
	if found.Overwritten || found.Rescued != "" || time.Now().Before(g.again) {
		return
	}
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), rescueTime)
	defer cancel()
	path, err := g.db.rescue(saving)
	g.again = time.Now().Add(rescueAgain)
	if saved := files.restoreFiles(path, err); saved != nil {
		g.tell(saved)
	}
}

// restoreFiles records the result of the attempt to save a lost database. It returns nil if the files are back in
// place.
func (o *openFiles) restoreFiles(path string, err error) *LostError {
	for {
		known := o.lost.Load()
		if known == nil {
			return nil
		}
		saved := *known
		saved.Rescued, saved.Err = path, err
		if o.lost.CompareAndSwap(known, &saved) {
			return &saved
		}
	}
}

// rescue copies the content of the open connection, whatever has happened to its file. It excludes writers, so nothing
// is acknowledged that the copy lacks.
func (d *DB) rescue(ctx context.Context) (path string, err error) {
	select {
	case d.writer.leading <- struct{}{}:
		defer func() { <-d.writer.leading }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	name := filepath.Base(d.path) + rescueMark + time.Now().UTC().Format(rescueTimeForm)
	path = filepath.Join(nearestExistingFolder(filepath.Dir(d.path)), name)
	err = writeCopy(path, func(tmp string) error {
		// VACUUM INTO reads through the open connection, so it works even for a file without a name.
		if _, err := d.write.ExecContext(ctx, "VACUUM INTO ?1", tmp); err != nil {
			return err
		}
		return d.checkCopy(ctx, tmp)
	})
	if err != nil {
		return "", explain(d.path, err)
	}
	return path, nil
}

// checkCopy reads the whole copy. Damage to derived data is ignored, because the next start rebuilds it.
func (d *DB) checkCopy(ctx context.Context, path string) error {
	pool, err := connect(ctx, path, 1, url.Values{"mode": {"ro"}, "immutable": {"1"}, "_query_only": {"1"}}, nil)
	if err != nil {
		return err
	}
	err = integrity(ctx, pool, path, "PRAGMA integrity_check(10)")
	if d.options.Derived(err) {
		err = nil
	}
	return errors.Join(err, pool.Close())
}
