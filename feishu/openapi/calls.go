package openapi

import (
	"errors"
	"sync/atomic"
)

// Calls counts what became of calls to the HTTP API, tries each by itself.
type Calls struct {
	OK      int64
	Refused int64 // as they were, the platform did not take them
	Limited int64 // there were too many of them
	Unknown int64 // no answer that tells: they may have been done
}

// tally counts calls by what became of them.
type tally struct{ ok, refused, limited, unknown atomic.Int64 }

func (t *tally) count(err error) {
	var e *Error
	switch {
	case err == nil:
		t.ok.Add(1)
	case !errors.As(err, &e): // the caller gave it up
	case ClassOf(err) == Unknown:
		t.unknown.Add(1)
	case ClassOf(err) == RateLimited:
		t.limited.Add(1)
	default:
		t.refused.Add(1)
	}
}

func (t *tally) now() Calls {
	return Calls{OK: t.ok.Load(), Refused: t.refused.Load(), Limited: t.limited.Load(), Unknown: t.unknown.Load()}
}
