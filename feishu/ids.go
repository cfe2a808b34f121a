package feishu

import (
	"strings"
	"sync"

	"github.com/rs/zerolog"
)

// longestID is more than the platform's ids have, in bytes; most have 35.
const longestID = 128

// wellFormed reports whether s can be one of the platform's ids. They become part of keys, of the names of folders and
// of addresses, and what they are made of has a meaning there.
func wellFormed(s string) bool {
	odd := func(r rune) bool { return !strings.ContainsRune(idChars, r) }
	return s != "" && len(s) <= longestID && !strings.ContainsFunc(s, odd)
}

const idChars = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-=+@"

// refusals are the kinds of events that were refused, each of which is logged once: whoever can send one can send many.
type refusals struct{ logged sync.Map }

// malformed reports whether one of the ids of something that the platform tells is none. optional ones may be empty.
func (r *refusals) malformed(log zerolog.Logger, what string, ids []string, optional ...string) bool {
	for _, id := range optional {
		if id != "" {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		if wellFormed(id) {
			continue
		}
		if _, known := r.logged.LoadOrStore(what, true); !known {
			log.Warn().Str("of", what).Str("id", id[:min(len(id), longestID)]).
				Msg("feishu: the platform told of something whose id is none; it is left out, and this is not logged again")
		}
		return true
	}
	return false
}
