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

// LongestRecorded is how much the History holds of a tool's input, and of its output, in characters.
const LongestRecorded = 2000

// ShortInput is a tool's input as the History holds it: long members are cut, so that it can still be read.
func ShortInput(input json.RawMessage) string {
	all := map[string]any{}
	if len(input) <= LongestRecorded || json.Unmarshal(input, &all) != nil {
		return string(input)
	}
	for name, value := range all {
		if s, ok := value.(string); ok {
			all[name] = text.Shorten(s, LongestRecorded/2/len(all))
		}
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(all); err != nil {
		return string(input)
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// refusedUnasked begins the reasons of refusals about which nobody was asked.
const refusedUnasked = "tool refused: "

// settle stores what became of an approval, and records it in the History.
func (rs *Requests) settle(ctx context.Context, a db.Approval, s db.Settling) error {
	s.Action = db.Action{
		Use: a.ID, Tool: a.Tool, Input: rs.kept(ShortInput(a.Input)), Decision: verdicts[a.State], Reason: rs.kept(a.Words),
	}
	if s.Always {
		s.Action.Decision, s.Action.Reason = db.AllowedAlways, ""
	}
	return rs.store.Approvals().Settle(ctx, a, s)
}

// verdicts are what became of approvals, as the History holds it.
var verdicts = map[db.ApprovalState]db.Verdict{
	db.Approved: db.AllowedOnce, db.Refused: db.Denied, db.Expired: db.Unanswered, db.Withdrawn: db.NotNeeded,
}

// record records a decision for which nobody was asked. What agents note for themselves is no news to anybody.
func (rs *Requests) record(t db.Turn, q claude.ToolAsk, s settledDecision) {
	a := db.Action{Use: q.Use, Tool: q.Name, Input: rs.kept(ShortInput(q.Input)), Rule: s.rule}
	switch {
	case s.rule != 0:
		a.Decision = db.AllowedByRule
	case !s.Allow:
		a.Decision, a.Reason = db.Denied, strings.TrimPrefix(s.why, refusedUnasked)
	default:
		return
	}
	done := db.RecordedAction{Action: a, Key: t.Key, Turn: t.ID, Epoch: t.Epoch, Time: time.Now()}
	rs.jobs.Enqueue(func(ctx context.Context) {
		err := rs.store.Messages().Record(context.WithoutCancel(ctx), []db.RecordedAction{done})
		if err != nil {
			rs.log.Error().Err(err).Stringer("chat", t.Key).Int64("turn", t.ID).Str("tool", q.Name).
				Msg("decision not recorded")
		}
	})
}

// kept is what the History holds of a text.
func (rs *Requests) kept(text string) string {
	if rs.recorded == nil {
		return text
	}
	return rs.recorded(text)
}
