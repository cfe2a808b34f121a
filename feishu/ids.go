package feishu

import (
	"strings"
	"sync"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"
)

// longestID is an upper bound in bytes; most of the platform's IDs have 35.
const longestID = 128

// wellFormed reports whether s can be an id of the platform. Ids become parts of keys, folder names and URLs, so an id
// with other characters could change their meaning.
func wellFormed(s string) bool {
	odd := func(r rune) bool { return !strings.ContainsRune(idChars, r) }
	return s != "" && len(s) <= longestID && !strings.ContainsFunc(s, odd)
}

const idChars = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-=+@"

// malformedLog remembers which kinds of malformed events were logged. Each is logged once: whoever can send one can
// send many.
type malformedLog struct {
	log    zerolog.Logger
	logged sync.Map // what is malformed
}

// logEmpty logs the shape of a message without readable content, once per message type.
func (r *malformedLog) logEmpty(s rawMessage) {
	if _, known := r.logged.LoadOrStore("empty "+s.msgType, true); !known {
		r.log.Warn().Str("type", shapeName(s.msgType)).Str("shape", shapeOf(gjson.Parse(s.content))).
			Msg("feishu: a message without readable content; if people see something in it, please report its shape")
	}
}

// anyMalformed reports whether one of the ids is not well-formed, and logs that. The optional ids may be empty.
func (r *malformedLog) anyMalformed(what string, ids []string, optional ...string) bool {
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
			r.log.Warn().Str("of", what).Str("id", id[:min(len(id), longestID)]).
				Msg("feishu: the platform sent something with an invalid ID; ignored, and not logged again")
		}
		return true
	}
	return false
}
