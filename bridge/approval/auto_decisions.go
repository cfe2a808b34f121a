package approval

import (
	"context"
	"fmt"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// automaticDecision is a decision made without asking.
type automaticDecision struct {
	claude.Decision
	why  string // for operators; empty = people have to be asked
	rule int64  // the rule of the chat that allows it; 0 = none
}

// decideUnasked returns the decision if people need not be asked.
func (rs *Requests) decideUnasked(
	ctx context.Context, c db.Claim, w Workspace, q claude.ToolAsk, touched TouchedPaths,
) (s automaticDecision) {
	refused := func(text, why string) automaticDecision {
		return automaticDecision{Decision: claude.Decision{Why: text}, why: refusedUnasked + why}
	}
	if w.ReadOnly && !claude.AsksPeople(q.Name) && !OnlyReads(q, w.Dir) {
		return refused(lookOnly, "the project is for looking only")
	}
	s.Decision = claude.Decision{Allow: true, Input: q.Input}
	if w.AskAll && IsInternal(q.Name) {
		s.why = "tool allowed: it is the program's own, or for the agent's own notes"
		return s
	}
	if HoldsSecret(q.Input, rs.secrets) {
		return refused(notWithSecrets, "what it wants holds a secret")
	}
	if s.rule = rs.ruleFor(ctx, c.Turn.Key, w.Dir, q); s.rule != 0 && !touched.Any() {
		s.why = fmt.Sprintf("tool allowed by rule %d of the chat", s.rule)
		return s
	}
	if text := DisplayProblem(q.Name, q.Input); text != "" {
		return refused(text, fmt.Sprintf("what it wants, of %d bytes, cannot be shown", len(q.Input)))
	}
	return automaticDecision{}
}

// ruleFor is the number of the rule that allows a tool call; 0 = none. Plan mode is read-only, so no rule applies
// there.
func (rs *Requests) ruleFor(ctx context.Context, key chat.Key, dir string, q claude.ToolAsk) int64 {
	if q.Mode == claude.PlanMode {
		return 0
	}
	list, err := rs.store.Rules().List(ctx, key)
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
