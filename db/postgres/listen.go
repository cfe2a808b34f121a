package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// quiet is how long a connection that listens may hear nothing before it is looked at: of one that is cut off, it would
// never hear.
const quiet = 30 * time.Second

// Listen calls heard for each notification in a channel until ctx is done, and at each new connection, as some may have
// been missed. A notification is a hint: while there is no connection, none comes.
func (d *DB) Listen(ctx context.Context, channel string, heard func()) {
	for ctx.Err() == nil {
		_ = d.listen(ctx, channel, heard) // who waits for an answer tells that the server is away
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// listen listens with a connection of its own, which is named as all others: it ends when this program is declared dead.
func (d *DB) listen(ctx context.Context, channel string, heard func()) (err error) {
	conn, err := pgx.ConnectConfig(ctx, d.config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		err = errors.Join(err, conn.Close(ctx))
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+pgx.Identifier{channel}.Sanitize()); err != nil {
		return err
	}
	for heard(); ; {
		waiting, cancel := context.WithTimeout(ctx, quiet)
		_, err := conn.WaitForNotification(waiting)
		cancel()
		switch {
		case err == nil:
			heard()
		case ctx.Err() != nil || waiting.Err() == nil:
			return err
		default:
			alive, cancel := context.WithTimeout(ctx, greeting)
			err := conn.Ping(alive)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}
