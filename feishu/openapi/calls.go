package openapi

import (
	"errors"
	"sync/atomic"
)

// Calls counts the outcomes of calls to the HTTP API. Each attempt counts.
type Calls struct {
	OK      int64
	Refused int64 // permanent errors
	Limited int64 // over a rate limit
	Unknown int64 // no usable answer: the call may have taken effect
}

// callCounts counts calls by their outcome.
type callCounts struct{ ok, refused, limited, unknown atomic.Int64 }

func (t *callCounts) count(err error) {
	var e *Error
	switch {
	case err == nil:
		t.ok.Add(1)
	case !errors.As(err, &e): // the caller canceled it
	case ClassOf(err) == Unknown:
		t.unknown.Add(1)
	case ClassOf(err) == RateLimited:
		t.limited.Add(1)
	default:
		t.refused.Add(1)
	}
}

func (t *callCounts) snapshot() Calls {
	return Calls{OK: t.ok.Load(), Refused: t.refused.Load(), Limited: t.limited.Load(), Unknown: t.unknown.Load()}
}
