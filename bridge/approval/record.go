package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/text"
)

// LongestRecorded limits a tool's input, and its output, in the History, in characters.
const LongestRecorded = 2000

// ShortInput is a tool's input for the History; kept redacts a text. Strings in it are shortened, so that it remains
// valid JSON.
func ShortInput(input json.RawMessage, redact func(string) string) string {
	var v any
	in := json.NewDecoder(bytes.NewReader(input))
	in.UseNumber()
	if in.Decode(&v) != nil {
		return redact(string(input))
	}
	most := LongestRecorded
	if len(input) > LongestRecorded {
		members, _ := v.(map[string]any)
		most = LongestRecorded / 2 / max(len(members), 1)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(withTexts(v, func(s string) string { return text.Shorten(redact(s), most) })); err != nil {
		return redact(string(input))
	}
	return text.Shorten(string(bytes.TrimSpace(b.Bytes())), LongestRecorded)
}

// withTexts applies change to all strings in a JSON value, including member names. A number that is changed, such as a
// phone number, becomes a string.
func withTexts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case json.Number:
		if s := change(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i, e := range v {
			v[i] = withTexts(e, change)
		}
	case map[string]any:
		changed := make(map[string]any, len(v))
		for name, e := range v {
			changed[change(name)] = withTexts(e, change)
		}
		return changed
	}
	return v
}

// refusedUnasked is the prefix of reasons for refusals without asking.
const refusedUnasked = "tool refused: "

// record records a decision made without asking. Calls of internal tools are of no interest and are left out.
func (rs *Requests) record(t db.Turn, q claude.ToolAsk, s automaticDecision) {
	a := db.Action{Use: q.Use, Tool: q.Name, Input: ShortInput(q.Input, rs.redact), Rule: s.rule}
	switch {
	case s.rule != 0:
		a.Decision = db.AllowedByRule
	case !s.Allow:
		if s.Why == notWithSecrets {
			a.Input = ""
		}
		a.Decision, a.Reason = db.Denied, strings.TrimPrefix(s.why, refusedUnasked)
	default:
		return
	}
	done := db.RecordedAction{Action: a, Key: t.Key, Turn: t.ID, Epoch: t.Epoch, Time: time.Now()}
	rs.jobs.Enqueue(func(ctx context.Context) {
		err := rs.store.Messages().Actions().Record(context.WithoutCancel(ctx), []db.RecordedAction{done})
		if err != nil {
			rs.log.Error().Err(err).Stringer("chat", t.Key).Int64("turn", t.ID).Str("tool", q.Name).
				Msg("decision not recorded")
		}
	})
}

// redact redacts a text for the History.
func (rs *Requests) redact(text string) string {
	if rs.redactForHistory == nil {
		return text
	}
	return rs.redactForHistory(text)
}
