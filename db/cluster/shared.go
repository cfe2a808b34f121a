package cluster

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
)

// What a bridge has for all others stands in the row of its place, and ends with that.

const (
	setCode   = `UPDATE nodes SET code = ?2 WHERE run = ?1 AND code <> ?2`
	hasCode   = `SELECT EXISTS (SELECT 1 FROM nodes WHERE code = ?1 AND dead = 0)`
	askReload = `UPDATE nodes SET reloads = reloads + 1 WHERE run <> ?1 AND dead = 0`
)

// ShareCode has the other bridges know a code of this one by its hash; empty = it has none.
func (p *Place) ShareCode(ctx context.Context, code string) error {
	if p == nil {
		return nil
	}
	if _, err := p.server.Do(ctx, setCode, p.run, hashOf(code)); err != nil {
		return fmt.Errorf("share a code with other bridges: %w", err)
	}
	return nil
}

// HasCode reports whether a living bridge has shared a code.
func (p *Place) HasCode(ctx context.Context, code string) (has bool, err error) {
	if p == nil || code == "" {
		return false, nil
	}
	if err := p.server.Readers().QueryRowContext(ctx, hasCode, hashOf(code)).Scan(&has); err != nil {
		return false, fmt.Errorf("compare a code with those of other bridges: %w", err)
	}
	return has, nil
}

// hashOf is what the database holds of a code, which is long enough to be hashed once.
func hashOf(code string) string {
	if code == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// AskReload has the other living bridges reload their configuration when they next renew their places, and returns how many
// there are.
func (p *Place) AskReload(ctx context.Context) (others int64, err error) {
	if p == nil {
		return 0, nil
	}
	err = p.tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, askReload, p.run)
		if err == nil {
			others, err = res.RowsAffected()
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ask other bridges to reload: %w", err)
	}
	return others, nil
}

// Reload has an element when another bridge has asked for a reload.
func (p *Place) Reload() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.reload
}

// Stats are figures of this bridge since its start, and of how many there are.
type Stats struct {
	Living    int   // bridges, see [Place.Living]
	Rooms     int   // that this one has
	Conflicts int64 // transactions that met another one and were repeated
	ShutOut   int64 // connections that were refused because another bridge has declared this one dead
}

// Stats returns figures for monitoring; nil = there is only this bridge.
func (p *Place) Stats() *Stats {
	if p == nil {
		return nil
	}
	p.rooms.mu.Lock()
	defer p.rooms.mu.Unlock()
	return &Stats{p.Living(), len(p.rooms.own), p.server.Conflicts(), p.server.Refused()}
}
