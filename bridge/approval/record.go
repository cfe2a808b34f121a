package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/workqueue"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/text"
)

// LongestRecorded is how much the History holds of a tool's input, and of its output, in characters.
const LongestRecorded = 2000

// ShortInput is a tool's input as the History holds it, where kept is what it holds of a text. Texts within it are cut,
// so that it can still be read.
func ShortInput(input json.RawMessage, kept func(string) string) string {
	var v any
	in := json.NewDecoder(bytes.NewReader(input))
	in.UseNumber()
	if in.Decode(&v) != nil {
		return kept(string(input))
	}
	most := LongestRecorded
	if len(input) > LongestRecorded {
		members, _ := v.(map[string]any)
		most = LongestRecorded / 2 / max(len(members), 1)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(withTexts(v, func(s string) string { return text.Shorten(kept(s), most) })); err != nil {
		return kept(string(input))
	}
	return text.Shorten(string(bytes.TrimSpace(b.Bytes())), LongestRecorded)
}

// withTexts changes the texts within a JSON value. The names of members are texts, too; a number that is changed
// becomes one, such as that of a phone.
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

// refusedUnasked begins the reasons of refusals about which nobody was asked.
const refusedUnasked = "tool refused: "

// recorder stores decisions, and records them in the History.
type recorder struct {
	store    *db.DB
	jobs     *workqueue.Queue
	recorded func(string) string // what the History holds of a text; nil = all of it
	log      zerolog.Logger
}

// settle stores what became of an approval, and records it in the History.
func (r recorder) settle(ctx context.Context, a db.Approval, s db.Settling) error {
	s.Action = db.Action{
		Use: a.ID, Tool: a.Tool, Input: ShortInput(a.Input, r.kept), Decision: verdicts[a.State], Reason: r.kept(a.Words),
	}
	if s.Always {
		s.Action.Decision, s.Action.Reason = db.AllowedAlways, ""
	}
	return r.store.Approvals().Settle(ctx, a, s)
}

// verdicts are what became of approvals, as the History holds it.
var verdicts = map[db.ApprovalState]db.Outcome{
	db.Approved: db.AllowedOnce, db.Refused: db.Denied, db.Expired: db.Unanswered, db.Withdrawn: db.NotNeeded,
}

// record records a decision for which nobody was asked. What agents note for themselves is no news to anybody.
func (r recorder) record(t db.Turn, q claude.ToolAsk, s settledDecision) {
	a := db.Action{Use: q.Use, Tool: q.Name, Input: ShortInput(q.Input, r.kept), Rule: s.rule}
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
	r.jobs.Enqueue(func(ctx context.Context) {
		err := r.store.Messages().Actions().Record(context.WithoutCancel(ctx), []db.RecordedAction{done})
		if err != nil {
			r.log.Error().Err(err).Stringer("chat", t.Key).Int64("turn", t.ID).Str("tool", q.Name).
				Msg("decision not recorded")
		}
	})
}

// kept is what the History holds of a text.
func (r recorder) kept(text string) string {
	if r.recorded == nil {
		return text
	}
	return r.recorded(text)
}
