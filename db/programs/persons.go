package programs

import (
	"context"
	"database/sql"
	"fmt"

	"magpie/db/engine"
	"magpie/internal/chat"
)

// Asked is a card with which the person of a program is asked what its agent may do.
type Asked struct {
	Card  string // its durable ID, at the person's door
	Token string // the program, by ID
	Key   chat.Key
	ID    string // what the program is shown of it
}

const (
	insertAsked = `INSERT INTO persons_asked (message, card, token, chat_key, id) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING`
	selectAsked = `SELECT card, token, chat_key, id FROM persons_asked`
	askedBy     = selectAsked + ` WHERE message = ?1`
	askedOf     = selectAsked + ` WHERE chat_key = ?1 AND id = ?2 LIMIT 1`
	forgetAsked = `DELETE FROM persons_asked WHERE NOT EXISTS (SELECT 1 FROM shown s WHERE s.chat_key = persons_asked.chat_key AND s.id = persons_asked.id)`

	tokenByID = selectTokens + ` WHERE id = ?1`
	// The program that has written a message; of a chat of its own it is always the same one.
	tokenOfMessage = selectTokens + ` WHERE id = COALESCE((SELECT actor_id FROM messages WHERE chat_key = ?1 AND message_id = ?2),
		(SELECT token FROM rooms WHERE chat_key = ?1 LIMIT 1))`
)

// ByID is a token, or [ErrUnknown].
func (s Store) ByID(ctx context.Context, id string) (Token, error) {
	return s.token(ctx, tokenByID, id)
}

// Of is the token of the program that has written a message, or to which the chat belongs, or [ErrUnknown].
func (s Store) Of(ctx context.Context, key chat.Key, message string) (Token, error) {
	return s.token(ctx, tokenOfMessage, key.String(), message)
}

func (s Store) token(ctx context.Context, query string, args ...any) (Token, error) {
	return engine.One(ctx, s.Readers, what, ErrUnknown, scanToken, query, args...)
}

// Ask stores with which card a person is asked, of which these are messages.
func (s Store) Ask(ctx context.Context, a Asked, messages ...string) error {
	err := s.Tx(ctx, "asked "+a.ID, func(ctx context.Context, tx *sql.Tx) error {
		for _, message := range messages {
			if _, err := tx.ExecContext(ctx, insertAsked, message, a.Card, a.Token, a.Key.String(), a.ID); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store that a person is asked: %w", err)
	}
	return nil
}

// AskedBy is what a person is asked with a card, by one of its messages, or [ErrNotShown].
func (s Store) AskedBy(ctx context.Context, message string) (Asked, error) {
	return engine.One(ctx, s.Readers, what, ErrNotShown, scanAsked, askedBy, message)
}

// AskedOf is the card with which a person is asked what a program is shown, or [ErrNotShown].
func (s Store) AskedOf(ctx context.Context, key chat.Key, id string) (Asked, error) {
	return engine.One(ctx, s.Readers, what, ErrNotShown, scanAsked, askedOf, key.String(), id)
}

func scanAsked(rows *sql.Rows) (a Asked, err error) {
	var key string
	if err = rows.Scan(&a.Card, &a.Token, &key, &a.ID); err == nil {
		a.Key, err = chat.ParseKey(key)
	}
	return a, err
}
