package approval

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// settledDecision is a decision made without asking.
type settledDecision struct {
	claude.Decision
	why  string // for operators; empty = people have to be asked
	rule int64  // the rule of the chat that allows it; 0 = none
}

// unasked decides requests for which people need not be asked.
type unasked struct {
	rules   db.Rules
	secrets redact.Known
}

// decide returns the decision if people need not be asked.
func (u unasked) decide(
	ctx context.Context, c db.Claim, w Workspace, q claude.ToolAsk, about Touched,
) (s settledDecision) {
	refused := func(text, why string) settledDecision {
		return settledDecision{Decision: claude.Decision{Why: text}, why: refusedUnasked + why}
	}
	if w.ReadOnly && q.Name != claude.QuestionTool && !OnlyReads(q, w.Dir) {
		return refused(lookOnly, "the project is for looking only")
	}
	s.Decision = claude.Decision{Allow: true, Input: q.Input}
	if w.AskAll && IsInternal(q.Name) {
		s.why = "tool allowed: it is the program's own, or for the agent's own notes"
		return s
	}
	if HoldsSecret(q.Input, u.secrets) {
		return refused(notWithSecrets, "what it wants holds a secret")
	}
	if s.rule = u.ruleFor(ctx, c.Turn.Key, w.Dir, q); s.rule != 0 && !about.Any() {
		s.why = fmt.Sprintf("tool allowed by rule %d of the chat", s.rule)
		return s
	}
	if text := Unshowable(q.Name, q.Input); text != "" {
		return refused(text, fmt.Sprintf("what it wants, of %d bytes, cannot be shown", len(q.Input)))
	}
	return settledDecision{}
}

// ruleFor is the number of the rule that allows a tool call; 0 = none. Plan mode is read-only, so no rule applies
// there.
func (u unasked) ruleFor(ctx context.Context, key chat.Key, dir string, q claude.ToolAsk) int64 {
	if q.Mode == claude.PlanMode {
		return 0
	}
	list, err := u.rules.List(ctx, key)
	if err != nil {
		zerolog.Ctx(ctx).Error().Err(err).Msg("rules not read; asking")
		return 0
	}
	for _, r := range list {
		if r.Project == dir && Covers(r.Permit, q.Name, q.Input, dir) {
			return r.Number
		}
	}
	return 0
}
