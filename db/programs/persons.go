package programs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"magpie/internal/chat"
)

// Asked is a card with which the person of a program is asked what its agent may do.
type Asked struct {
	Card string // its durable ID, at the person's door
	Key  chat.Key
	ID   string // what the program is shown of it
}

const (
	insertAsked = `INSERT INTO persons_asked (message, card, chat_key, id) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING`
	askedBy     = `SELECT card, chat_key, id FROM persons_asked WHERE message = ?1`
	askedOf     = `SELECT card, chat_key, id FROM persons_asked WHERE chat_key = ?1 AND id = ?2`
	forgetAsked = `DELETE FROM persons_asked WHERE NOT EXISTS (SELECT 1 FROM shown s WHERE s.chat_key = persons_asked.chat_key AND s.id = persons_asked.id)`
	tokenOfChat = selectTokens + ` WHERE id = (SELECT token FROM rooms WHERE chat_key = ?1 LIMIT 1)`
)

// TokenOf is the token of a chat, or [ErrUnknown].
func (s Store) TokenOf(ctx context.Context, key chat.Key) (Token, error) {
	list, err := all(ctx, s.Readers, scanToken, tokenOfChat, key.String())
	if err == nil && len(list) == 0 {
		err = ErrUnknown
	}
	if err != nil {
		return Token{}, err
	}
	return list[0], nil
}

// Ask stores with which card a person is asked.
func (s Store) Ask(ctx context.Context, a Asked) error {
	err := s.Tx(ctx, "asked "+a.ID, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertAsked, chat.FirstMessage(a.Card), a.Card, a.Key.String(), a.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("store that a person is asked: %w", err)
	}
	return nil
}

// AskedBy is what a person is asked with a card, by its first message, or [ErrNotShown].
func (s Store) AskedBy(ctx context.Context, message string) (Asked, error) {
	return scanAsked(s.Readers.QueryRowContext(ctx, askedBy, message))
}

// AskedOf is the card with which a person is asked what a program is shown, or [ErrNotShown].
func (s Store) AskedOf(ctx context.Context, key chat.Key, id string) (Asked, error) {
	return scanAsked(s.Readers.QueryRowContext(ctx, askedOf, key.String(), id))
}

func scanAsked(row *sql.Row) (a Asked, err error) {
	var key string
	err = row.Scan(&a.Card, &key, &a.ID)
	if errors.Is(err, sql.ErrNoRows) {
		return Asked{}, ErrNotShown
	} else if err != nil {
		return Asked{}, fmt.Errorf("with which card a person is asked: %w", err)
	}
	a.Key, err = chat.ParseKey(key)
	return a, err
}
