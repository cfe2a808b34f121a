package db

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Owner is the user who owns an app.
type Owner struct {
	App     string // the platform's ID of the app; users have a different ID for each app
	User    string
	Source  string // how it was found; "config" is kept for those of the configuration
	Message string // the platform's ID of the message with the code
	Since   time.Time
}

const selectFound = `SELECT user_id, source, message_id, since FROM owners WHERE app_id = ?1 AND source <> 'config'`

// Owner returns the stored owner of an app, or [ErrNotFound].
func (as Access) Owner(ctx context.Context, app string) (Owner, error) {
	found, err := queryAll(ctx, as.db.read, scanOwner, selectFound, app)
	if err != nil {
		return Owner{}, fmt.Errorf("owner of %s: %w", app, as.db.engine.Explain(err))
	} else if len(found) == 0 {
		return Owner{}, ErrNotFound
	}
	found[0].App = app
	return found[0], nil
}

func scanOwner(scan scanner) (o Owner, err error) {
	var since int64
	err = scan(&o.User, &o.Source, &o.Message, &since)
	o.Since = time.UnixMilli(since).UTC()
	return o, err
}

const insertFound = `INSERT INTO owners (app_id, user_id, source, message_id, since) VALUES (?1, ?2, ?3, ?4, ?5)
	ON CONFLICT (app_id, user_id) DO UPDATE SET source = excluded.source, message_id = excluded.message_id,
	since = excluded.since
		WHERE source = 'config'
	ON CONFLICT DO NOTHING`

// SetOwner stores an owner. It returns false and changes nothing if the app already has one.
func (as Access) SetOwner(ctx context.Context, owner Owner) (bool, error) {
	res, err := as.db.engine.Exec(
		ctx, insertFound, owner.App, owner.User, owner.Source, owner.Message, millis(as.db.now()),
	)
	if err != nil {
		return false, fmt.Errorf("store the owner of %s: %w", owner.App, err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// A user who has written to the bot before needs no welcome: a configured owner is welcomed only by a new database.
const insertConfigured = `INSERT INTO owners (app_id, user_id, source, since, welcomed_at)
	VALUES (?1, ?2, 'config', ?3, CASE WHEN EXISTS (SELECT 1 FROM messages) THEN ?3 ELSE 0 END) ON CONFLICT DO NOTHING`

const selectUnwelcomed = `SELECT COUNT(*) FROM owners WHERE app_id = ?1 AND user_id = ?2 AND welcomed_at = 0`

// NeedsWelcome reports whether an owner, found or configured, has not been welcomed yet.
func (as Access) NeedsWelcome(ctx context.Context, app, user string) (bool, error) {
	due := 0
	err := as.db.engine.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, insertConfigured, app, user, millis(as.db.now())); err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, selectUnwelcomed, app, user).Scan(&due)
	})
	if err != nil {
		return false, fmt.Errorf("welcome of the owner of %s: %w", app, err)
	}
	return due > 0, nil
}

const updateWelcomed = `UPDATE owners SET welcomed_at = ?3 WHERE app_id = ?1 AND user_id = ?2 AND welcomed_at = 0`

// MarkWelcomed records that an owner was welcomed.
func (as Access) MarkWelcomed(ctx context.Context, app, user string) error {
	if _, err := as.db.engine.Exec(ctx, updateWelcomed, app, user, millis(as.db.now())); err != nil {
		return fmt.Errorf("welcome of the owner of %s: %w", app, err)
	}
	return nil
}
