package doctor

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/bridge"
	"magpie/db"
	"magpie/db/engine"
	"magpie/db/sqlite"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// readTimeout limits a read of the whole database, which takes some seconds per GB on a good disk.
const readTimeout = 5 * time.Minute

// checkDatabase checks whether the database can be read and is intact, even while a service uses it.
func checkDatabase(ctx context.Context, r *Report, c config.Config) {
	// A wrong URL is reported with the configuration.
	if c.DB.Validate() != nil {
		return
	}
	if !c.DB.DSN().IsFile() {
		checkServer(ctx, r, c.DBConfig())
		if name, err := c.NodeName(); err == nil && c.Node == "" && temporaryName.MatchString(name) {
			r.AddFinding(Warn, r.text(i18n.DoctorSetNode), i18n.DoctorHostName, name)
		}
		return
	}
	path := c.DB.DSN().File()
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		checkMissingDatabase(r, c.DB, path)
		return
	}
	if unread := unreadable(path); unread != nil && errors.Is(unread, fs.ErrPermission) {
		r.AddFinding(Fail, explainUnread(r, unread), i18n.DoctorDBBroken, unread)
		return
	}
	// A check of a large database may take long; doctor must come to an end.
	reads, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var corrupt *sqlite.CorruptError
	switch err := readDatabase(reads, c.DB); {
	case errors.Is(err, engine.ErrEmpty):
		checkEmptyDatabase(r, c.DB, path)
		return
	case errors.Is(err, engine.ErrForeign):
		r.AddFinding(Fail, r.text(i18n.DoctorOtherDB), i18n.DoctorDBBroken, err)
		return
	case errors.As(err, &corrupt):
		r.AddFinding(Fail, r.text(i18n.DoctorRestore), i18n.DoctorDBBroken, err)
		return
	case err != nil && reads.Err() != nil:
		r.AddFinding(Warn, r.text(i18n.DoctorCheckCopy), i18n.DoctorDBSlow, path, readTimeout)
		return
	case err != nil:
		r.AddFinding(Fail, r.text(i18n.DoctorMayRead), i18n.DoctorDBUnread, path, err)
		return
	}
	reportWhole(r, c.DB, path)
	checkRows(reads, r, c.DB, path)
}

// reportWhole reports that the database is intact, and who uses it on this machine.
func reportWhole(r *Report, c db.Config, place string) {
	switch pid := servingPID(c); {
	case pid != 0:
		r.AddFinding(OK, "", i18n.DoctorDBServed, place, pid)
	case c.DSN().IsFile():
		r.AddFinding(OK, "", i18n.DoctorDBWhole, place)
	default:
		r.AddFinding(OK, "", i18n.DoctorDBWholeHere, place)
	}
}

// checkServer checks whether the database in PostgreSQL can be reached and used.
func checkServer(ctx context.Context, r *Report, c db.Config) {
	reads, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	switch err := readDatabase(reads, c); {
	case errors.Is(err, engine.ErrEmpty):
		r.AddFinding(OK, "", i18n.DoctorDBLater, c.DSN())
		return
	case err != nil:
		r.AddFinding(Fail, r.text(i18n.DoctorReachDB), i18n.DoctorDBUnread, c.DSN(), err)
		return
	}
	reportWhole(r, c, c.DSN().String())
	if err := unwritable(existingParent(c.Data)); err != nil && servingPID(c) == 0 {
		r.AddFinding(Fail, r.text(i18n.DoctorMayWriteData), i18n.DoctorDataUnwritable, c.Data, err)
	}
	if c.DSN().IsOpen() {
		r.AddFinding(Warn, r.text(i18n.DoctorDemandPassword), i18n.DoctorDBOpen, c.DSN())
	}
	checkRows(reads, r, c, c.DSN().String())
}

// temporaryName matches host names that say nothing: a container has another one each time it is created.
var temporaryName = regexp.MustCompile(`^([0-9a-f]{12}|localhost.*)$`)

// unreadable is why a file cannot be opened for reading; nil = it can.
func unreadable(path string) *fs.PathError {
	f, err := os.Open(path)
	if err == nil {
		_ = f.Close() // it was only opened
		return nil
	}
	var unread *fs.PathError
	if !errors.As(err, &unread) {
		return &fs.PathError{Path: path, Err: err}
	}
	return unread
}

// maxNamedRows is how many unreadable rows are listed.
const maxNamedRows = 10

// checkRows lists rows of the database that cannot be decoded.
func checkRows(ctx context.Context, r *Report, c db.Config, path string) {
	store, err := db.OpenReadOnly(ctx, c)
	if err != nil {
		r.AddFinding(Warn, r.text(i18n.DoctorMayRead), i18n.DoctorDBUnread, path, err)
		return
	}
	defer store.Close() //nolint:errcheck // it was only read
	if store.CheckSchema(ctx) != nil {
		return // an older schema; its rows can be read once the bridge has started
	}
	checkBridges(ctx, r, store, c)
	checkSilenced(ctx, r, store)
	checkUndelivered(ctx, r, store)
	rows, err := store.Messages().Unreadable(ctx)
	if err != nil {
		r.AddFinding(Warn, r.text(i18n.DoctorMayRead), i18n.DoctorDBUnread, path, err)
		return
	}
	if len(rows) == 0 {
		return
	}
	var names []string
	for _, row := range rows[:min(len(rows), maxNamedRows)] {
		names = append(names, row.String())
	}
	if len(rows) > maxNamedRows {
		names = append(names, "…")
	}
	do := r.text(i18n.DoctorCorrectRows, path)
	if !c.DSN().IsFile() {
		do = r.text(i18n.DoctorCorrectInServer, path)
	}
	r.AddFinding(Warn, do, i18n.DoctorRowsUnread, len(rows), strings.Join(names, "; "))
}

// checkBridges names the bridges that share the database, wherever they run, and says whether this machine's may be one of
// them.
func checkBridges(ctx context.Context, r *Report, store *db.DB, c db.Config) {
	if c.DSN().IsFile() {
		return
	}
	list, err := store.Bridges(ctx)
	if err != nil {
		r.AddFinding(Warn, "", i18n.DoctorDBUnread, c.DSN(), err)
		return
	}
	var names []string
	for _, b := range list {
		if b.Living {
			names = append(names, b.Name)
		}
	}
	if len(names) > 0 {
		r.AddFinding(OK, "", i18n.DoctorBridges, len(names), strings.Join(names, ", "))
	}
	switch pid, lives := servingPID(c), slices.Contains(names, c.Node); {
	case lives && pid == 0:
		r.AddFinding(Warn, r.text(i18n.DoctorOtherNode), i18n.DoctorNodeTaken, c.Node, c.Data)
	case !lives && pid != 0:
		r.AddFinding(Warn, r.text(i18n.DoctorStartAgain), i18n.DoctorNodeMissing, c.Data, pid, c.Node)
	}
}

// checkSilenced lists chats in which the platform does not let the bot write.
func checkSilenced(ctx context.Context, r *Report, store *db.DB) {
	list, err := store.Chats().Silenced(ctx)
	if err != nil {
		r.AddFinding(Warn, "", i18n.DoctorSilencedUnread, err)
		return
	}
	for _, s := range list[:min(len(list), maxNamedRows)] {
		r.AddFinding(Warn, r.text(i18n.DoctorLetSpeak), i18n.DoctorSilenced,
			cmp.Or(s.Title, s.Key.String()), s.Since.Format(time.DateTime), s.Why)
	}
}

// checkUndelivered reports messages that the platform does not take for now.
func checkUndelivered(ctx context.Context, r *Report, store *db.DB) {
	list, err := store.Outbox().Undelivered(ctx)
	if err != nil {
		r.AddFinding(Warn, "", i18n.DoctorUndeliveredUnread, err)
		return
	}
	for _, u := range list {
		r.AddFinding(Warn, bridge.ObstacleIn(u.Obstacle, r.Lang), i18n.DoctorUndelivered, u.Posts,
			u.Since.Format(time.DateTime), u.Why)
	}
}

// checkEmptyDatabase reports why nothing is in the database: Magpie has not set it up yet, or its content was lost.
func checkEmptyDatabase(r *Report, c db.Config, path string) {
	if copies, err := c.DSN().RescuedCopies(); err != nil || len(copies) > 0 {
		checkMissingDatabase(r, c, path)
		return
	}
	r.AddFinding(Warn, r.text(i18n.DoctorFillEmpty), i18n.DoctorDBEmpty, path)
}

// checkMissingDatabase reports why there is no database: none was created yet, or one was lost.
func checkMissingDatabase(r *Report, c db.Config, path string) {
	copies, err := c.DSN().RescuedCopies()
	switch pid := servingPID(c); {
	case err != nil:
		r.AddFinding(Fail, r.text(i18n.DoctorMayRead), i18n.DoctorDBUnread, path, err)
	case len(copies) > 0:
		last := copies[len(copies)-1]
		r.AddFinding(Fail, r.text(i18n.DoctorPutBack, path, last), i18n.DoctorDBRescued, path, last)
	case pid != 0:
		r.AddFinding(Fail, r.text(i18n.DoctorSeeLog), i18n.DoctorDBLost, path, pid)
	default:
		if err := unwritable(existingParent(filepath.Dir(path))); err != nil {
			r.AddFinding(Fail, r.text(i18n.DoctorMayWrite), i18n.DoctorDBUncreated, path, err)
			return
		}
		r.AddFinding(OK, "", i18n.DoctorDBLater, path)
	}
}

// readDatabase reads the whole database.
func readDatabase(ctx context.Context, c db.Config) error {
	store, err := db.OpenReadOnly(ctx, c)
	if err != nil {
		return err
	}
	return errors.Join(store.Check(ctx), store.Close())
}

// servingPID returns the process of this machine that serves the database, 0 if none does. It does not try the lock: the lock file
// outlives the lock, and trying could make a bridge fail that starts at this moment.
func servingPID(c db.Config) int {
	path := c.DSN().LockFile()
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid <= 0 {
		return 0
	}
	if !holdsLock(pid, path) {
		return 0
	}
	return pid
}
