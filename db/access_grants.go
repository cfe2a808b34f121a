package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/internal/chat"
)

// Grant is a decision made in the chat about the access of a user, or of everyone in a chat.
type Grant struct {
	Subject string // the platform's ID of the user or the chat
	Allowed bool   // otherwise it is ignored, once it is decided
	Name    string
	Key     chat.Key // the chat of the request; zero = there was no request
	Message string   // the message of the request; empty = there was nobody to ask
	Card    string   // the card of the request; empty = none yet
	By      string   // who decided
	Asked   time.Time
	Decided time.Time // zero = it waits for a decision
}

// Access stores what people may do and what it costs: the owner of each app, the decisions about access that were made
// in chats, not in the configuration, approvals with the rules that "always" has made, and what was spent.
type Access struct{ db *DB }

// Access returns the decisions in the database.
func (d *DB) Access() Access { return Access{d} }

// A program is let in as long as its token has not expired: in chats of its own, or in the one that was given to it, which
// may be of another door.
const isAllowed = `SELECT EXISTS (SELECT 1 FROM grants WHERE state = 'allowed' AND (subject = ?1 OR subject = ?2 AND ?3 = 1)
	AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.id = ?1 AND (t.expires_at > 0 AND t.expires_at <= ?4 OR t.chat NOT IN ('', ?2)))
	AND (?3 = 1 OR EXISTS (SELECT 1 FROM tokens t WHERE t.id = ?1 AND t.chat = ?2)))`

// Allow reports whether a user was granted access to a chat, or everyone there was.
func (as Access) Allow(ctx context.Context, user string, key chat.Key) (bool, error) {
	var yes bool
	row := as.db.read.QueryRowContext(ctx, isAllowed, user, key.Room(), key.Owns(user), millis(as.db.now()))
	if err := row.Scan(&yes); err != nil {
		return false, fmt.Errorf("look up a grant: %w", err)
	}
	return yes, nil
}

// Intervals between requests for access by the same person. A request without a card was probably never seen, so it may
// be repeated earlier; one that had no approver is repeated as soon as there is one.
const (
	askAgain  = 24 * time.Hour
	askUnseen = 10 * time.Minute
)

const ask = `INSERT INTO grants (subject, state, name, chat_key, message_id, asked_at)
	VALUES (?1, 'asked', ?2, ?3, ?4, ?5)
	ON CONFLICT (subject) DO UPDATE SET state = 'asked', name = excluded.name, chat_key = excluded.chat_key,
	message_id = excluded.message_id, card_id = '', decided_by = '', asked_at = excluded.asked_at, decided_at = 0
	WHERE NOT EXISTS (SELECT 1 FROM outbox WHERE subject = excluded.subject)
	AND (grants.state = 'ignored' AND grants.asked_at <= ?6
		OR grants.state = 'asked' AND grants.card_id = '' AND (grants.asked_at <= ?7 OR grants.message_id = ''))`

const lastAsked = `SELECT asked_at FROM grants WHERE subject = ?1`

// RequestAccess stores a request for access and enqueues its notices. The person who asks gets a reply at most
// once a day; that reply is not the card of the request. It reports false and changes nothing if the
// request was decided, is waiting for a decision, was made less than a day ago, or has no notices left.
func (as Access) RequestAccess(ctx context.Context, who Grant, tell ...Post) (fresh bool, err error) {
	err = as.db.tx(ctx, grantLocks(who.Subject, tell), func(ctx context.Context, tx *sql.Tx) error {
		fresh = false
		now := as.db.now()
		var last int64
		err := tx.QueryRowContext(ctx, lastAsked, who.Subject).Scan(&last)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		// Only the cards for the approver remain; the person has already had a reply today.
		due := tell
		if err == nil && last > millis(now.Add(-askAgain)) {
			due = slices.DeleteFunc(slices.Clone(tell), func(p Post) bool { return p.Grant == "" })
			if len(due) == 0 {
				return nil
			}
		}
		fresh, err = rowsChanged(tx.ExecContext(
			ctx, ask, who.Subject, who.Name, who.Key.String(), who.Message, millis(now),
			millis(now.Add(-askAgain)), millis(now.Add(-askUnseen))))
		if err != nil || !fresh {
			return err
		}
		return as.enqueueNotices(ctx, tx, due)
	})
	if err != nil {
		return false, fmt.Errorf("ask for access: %w", err)
	}
	return fresh, nil
}

// grantLocks are the locks for a decision about a subject, and for the notices about it.
func grantLocks(subject string, tell []Post) locks {
	l := locks{names: []string{grantName(subject)}}
	for _, p := range tell {
		l.chats = append(l.chats, p.Key)
	}
	return l
}

func grantName(subject string) string { return "grant " + subject }

// enqueueNotices enqueues the notices.
func (as Access) enqueueNotices(ctx context.Context, tx *sql.Tx, list []Post) error {
	for _, p := range list {
		if err := as.db.Outbox().post(ctx, tx, p); err != nil {
			return err
		}
	}
	return nil
}

// Grant returns the decision about a subject, or [ErrNotFound].
func (as Access) Grant(ctx context.Context, subject string) (Grant, error) {
	who, err := scanGrant(as.db.read.QueryRowContext(ctx, selectGrants+` WHERE subject = ?1`, subject).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return Grant{}, ErrNotFound
	} else if err != nil {
		return Grant{}, fmt.Errorf("look up a grant: %w", err)
	}
	return who, nil
}

const decideGrant = `UPDATE grants SET state = ?2, decided_by = ?3, decided_at = ?4
	WHERE subject = ?1 AND state = 'asked'`

// DecideGrant answers a request, and enqueues the notices about it. It returns [ErrNotFound] if the request is not
// waiting.
func (as Access) DecideGrant(ctx context.Context, subject string, allowed bool, by string, tell ...Post) error {
	state := "ignored"
	if allowed {
		state = "allowed"
	}
	err := as.db.tx(ctx, grantLocks(subject, tell), func(ctx context.Context, tx *sql.Tx) error {
		waited, err := rowsChanged(tx.ExecContext(ctx, decideGrant, subject, state, by, millis(as.db.now())))
		if err == nil && !waited {
			err = ErrNotFound
		}
		if err != nil {
			return err
		}
		return as.enqueueNotices(ctx, tx, tell)
	})
	if err != nil {
		return fmt.Errorf("decide about access: %w", err)
	}
	return nil
}

// rowsChanged reports whether a statement has changed any row.
func rowsChanged(res sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}

const letIn = `INSERT INTO grants (subject, state, name, decided_by, decided_at) VALUES (?1, 'allowed', ?2, ?3, ?4)
	ON CONFLICT (subject) DO UPDATE SET
	state = 'allowed', decided_by = excluded.decided_by, decided_at = excluded.decided_at,
	name = CASE WHEN excluded.name = '' THEN grants.name ELSE excluded.name END`

const revoke = `DELETE FROM grants WHERE subject = ?1`

// grantColumns has the order of scanGrant.
const grantColumns = `subject, state, name, chat_key, message_id, card_id, decided_by, asked_at, decided_at`

const selectGrants = `SELECT ` + grantColumns + ` FROM grants`

// Grants lists decisions and open requests, newest first.
func (as Access) Grants(ctx context.Context) ([]Grant, error) {
	list, err := queryAll(ctx, as.db.read, scanGrant, selectGrants+`
		ORDER BY CASE WHEN asked_at > decided_at THEN asked_at ELSE decided_at END DESC, subject`)
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	return list, nil
}

func scanGrant(scan scanner) (Grant, error) {
	var one Grant
	var key, state string
	var asked, decided int64
	err := scan(&one.Subject, &state, &one.Name, &key, &one.Message, &one.Card, &one.By, &asked, &decided)
	if err != nil {
		return Grant{}, err
	}
	one.Allowed, one.Asked, one.Decided = state == "allowed", fromMillis(asked), fromMillis(decided)
	if key != "" {
		one.Key, err = chat.ParseKey(key)
	}
	return one, err
}

// Owner is the user who owns an app.
type Owner struct {
	App     string // the platform's ID of the app; users have a different ID for each app
	User    string
	Source  string // how it was found; "config" is kept for those of the configuration
	Message string // the platform's ID of the message with the code
	Since   time.Time
}

const selectOwners = `SELECT user_id, source, message_id, since FROM owners WHERE app_id = ?1`

const selectFound = selectOwners + ` AND source <> 'config'`

// Owner returns the stored owner of an app, or [ErrNotFound]: who was found, or with configured the first one that was
// found or configured.
func (as Access) Owner(ctx context.Context, app string, configured bool) (Owner, error) {
	query := selectFound
	if configured {
		query = selectOwners + ` ORDER BY since, user_id`
	}
	found, err := queryAll(ctx, as.db.read, scanOwner, query, app)
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

const insertFound = `INSERT INTO owners (app_id, user_id, source, message_id, since) SELECT ?1, ?2, ?3, ?4, ?5
	WHERE NOT EXISTS (SELECT 1 FROM owners WHERE app_id = ?1 AND source <> 'config')
	ON CONFLICT (app_id, user_id) DO UPDATE SET source = excluded.source, message_id = excluded.message_id,
	since = excluded.since
		WHERE owners.source = 'config'`

// ownersOf names the owners of an app.
func ownersOf(app string) string { return "owners " + app }

// SetOwner stores an owner. It returns false and changes nothing if the app already has one.
func (as Access) SetOwner(ctx context.Context, owner Owner) (bool, error) {
	res, err := as.db.namedExec(
		ctx, ownersOf(owner.App), insertFound, owner.App, owner.User, owner.Source, owner.Message, millis(as.db.now()),
	)
	if err != nil {
		return false, fmt.Errorf("store the owner of %s: %w", owner.App, err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// A user who has written to the bot before needs no welcome: a configured owner is welcomed only by a new database.
const insertConfigured = `INSERT INTO owners (app_id, user_id, source, since, welcomed_at)
	VALUES (?1, ?2, 'config', CAST(?3 AS BIGINT),
	CASE WHEN EXISTS (SELECT 1 FROM messages) THEN CAST(?3 AS BIGINT) ELSE 0 END) ON CONFLICT DO NOTHING`

const selectUnwelcomed = `SELECT COUNT(*) FROM owners WHERE app_id = ?1 AND user_id = ?2 AND welcomed_at = 0`

// NeedsWelcome reports whether an owner, found or configured, has not been welcomed yet.
func (as Access) NeedsWelcome(ctx context.Context, app, user string) (bool, error) {
	due := 0
	err := as.db.namedTx(ctx, ownersOf(app), func(ctx context.Context, tx *sql.Tx) error {
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
	_, err := as.db.namedExec(ctx, ownersOf(app), updateWelcomed, app, user, millis(as.db.now()))
	if err != nil {
		return fmt.Errorf("welcome of the owner of %s: %w", app, err)
	}
	return nil
}
