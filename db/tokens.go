package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"magpie/internal/chat"
)

// Tokens stores who may ask over HTTP: programs, each with a token, and what they call their chats.
type Tokens struct{ db *DB }

// Tokens returns the tokens in the database.
func (d *DB) Tokens() Tokens { return Tokens{d} }

// Token is what a program is known by.
type Token struct {
	ID      string // never used again
	Name    string // as its operator calls it
	Hash    string // of the secret, which nobody keeps; not listed
	Project string // in which its chats begin; empty = the default one
	Created time.Time
	Expires time.Time // zero = never
}

// Actor is the ID of whoever asks with the token.
func (t Token) Actor() string { return chat.HTTP + ":" + t.ID }

const (
	selectTokens = `SELECT id, name, project, created_at, expires_at FROM tokens`
	hasToken     = `SELECT COUNT(*) FROM tokens WHERE name = ?1`
	insertToken  = `INSERT INTO tokens (id, name, hash, project, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)`
	// A token lets its program in, like the decision of an admin, who may take it back.
	admitToken  = `INSERT INTO grants (subject, state, name, asked_at, decided_at) VALUES (?1, 'allowed', ?2, ?3, ?3)`
	tokenNamed  = `SELECT id FROM tokens WHERE name = ?1`
	deleteToken = `DELETE FROM tokens WHERE id = ?1`
	deleteRooms = `DELETE FROM rooms WHERE token = ?1`
	deleteGrant = `DELETE FROM grants WHERE subject = ?1`
)

// theTokens names what a transaction about their names needs.
const theTokens = "tokens"

// ErrTaken means that there is something of that name.
var ErrTaken = errors.New("the name is taken")

// Add stores a token, unless one of that name is there: [ErrTaken].
func (ts Tokens) Add(ctx context.Context, t Token) error {
	err := ts.db.namedTx(ctx, theTokens, func(ctx context.Context, tx *sql.Tx) error {
		if n, err := queryOne(ctx, tx, scanNumber, hasToken, t.Name); err != nil {
			return err
		} else if n > 0 {
			return ErrTaken
		}
		created := millis(t.Created)
		_, err := tx.ExecContext(ctx, insertToken, t.ID, t.Name, t.Hash, t.Project, created, millis(t.Expires))
		if err == nil {
			_, err = tx.ExecContext(ctx, admitToken, t.Actor(), t.Name, created)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("add the token %q: %w", t.Name, err)
	}
	return nil
}

// Revoke deletes a token, which lets nobody in from then on, or returns [ErrNotFound]. The chats stay in the History.
func (ts Tokens) Revoke(ctx context.Context, name string) error {
	err := ts.db.namedTx(ctx, theTokens, func(ctx context.Context, tx *sql.Tx) error {
		id, err := queryOne(ctx, tx, scanText, tokenNamed, name)
		if err != nil {
			return err
		}
		for statement, of := range map[string]string{deleteToken: id, deleteRooms: id, deleteGrant: Token{ID: id}.Actor()} {
			if _, err := tx.ExecContext(ctx, statement, of); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("revoke the token %q: %w", name, err)
	}
	return nil
}

// List lists the tokens, oldest first.
func (ts Tokens) List(ctx context.Context) ([]Token, error) {
	list, err := queryAll(ctx, ts.db.read, scanToken, selectTokens+` ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("list the tokens: %w", err)
	}
	return list, nil
}

// Find returns the token with that hash, or [ErrNotFound], also if it has expired.
func (ts Tokens) Find(ctx context.Context, hash string) (Token, error) {
	t, err := queryOne(ctx, ts.db.read, scanToken, selectTokens+` WHERE hash = ?1`, hash)
	if err == nil && !t.Expires.IsZero() && !ts.db.now().Before(t.Expires) {
		return Token{}, ErrNotFound
	} else if err != nil && !errors.Is(err, ErrNotFound) {
		return Token{}, fmt.Errorf("find a token: %w", err)
	}
	return t, err
}

func scanToken(scan scanner) (t Token, err error) {
	var created, expires int64
	err = scan(&t.ID, &t.Name, &t.Project, &created, &expires)
	t.Created, t.Expires = fromMillis(created), fromMillis(expires)
	return t, err
}

const (
	selectRoom = `SELECT chat_key FROM rooms WHERE token = ?1 AND name = ?2`
	nameRoom   = `INSERT INTO rooms (token, name, chat_key) VALUES (?1, ?2, ?3)
		ON CONFLICT (token, name) DO UPDATE SET chat_key = excluded.chat_key`
	// Where somebody has written before, it has its own settings.
	openRoom = `INSERT INTO chats (no, key, kind, title, settings) VALUES (` + nextChat + `, ?1, 'p2p', ?2, ?3)
		ON CONFLICT (key) DO NOTHING`
)

// Room is the chat that a program calls by the first known one of these names, or else fresh, where nobody has written yet.
// From now on it has the names of also as well.
func (ts Tokens) Room(ctx context.Context, t Token, names, also []string, fresh chat.Key) (key chat.Key, err error) {
	settings, err := changeStored("{}", Settings{}, Settings{Project: t.Project})
	if err != nil {
		return chat.Key{}, err
	}
	l := locks{names: []string{"token " + t.ID}, chats: []chat.Key{fresh}}
	err = ts.db.tx(ctx, l, func(ctx context.Context, tx *sql.Tx) error {
		key = chat.Key{}
		for _, name := range names {
			s, err := queryOne(ctx, tx, scanText, selectRoom, t.ID, name)
			if err == nil {
				key, err = chat.ParseKey(s)
			} else if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			break
		}
		if key == (chat.Key{}) {
			key = fresh
			if _, err := tx.ExecContext(ctx, openRoom, key.String(), t.Name, settings); err != nil {
				return err
			}
		}
		for _, name := range also {
			if _, err := tx.ExecContext(ctx, nameRoom, t.ID, name, key.String()); err != nil {
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

const ownsRoom = `SELECT COUNT(*) FROM rooms WHERE token = ?1 AND chat_key = ?2`

// Owns reports whether a chat is one of the program's own.
func (ts Tokens) Owns(ctx context.Context, t Token, key chat.Key) (bool, error) {
	n, err := queryOne(ctx, ts.db.read, scanNumber, ownsRoom, t.ID, key.String())
	if err != nil {
		return false, fmt.Errorf("chat of the token %q: %w", t.Name, err)
	}
	return n > 0, nil
}
