package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"magpie/db/postgres"
	"magpie/internal/i18n"
)

// Several bridges may serve a database of PostgreSQL. Each has a place, which it renews. Who has not renewed it in time may
// be declared dead by another bridge, which then ends its connections, and only then takes over its chats. A bridge that
// cannot renew ends its agents before that.
const (
	placeTTL   = 15 * time.Second
	renewEvery = placeTTL / 3
	placeValid = placeTTL * 2 / 3 // since before the last renewal was sent, by a clock that also runs while the machine sleeps
)

// place is what this program has among those that serve the database.
type place struct {
	server *postgres.DB
	run    int64
	good   time.Duration // when the last renewal that has succeeded was sent, by [bootTime]
}

const (
	placesName = "nodes" // see [locks]

	declareDead = `UPDATE nodes SET dead = 1 WHERE dead = 0 AND (until < clock_timestamp() OR instance = ?1 AND ?1 <> '') RETURNING session`
	livingNodes = `SELECT name FROM nodes WHERE dead = 0 ORDER BY run`
	insertNode  = `INSERT INTO nodes (name, instance, session, until, joined_at)
		VALUES (?1, ?2, ?3, clock_timestamp() + make_interval(secs => ?4), ?5) RETURNING run`
	renewNode = `UPDATE nodes SET until = clock_timestamp() + make_interval(secs => ?2) WHERE run = ?1 AND dead = 0`
	leaveNode = `UPDATE nodes SET dead = 1 WHERE run = ?1 AND dead = 0`
	sweepNode = `DELETE FROM nodes WHERE dead = 1 AND until < clock_timestamp() - make_interval(days => 30)
		AND NOT EXISTS (SELECT 1 FROM chats WHERE owner = run)`
)

// ErrPlaceLost means that another bridge has declared this one dead, and answers in its chats.
var ErrPlaceLost = i18n.Mistakef("另一个鹊桥已接管：本进程太久没有向数据库续期（机器休眠、进程暂停或网络中断），现在退出；由 systemd 或 pm2 重新启动即可",
	"another bridge has taken over: this one has not renewed its place in the database for too long (the machine slept, the process was stopped, or the network was down); it exits now, and systemd or pm2 start it again")

// errStopped is why a place was not renewed although nothing has failed.
var errStopped = errors.New("this process or its machine was stopped for a while")

// join takes a place for this program. Those of bridges that are gone are ended first: of those that have not renewed
// theirs, and of an earlier process of this machine, whose lock this one holds.
func (d *DB) join(ctx context.Context, server *postgres.DB, c Config, session string) error {
	at := c.DSN()
	own := ""
	if at.Data != "" { // its lock is held
		own = at.Instance()
	}
	var gone []string
	err := d.namedTx(ctx, placesName, func(ctx context.Context, tx *sql.Tx) (err error) {
		gone, err = queryAll(ctx, tx, scanText, declareDead, own)
		return err
	})
	for _, dead := range gone { // after the commit: from then on it gets no connection
		err = errors.Join(err, server.EndSessions(ctx, dead))
	}
	if err != nil {
		return err
	}
	p := &place{server: server}
	err = d.namedTx(ctx, placesName, func(ctx context.Context, tx *sql.Tx) error {
		others, err := queryAll(ctx, tx, scanText, livingNodes)
		if err != nil {
			return err
		}
		if len(others) > 0 {
			return i18n.Mistakef("数据库正被另一台机器上的鹊桥使用（%s）：先停掉它；如果它刚刚异常退出，请在 %v 后再试",
				"the database is in use by a bridge on another machine (%s): stop that one first; if it has just crashed, try again in %v",
				strings.Join(others, ", "), placeTTL)
		}
		p.good = bootTime()
		return tx.QueryRowContext(ctx, insertNode, c.Node, own, session, placeTTL.Seconds(), millis(d.now())).Scan(&p.run)
	})
	if err != nil {
		return fmt.Errorf("take a place: %w", err)
	}
	server.Fence()
	d.place = p
	return nil
}

// leave gives the place back, so that others need not wait.
func (d *DB) leave() error {
	if d.place == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), renewEvery)
	defer cancel()
	if _, err := d.place.server.Do(ctx, leaveNode, d.place.run); err != nil && !errors.Is(err, postgres.ErrShutOut) {
		return fmt.Errorf("leave the place in the database: %w", err)
	}
	return nil
}

// KeepPlace renews this program's place among those that serve the database until ctx is done. tell is called with the
// reason when it could not for so long that others may take over soon: no agent may work from then on. It is called with nil
// when the place is renewed again. KeepPlace returns [ErrPlaceLost] when another bridge has taken over. With SQLite there is
// only one program.
func (d *DB) KeepPlace(ctx context.Context, tell func(error)) error {
	p := d.place
	if p == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(renewEvery / 5)
	defer tick.Stop()
	lapsed, failed := false, error(nil)
	for next := p.good + renewEvery; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := bootTime()
		if now-p.good > placeValid && !lapsed {
			lapsed = true
			tell(cmp.Or(failed, errStopped))
		}
		if now < next {
			continue
		}
		var is bool
		if is, failed = p.renew(ctx); failed == nil && !is {
			if !lapsed {
				tell(ErrPlaceLost)
			}
			return ErrPlaceLost
		}
		if failed == nil {
			if lapsed {
				lapsed = false
				tell(nil)
			}
			p.good, next = now, now+renewEvery
		}
	}
}

// renew reports whether the place is still this program's.
func (p *place) renew(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, renewEvery/2)
	defer cancel()
	rows, err := p.server.Do(ctx, renewNode, p.run, placeTTL.Seconds())
	if errors.Is(err, postgres.ErrShutOut) {
		return false, nil
	}
	return rows > 0, err
}
