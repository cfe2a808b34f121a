package main

import (
	"context"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
)

// sweepEvery is how often the store is rid of what has outlived its time.
const sweepEvery = 24 * time.Hour

// sweeps sweeps at once and then again and again, until ctx is done. What could not be deleted is left to the next time.
func sweeps(ctx context.Context, log zerolog.Logger, sweep func(context.Context) (db.Swept, error)) {
	for ctx.Err() == nil {
		switch s, err := sweep(ctx); {
		case err != nil && ctx.Err() == nil:
			log.Error().Err(err).Msg("old data not deleted")
		case s != db.Swept{}:
			log.Info().Int("messages", s.Messages).Int("events", s.Events).Int("files", s.Files).Msg("old data deleted")
		}
		wait(ctx, sweepEvery)
	}
}
