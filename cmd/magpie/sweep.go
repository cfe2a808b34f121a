package main

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/claude"
)

// sweepEvery is the interval at which expired data is deleted.
const sweepEvery = 24 * time.Hour

// runSweeps deletes expired data at once and then at every interval, until ctx is done. A failed sweep is retried at
// the next interval.
func runSweeps(ctx context.Context, log zerolog.Logger, sweep func(context.Context) (db.Swept, error)) {
	for ctx.Err() == nil {
		switch s, err := sweep(ctx); {
		case err != nil && ctx.Err() == nil:
			log.Error().Err(err).Msg("old data not deleted")
		case s != db.Swept{}:
			log.Info().Int("messages", s.Messages).Int("events", s.Events).Int("files", s.Files).Msg("old data deleted")
		}
		select {
		case <-time.After(sweepEvery):
		case <-ctx.Done():
		}
	}
}

// sweepSessions deletes what agents keep of sessions that no chat uses, with the messages of their time. Otherwise their
// transcripts would hold messages that [db] history_ttl has deleted.
func (p *program) sweepSessions(ctx context.Context) (deleted int, err error) {
	ttl := p.cfg.DB.HistoryTTL.Duration
	if ttl <= 0 {
		return 0, nil
	}
	list, err := p.store.Chats().SessionsInUse(ctx)
	if err != nil {
		return 0, err
	}
	used := map[string]bool{}
	for _, session := range list {
		used[session] = true
	}
	return claude.SweepSessions(ctx, p.pool, time.Now().Add(-ttl), func(session string) bool { return used[session] })
}

// unreadableLog reports rows of the database that cannot be decoded and are skipped.
type unreadableLog struct {
	log    zerolog.Logger
	logged map[string]bool // rows that were logged
}

// countUnreadable counts the unreadable rows, and logs each of them once.
func (l *unreadableLog) countUnreadable(ctx context.Context, store *db.DB) int {
	rows, err := store.Messages().Unreadable(ctx)
	if err != nil && ctx.Err() == nil {
		l.log.Error().Err(err).Msg("database not checked for unreadable rows")
	}
	for _, row := range rows {
		name := fmt.Sprint(row.Table, row.Row)
		// The check runs daily, and a damaged row stays damaged.
		if l.logged[name] {
			continue
		}
		if l.logged == nil {
			l.logged = map[string]bool{}
		}
		l.logged[name] = true
		l.log.Error().Str("table", row.Table).Str("row", row.Row).Err(row.Err).
			Msg("a row of the database cannot be read, and is left out; magpie doctor says what to do")
	}
	return len(rows)
}
