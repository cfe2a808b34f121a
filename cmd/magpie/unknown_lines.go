package main

import (
	"sync"

	"github.com/rs/zerolog"
)

// reportOnce returns a function that logs each kind of line of the CLI that is unknown, once.
func reportOnce(log zerolog.Logger) func(kind string) {
	var seen sync.Map
	return func(kind string) {
		if _, known := seen.LoadOrStore(kind, true); !known {
			log.Warn().Str("kind", kind).Msg("claude writes what this version of Magpie does not know")
		}
	}
}
