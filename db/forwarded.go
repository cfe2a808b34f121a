package db

import (
	"context"

	"magpie/db/forwarded"
)

// Forwarded is the queue of what arrived at a bridge and another one handles; nil = there is only this bridge.
func (d *DB) Forwarded() *forwarded.Queue {
	server, ok := d.engine.(interface {
		Listen(ctx context.Context, channel string, heard func())
	})
	if !ok {
		return nil
	}
	return &forwarded.Queue{Tx: d.namedTx, Readers: d.read, Listen: server.Listen}
}
