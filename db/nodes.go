package db

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
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
	db     *DB
	server *postgres.DB
	run    int64
	good   time.Duration // when the last renewal that has succeeded was sent, by [bootTime]
	seen   atomic.Pointer[bridges]
}

const (
	placesName = "nodes" // see [locks]

	declareDead = `UPDATE nodes SET dead = 1 WHERE dead = 0 AND (until < clock_timestamp() OR instance = ?1 AND ?1 <> '')`
	livingNodes = `SELECT name FROM nodes WHERE dead = 0 ORDER BY run`
	insertNode  = `INSERT INTO nodes (name, instance, session, until, joined_at)
		VALUES (?1, ?2, ?3, clock_timestamp() + make_interval(secs => ?4), ?5) RETURNING run`
	renewNode = `UPDATE nodes SET until = clock_timestamp() + make_interval(secs => ?2) WHERE run = ?1 AND dead = 0
		RETURNING (SELECT COUNT(*) FROM nodes n WHERE n.dead = 0), (SELECT MIN(n.run) FROM nodes n WHERE n.dead = 0),
			(SELECT COUNT(*) FROM nodes n WHERE n.dead = 0 AND n.until < clock_timestamp() AND n.run <> ?1)`
	leaveNode = `UPDATE nodes SET dead = 1, until = clock_timestamp() WHERE run = ?1 AND dead = 0`
	sweepNode = `DELETE FROM nodes WHERE dead = 1 AND until < clock_timestamp() - make_interval(days => 30)
		AND NOT EXISTS (SELECT 1 FROM chats WHERE owner = run)`
)

// ErrPlaceLost means that another bridge has declared this one dead, and answers in its chats.
var ErrPlaceLost = i18n.Mistakef("另一个鹊桥已接管：本进程太久没有向数据库续期（机器休眠、进程暂停或网络中断），现在退出；由 systemd 或 pm2 重新启动即可",
	"another bridge has taken over: this one has not renewed its place in the database for too long (the machine slept, the process was stopped, or the network was down); it exits now, and systemd or pm2 start it again")

// errStopped is why a place was not renewed although nothing has failed.
var errStopped = errors.New("this process or its machine was stopped for a while")

// join takes a place for this program. Those of bridges that are gone are ended first.
func (d *DB) join(ctx context.Context, server *postgres.DB, c Config, session string) error {
	at := c.DSN()
	own := ""
	if at.Data != "" { // its lock is held
		own = at.Instance()
	}
	if err := d.endDead(ctx, server, own); err != nil {
		return err
	}
	p := &place{db: d, server: server}
	err := d.namedTx(ctx, placesName, func(ctx context.Context, tx *sql.Tx) error {
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
		p.seen.Store(&bridges{living: len(others) + 1, leads: len(others) == 0, at: p.good})
		return tx.QueryRowContext(ctx, insertNode, c.Node, own, session, placeTTL.Seconds(), millis(d.now())).Scan(&p.run)
	})
	if err != nil {
		return fmt.Errorf("take a place: %w", err)
	}
	server.Fence()
	d.place = p
	return nil
}

// endDead declares those dead that have not renewed their place in time, and an earlier process of this machine, whose lock
// this one holds if own names it. Then it ends their connections.
func (d *DB) endDead(ctx context.Context, server *postgres.DB, own string) error {
	if _, err := d.namedExec(ctx, placesName, declareDead, own); err != nil {
		return err
	}
	return server.EndDead(ctx) // after the commit: from then on they get no connection
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
// when the place is renewed again. living is called with the number of bridges after the first renewal, and when it has
// changed. KeepPlace returns [ErrPlaceLost] when another bridge has taken over. With SQLite there is only one program.
func (p *place) KeepPlace(ctx context.Context, tell func(error), living func(bridges int)) error {
	if p == nil {
		<-ctx.Done()
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	overdue := make(chan struct{}, 1)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer stop()
	watch.Go(func() { p.endOverdue(ctx, overdue) })
	tick := time.NewTicker(renewEvery / 5)
	defer tick.Stop()
	lapsed, failed, told := false, error(nil), 0
	steady := bootTime() // since then every renewal was in time
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
		var seen bridges
		if seen, failed = p.renew(ctx); failed == nil && seen.living == 0 {
			if !lapsed {
				tell(ErrPlaceLost)
			}
			return ErrPlaceLost
		}
		if failed != nil || lapsed {
			steady = now
		}
		if failed != nil {
			continue
		}
		if lapsed {
			lapsed = false
			tell(nil)
		}
		p.good, next = now, now+renewEvery
		p.seen.Store(&seen)
		if seen.living != told {
			told = seen.living
			living(told)
		}
		// When the database was away, all are overdue: they are given the time to renew theirs.
		if seen.overdue > 0 && now-steady > placeTTL {
			select {
			case overdue <- struct{}{}:
			default: // it is known
			}
		}
	}
}

// renew renews the place, and looks who else is there. No bridge lives if the place is not this program's any more.
func (p *place) renew(ctx context.Context) (b bridges, err error) {
	ctx, cancel := context.WithTimeout(ctx, renewEvery/2)
	defer cancel()
	b.at = bootTime()
	var first int64
	err = p.server.Row(ctx, renewNode, p.run, placeTTL.Seconds()).Scan(&b.living, &first, &b.overdue)
	if err = p.server.Explain(err); errors.Is(err, sql.ErrNoRows) || errors.Is(err, postgres.ErrShutOut) {
		return bridges{}, nil
	}
	b.leads = first == p.run
	return b, err
}

// endOverdue ends the bridges that have not renewed their place whenever there are some, until ctx is done. It is no part of
// the renewal, which must not wait for it.
func (p *place) endOverdue(ctx context.Context, some <-chan struct{}) {
	for {
		select {
		case <-some:
		case <-ctx.Done():
			return
		}
		for p.db.endDead(ctx, p.server, "") != nil && ctx.Err() == nil {
			select {
			case <-time.After(renewEvery):
			case <-ctx.Done():
			}
		}
	}
}
