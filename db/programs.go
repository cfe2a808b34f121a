package db

import (
	"context"
	"database/sql"
	"time"

	"magpie/db/programs"
	"magpie/internal/chat"
)

// openChat opens a chat that nobody has written in, if it is not open.
const openChat = `INSERT INTO chats (no, key, kind, title, settings) VALUES (` + nextChat + `, ?1, 'p2p', ?2, ?3)
	ON CONFLICT (key) DO NOTHING`

// Programs stores what programs that ask over HTTP need.
func (d *DB) Programs() programs.Store {
	return programs.Store{
		Tx: d.namedTx, Readers: d.read, Now: func() time.Time { return d.now() }, History: d.Messages().Latest,
		Open: func(ctx context.Context, tx *sql.Tx, key chat.Key, title, project string) error {
			settings, err := changeStored("{}", Settings{}, Settings{Project: project})
			if err == nil {
				_, err = tx.ExecContext(ctx, openChat, key.String(), title, settings)
			}
			return err
		},
	}
}
