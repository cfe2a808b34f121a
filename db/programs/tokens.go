// Package programs stores what programs that ask over HTTP need: their tokens, what they call their chats, what was shown
// to them, and what becomes of their messages.
//
// It does not know what HTTP is.
package programs

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"magpie/db/engine"
	"magpie/internal/chat"
)

// Store is a part of the database.
type Store struct {
	// Tx runs f in a write transaction that holds the lock of a name.
	Tx func(ctx context.Context, name string, f func(ctx context.Context, tx *sql.Tx) error) error
	// Readers are connections that see committed data.
	Readers *sql.DB
	Now     func() time.Time
	// Open makes a chat that nobody has written in, with a title and a project.
	Open func(ctx context.Context, tx *sql.Tx, key chat.Key, title, project string) error
	// History lists the latest messages of a chat, oldest first.
	History func(ctx context.Context, key chat.Key, most int) ([]chat.Message, error)
}

// Errors about tokens.
var (
	ErrTaken   = errors.New("the name is taken")
	ErrUnknown = errors.New("there is no such token")
	ErrDenied  = errors.New("an admin has denied the token access")
)

// Token is what a program is known by.
type Token struct {
	ID      string // of the program, as of a person who asks; never used again
	Name    string // as its operator calls it
	Hash    string // of the secret, which nobody keeps; not listed
	Project string // in which its chats begin; empty = the default one
	Created time.Time
	Expires time.Time // zero = never
	Chat    string    // in which it asks, as [chat.Key.Room] names it; empty = chats of its own
	Person  string    // who decides what its agent may do, by ID; empty = the program itself
	Runs    string    // the schedule that it runs, as [schedules.Schedule.Ref] names it, and nothing else; empty = it asks whatever it likes
}

const (
	selectTokens = `SELECT id, name, project, created_at, expires_at, runs, person, chat FROM tokens`
	insertToken  = `INSERT INTO tokens (id, name, hash, project, created_at, expires_at, runs, person, chat) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
		ON CONFLICT (name) DO NOTHING`
	// A token lets its program in, like the decision of an admin, who may take it back.
	admitToken  = `INSERT INTO grants (subject, state, name, asked_at, decided_at) VALUES (?1, 'allowed', ?2, ?3, ?3)`
	isAdmitted  = `SELECT EXISTS (SELECT 1 FROM grants WHERE subject = ?1 AND state = 'allowed')`
	tokenNamed  = `SELECT id FROM tokens WHERE name = ?1`
	deleteToken = `DELETE FROM tokens WHERE id = ?1`
	deleteRooms = `DELETE FROM rooms WHERE token = ?1`
	deleteGrant = `DELETE FROM grants WHERE subject = ?1`
)

// theTokens is the lock for their names.
const theTokens = "tokens"

// Add stores a token, unless one of that name is there: [ErrTaken].
func (s Store) Add(ctx context.Context, t Token) error {
	err := s.Tx(ctx, theTokens, func(ctx context.Context, tx *sql.Tx) error {
		created, expires := t.Created.UnixMilli(), int64(0)
		if !t.Expires.IsZero() {
			expires = t.Expires.UnixMilli()
		}
		res, err := tx.ExecContext(ctx, insertToken, t.ID, t.Name, t.Hash, t.Project, created, expires, t.Runs, t.Person, t.Chat)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil {
			return err
		} else if n == 0 {
			return ErrTaken
		}
		_, err = tx.ExecContext(ctx, admitToken, t.ID, t.Name, created)
		return err
	})
	if err != nil {
		return fmt.Errorf("add the token %q: %w", t.Name, err)
	}
	return nil
}

// Revoke deletes a token, which lets nobody in from then on, or returns [ErrUnknown]. The chats stay in the History.
func (s Store) Revoke(ctx context.Context, name string) error {
	err := s.Tx(ctx, theTokens, func(ctx context.Context, tx *sql.Tx) error {
		var id string
		err := tx.QueryRowContext(ctx, tokenNamed, name).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrUnknown
		}
		for _, statement := range []string{deleteToken, deleteRooms, deleteGrant} {
			if err == nil {
				_, err = tx.ExecContext(ctx, statement, id)
			}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("revoke the token %q: %w", name, err)
	}
	return nil
}

// List lists the tokens, oldest first.
func (s Store) List(ctx context.Context) ([]Token, error) {
	return engine.All(ctx, s.Readers, what, scanToken, selectTokens+` ORDER BY created_at, id`)
}

// Find returns the token with that hash, or [ErrUnknown], also if it has expired, or [ErrDenied].
func (s Store) Find(ctx context.Context, hash string) (Token, error) {
	t, err := s.token(ctx, selectTokens+` WHERE hash = ?1`, hash)
	if err == nil && !t.Expires.IsZero() && !s.Now().Before(t.Expires) {
		err = ErrUnknown
	}
	if err != nil {
		return Token{}, err
	}
	var in bool
	if err := s.Readers.QueryRowContext(ctx, isAdmitted, t.ID).Scan(&in); err != nil {
		return Token{}, fmt.Errorf("look up the token %q: %w", t.Name, err)
	} else if !in {
		_, err := s.token(ctx, selectTokens+` WHERE hash = ?1`, hash) // or it was revoked in between
		return Token{}, cmp.Or(err, ErrDenied)
	}
	return t, nil
}

func scanToken(rows *sql.Rows) (t Token, err error) {
	var created, expires int64
	err = rows.Scan(&t.ID, &t.Name, &t.Project, &created, &expires, &t.Runs, &t.Person, &t.Chat)
	if t.Created = time.UnixMilli(created).UTC(); expires != 0 {
		t.Expires = time.UnixMilli(expires).UTC()
	}
	return t, err
}

const (
	selectRoom = `SELECT chat_key FROM rooms WHERE token = ?1 AND name = ?2`
	nameRoom   = `INSERT INTO rooms (token, name, chat_key, named_at) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT (token, name) DO UPDATE SET chat_key = excluded.chat_key, named_at = excluded.named_at`
	// Each chat keeps the name with which it was opened.
	forgetRooms = `DELETE FROM rooms WHERE named_at < ?1 AND name < ?2 AND name >= ?3`
)

// Passing begins the names of chats that are forgotten after a while.
const Passing = "passing "

// Named is the chat of that name; the zero key if there is none.
func (s Store) Named(ctx context.Context, t Token, name string) (key chat.Key, err error) {
	return roomNamed(ctx, s.Readers, t, name)
}

func roomNamed(ctx context.Context, from engine.Querier, t Token, name string) (key chat.Key, err error) {
	return engine.One(ctx, from, what, nil, func(rows *sql.Rows) (key chat.Key, err error) {
		var stored string
		if err = rows.Scan(&stored); err == nil {
			key, err = chat.ParseKey(stored)
		}
		return key, err
	}, selectRoom, t.ID, name)
}

// Room is the chat that a program calls by the first known one of these names, or else fresh, where nobody has written yet.
// From now on it has the names of also as well.
func (s Store) Room(ctx context.Context, t Token, names, also []string, fresh chat.Key) (key chat.Key, err error) {
	if t.Chat != "" {
		return chat.ParseRoom(t.Chat)
	}
	err = s.Tx(ctx, "rooms of "+t.ID, func(ctx context.Context, tx *sql.Tx) error {
		key = chat.Key{}
		for i := 0; i < len(names) && key == (chat.Key{}); i++ {
			if key, err = roomNamed(ctx, tx, t, names[i]); err != nil {
				return err
			}
		}
		also := also
		if key == (chat.Key{}) {
			key, also = fresh, append(slices.Clip(also), "opened as "+fresh.ID)
			if err := s.Open(ctx, tx, key, t.Name, t.Project); err != nil {
				return err
			}
		}
		for _, name := range also {
			if _, err := tx.ExecContext(ctx, nameRoom, t.ID, name, key.String(), s.Now().UnixMilli()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return chat.Key{}, fmt.Errorf("chat of the token %q: %w", t.Name, err)
	}
	return key, nil
}

const ownsRoom = `SELECT EXISTS (SELECT 1 FROM rooms WHERE token = ?1 AND chat_key = ?2)`

// Owns reports whether a chat is one of the program's own.
func (s Store) Owns(ctx context.Context, t Token, key chat.Key) (yes bool, err error) {
	if t.Chat != "" {
		return t.Chat == key.String() || t.Chat == key.Room() && key.Thread == "", nil
	}
	if err := s.Readers.QueryRowContext(ctx, ownsRoom, t.ID, key.String()).Scan(&yes); err != nil {
		return false, fmt.Errorf("chat of the token %q: %w", t.Name, err)
	}
	return yes, nil
}

// what its errors are about.
const what = "what belongs to programs"
