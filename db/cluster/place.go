// Package cluster is about the bridges that serve one database of PostgreSQL: the place of each among them, and which of
// them has which rooms.
//
// It does not know what is stored in a room. With SQLite there is one bridge, which has no place and all rooms: nil.
package cluster

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"magpie/db/engine"
	"magpie/db/postgres"
	"magpie/internal/boottime"
	"magpie/internal/i18n"
)

// Each bridge has a place, which it renews. Who has not renewed it in time may be declared dead by another bridge, which then
// ends its connections, and only then takes over its chats. A bridge that cannot renew ends its agents before that.
const placeTTL = 15 * time.Second

func (p *Place) renewEvery() time.Duration { return p.ttl / 3 }

// valid is how long it is certain that nobody takes over, since before the last renewal was sent, by a clock that also runs
// while the machine sleeps.
func (p *Place) valid() time.Duration { return p.ttl * 2 / 3 }

// Place is what this bridge has among those that serve the database.
type Place struct {
	server *postgres.DB
	ttl    time.Duration
	name   string // of the machine
	folder string // see [Member.Instance]
	run    int64
	good   atomic.Int64 // when the last renewal that has succeeded was sent, by [boottime.Now]
	lost   atomic.Bool  // another bridge has taken over
	seen   atomic.Pointer[bridges]
	left   atomic.Bool // it was given back
	rooms  rooms

	reload  chan struct{}                             // see [Place.Reload]
	renewed atomic.Pointer[func(ctx context.Context)] // see [Place.OnRenewal]
}

const (
	lockPlaces = `SELECT pg_advisory_xact_lock(hashtextextended('nodes', 0))`
	// what is gone: an earlier process of this data folder, or another bridge that has not renewed its place
	isEarlier = `dead = 0 AND instance = ?1 AND instance <> ''`
	isOverdue = `dead = 0 AND until < clock_timestamp() AND NOT (instance = ?1 AND instance <> '')`

	declareDead = `UPDATE nodes SET dead = 1 WHERE `
	deadNodes   = `SELECT CAST(run AS TEXT) FROM nodes WHERE dead = 1`
	// not before its time is over: its agents may still run
	endNode    = `UPDATE nodes SET dead = 2 WHERE CAST(run AS TEXT) = ?1 AND dead = 1 AND until < clock_timestamp()`
	countNodes = `SELECT COUNT(*) FROM nodes WHERE `
	// for how many seconds a bridge of that name keeps its place at least
	sameName = `SELECT CAST(GREATEST(1, CEIL(EXTRACT(EPOCH FROM until - clock_timestamp()))) AS BIGINT) FROM nodes
		WHERE dead = 0 AND name = ?1`
	insertNode = `INSERT INTO nodes (name, instance, session, until, joined_at)
		VALUES (?1, ?2, ?3, clock_timestamp() + make_interval(secs => ?4), ?5) RETURNING run`
	renewNode = `UPDATE nodes SET until = clock_timestamp() + make_interval(secs => ?2) WHERE run = ?1 AND dead = 0
		RETURNING (SELECT COUNT(*) FROM nodes n WHERE n.dead = 0), (SELECT MIN(n.run) FROM nodes n WHERE n.dead = 0),
			(SELECT COUNT(*) FROM nodes n WHERE n.run <> ?1 AND n.dead < 2 AND n.until < clock_timestamp()),
			reloads`
	// the rooms of the earlier process, which the new one keeps
	keepRooms = `UPDATE leases SET run = ?1, fence = fence + 1
		WHERE run IN (SELECT run FROM nodes WHERE instance = ?2 AND instance <> '' AND dead = 1) RETURNING room`
	endEarlier = `UPDATE nodes SET dead = 2 WHERE instance = ?1 AND dead = 1`
	leaveNode  = `UPDATE nodes SET dead = 2, until = clock_timestamp() WHERE run = ?1 AND dead = 0`
)

// ErrPlaceLost means that another bridge has declared this one dead, and answers in its chats.
var ErrPlaceLost = i18n.Mistakef("另一个鹊桥已接管：本进程太久没有向数据库续期（机器休眠、进程暂停或网络中断），现在退出；由 systemd 或 pm2 重新启动即可",
	"another bridge has taken over: this one has not renewed its place in the database for too long (the machine slept, the process was stopped, or the network was down); it exits now, and systemd or pm2 start it again")

// errStopped is why a place was not renewed although nothing has failed.
var errStopped = errors.New("this process or its machine was stopped for a while")

// Member is who takes a place.
type Member struct {
	Name     string // of the machine: no two bridges that live have the same
	Instance string // of the data folder whose lock this process holds; empty = none
	Session  string // names its connections, see [postgres.Options]
	// TTL is how long a place is kept without being renewed, the same for all; 0 = 15 s. Tests shorten it.
	TTL time.Duration
}

// Join takes a place for this bridge. First it ends the places of bridges that have not renewed theirs, and that of an earlier
// process of this data folder, whose lock this one holds. It keeps the rooms of the latter, whose sessions and agents are on its
// machine.
func Join(ctx context.Context, server *postgres.DB, m Member) (*Place, error) {
	p := &Place{server: server, ttl: cmp.Or(m.TTL, placeTTL), name: m.Name, folder: m.Instance, reload: make(chan struct{}, 1)}
	err := p.buryOverdue(ctx)
	if err == nil {
		_, err = p.declareDead(ctx, isEarlier)
	}
	if err != nil {
		return nil, err
	}
	var kept []string
	err = p.tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		var wait, others int
		if err := tx.QueryRowContext(ctx, sameName, m.Name).Scan(&wait); err == nil {
			return i18n.Mistakef("这个数据库已经有一个叫 %s 的鹊桥在用：在每台机器的 magpie.toml 里用 node 起不同的名字；如果那个鹊桥刚刚异常退出，%d 秒后再启动",
				"a bridge named %s already uses this database: give each machine a name of its own, with node in its magpie.toml; if that bridge has just crashed, start again in %d seconds",
				m.Name, wait)
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if err := tx.QueryRowContext(ctx, countNodes+`dead = 0`).Scan(&others); err != nil {
			return err
		}
		p.good.Store(int64(boottime.Now()))
		p.seen.Store(&bridges{living: others + 1, leads: others == 0})
		err := tx.QueryRowContext(ctx, insertNode, m.Name, m.Instance, m.Session, p.ttl.Seconds(), time.Now().UnixMilli()).
			Scan(&p.run)
		if err == nil {
			kept, err = texts(ctx, tx, keepRooms, p.run, m.Instance)
		}
		if err == nil {
			_, err = tx.ExecContext(ctx, endEarlier, m.Instance)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, room := range kept {
		p.rooms.add(room, false)
	}
	server.Fence()
	return p, nil
}

// tx runs f while no other bridge changes places.
func (p *Place) tx(ctx context.Context, f func(ctx context.Context, tx *sql.Tx) error) error {
	return p.server.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, lockPlaces); err != nil {
			return err
		}
		return f(ctx, tx)
	})
}

// querier has the methods that *sql.DB and *sql.Tx share.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// texts runs a query for one column.
func texts(ctx context.Context, q engine.Querier, query string, args ...any) ([]string, error) {
	return engine.All(ctx, q, "bridges", func(rows *sql.Rows) (s string, err error) { return s, rows.Scan(&s) }, query, args...)
}

// buryOverdue ends the places of bridges that have not renewed them. When the database was away, all are overdue: they are
// given the time to renew theirs.
func (p *Place) buryOverdue(ctx context.Context) error {
	var n int
	if err := p.server.Row(ctx, countNodes+isOverdue, p.folder).Scan(&n); err != nil || n == 0 {
		return p.server.Explain(err)
	}
	select {
	case <-time.After(p.renewEvery()):
	case <-ctx.Done():
		return ctx.Err()
	}
	return p.bury(ctx)
}

// bury ends the places of bridges that have not renewed theirs. Their rooms are free then.
func (p *Place) bury(ctx context.Context) error {
	dead, err := p.declareDead(ctx, isOverdue)
	for _, run := range dead {
		if err == nil {
			_, err = p.server.Do(ctx, endNode, run)
		}
	}
	return err
}

// declareDead declares bridges that are gone dead, and ends their connections after the commit, from which on they get no
// new ones. It returns the runs of all whose rooms do not count as free yet.
func (p *Place) declareDead(ctx context.Context, gone string) (dead []string, err error) {
	err = p.tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		if _, err = tx.ExecContext(ctx, declareDead+gone, p.folder); err == nil {
			dead, err = texts(ctx, tx, deadNodes)
		}
		return err
	})
	if err == nil && len(dead) > 0 {
		err = p.server.EndDead(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("end the places of bridges that are gone: %w", err)
	}
	return dead, nil
}

// age is how long ago the last renewal that has succeeded was sent.
func (p *Place) age() time.Duration { return boottime.Now() - time.Duration(p.good.Load()) }

// Until is until when it is certain that no other bridge writes in this one's chats, by [boottime.Now].
func (p *Place) Until() time.Duration { return time.Duration(p.good.Load()) + p.ttl*9/10 }

// Left is how long that still is.
func (p *Place) Left() time.Duration {
	if p.lost.Load() {
		return 0
	}
	return max(0, p.Until()-boottime.Now())
}

// Lapsed reports whether the place was not renewed in time, so that no agent may work.
func (p *Place) Lapsed() bool { return p != nil && p.age() > p.valid() }

// OnRenewal sets what is done after each renewal of this bridge's place: another one may have left something.
func (p *Place) OnRenewal(f func(ctx context.Context)) {
	if p != nil {
		p.renewed.Store(&f)
	}
}

// Leave gives the place back, so that others need not wait. Nothing may be written after it.
func (p *Place) Leave() error {
	if p == nil || p.left.Swap(true) {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), placeTTL/3)
	defer cancel()
	if _, err := p.server.Do(ctx, leaveNode, p.run); err != nil && !errors.Is(err, postgres.ErrShutOut) {
		return fmt.Errorf("leave the place in the database: %w", err)
	}
	return nil
}

// Keep renews this bridge's place among those that serve the database until ctx is done. tell is called with the
// reason when it could not for so long that others may take over soon: no agent may work from then on. It is called with nil
// when the place is renewed again. renewed is called after each renewal, with the number of bridges. Keep returns
// [ErrPlaceLost] when another bridge has taken over.
func (p *Place) Keep(ctx context.Context, tell func(error), renewed func(bridges int)) error {
	if p == nil {
		<-ctx.Done()
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	overdue, around := make(chan struct{}, 1), make(chan struct{}, 1)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer stop()
	watch.Go(func() { p.endOverdue(ctx, overdue) })
	watch.Go(func() { p.lookAround(ctx, around) })
	tick := time.NewTicker(p.renewEvery() / 5)
	defer tick.Stop()
	lapsed, failed, reloads := false, error(nil), int64(0)
	steady := boottime.Now() // since then every renewal was in time
	for next := steady - p.age() + p.renewEvery(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := boottime.Now()
		if p.Lapsed() && !lapsed {
			lapsed = true
			tell(cmp.Or(failed, errStopped))
		}
		if now < next {
			continue
		}
		var seen bridges
		if seen, failed = p.renew(ctx); failed == nil && seen.living == 0 {
			p.lost.Store(true)
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
		p.good.Store(int64(now))
		next = now + p.renewEvery()
		p.seen.Store(&seen)
		if seen.reloads > reloads {
			reloads = seen.reloads
			signal(p.reload)
		}
		renewed(seen.living)
		if lapsed {
			lapsed = false
			tell(nil)
		}
		// When the database was away, all are overdue: they are given the time to renew theirs.
		if seen.overdue > 0 && now-steady > p.ttl {
			signal(overdue)
		}
		signal(around)
	}
}

// signal has an element in c, unless there is one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// lookAround does what follows each renewal, until ctx is done. The next renewal must not wait for it.
func (p *Place) lookAround(ctx context.Context, renewed <-chan struct{}) {
	for {
		select {
		case <-renewed:
		case <-ctx.Done():
			return
		}
		if f := p.renewed.Load(); f != nil {
			(*f)(ctx)
		}
	}
}

// renew renews the place, and looks who else is there. No bridge lives if the place is not this program's any more.
func (p *Place) renew(ctx context.Context) (b bridges, err error) {
	ctx, cancel := context.WithTimeout(ctx, p.renewEvery()/2)
	defer cancel()
	var first int64
	err = p.server.Row(ctx, renewNode, p.run, p.ttl.Seconds()).Scan(&b.living, &first, &b.overdue, &b.reloads)
	if err = p.server.Explain(err); errors.Is(err, sql.ErrNoRows) || errors.Is(err, postgres.ErrShutOut) {
		return bridges{}, nil
	}
	b.leads = first == p.run
	return b, err
}

// endOverdue ends the bridges that have not renewed their place whenever there are some, until ctx is done. It is no part of
// the renewal, which must not wait for it.
func (p *Place) endOverdue(ctx context.Context, some <-chan struct{}) {
	for {
		select {
		case <-some:
		case <-ctx.Done():
			return
		}
		for p.bury(ctx) != nil && ctx.Err() == nil {
			select {
			case <-time.After(p.renewEvery()):
			case <-ctx.Done():
			}
		}
	}
}
