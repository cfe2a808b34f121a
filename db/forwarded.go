package db

import "magpie/db/forwarded"

// Forwarded is the queue of what arrived at a bridge and another one handles; nil = there is only this bridge.
func (d *DB) Forwarded() *forwarded.Queue {
	if d.place == nil {
		return nil
	}
	return &forwarded.Queue{Tx: d.namedTx, Readers: d.read, Listen: d.place.server.Listen}
}
