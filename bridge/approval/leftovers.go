package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/convo"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// InterruptedTurns provides what a decision needs to know about turns that a shutdown has interrupted.
type InterruptedTurns interface {
	// AwaitRecovery waits until what the previous run has left in a chat is recovered.
	AwaitRecovery(ctx context.Context, key chat.Key) error
	// ContinuedCard is the card of an interrupted turn that another turn continues.
	ContinuedCard(ctx context.Context, key chat.Key, turn int64, l i18n.Lang) (chat.Card, error)
	// AskNoMore shows that an interrupted turn waits for no decision after this one has come too late. It returns
	// [db.ErrNotFound] if that is not so.
	AskNoMore(ctx context.Context, a db.Approval, l i18n.Lang) error
	// Wake starts work on the chat's turns.
	Wake(key chat.Key)
}

// Approvals whose agent is gone because a shutdown has interrupted its turn stay open. People may still decide, and the
// turn that continues it gets the decision.

// maxContinued is how often a start of the program continues a turn for the same decision. The turn may be what ends
// the program.
const maxContinued = 3

// Recover reopens the approvals of the previous run that a turn of a chat still needs; people decide as usual. Turns that
// were interrupted just after their decision was made go on. What no turn needs is withdrawn: nothing was run. The chat's
// turns must have been recovered first.
func (rs *Requests) Recover(ctx context.Context, key chat.Key) error {
	list, err := rs.store.Access().OpenApprovals(ctx, key)
	if err != nil || len(list) == 0 {
		return err
	}
	c, err := rs.store.Turns().Of(ctx, key)
	if err != nil {
		return err
	}
	for _, a := range list {
		needed := c.MayGoOn(a.NeededBy)
		switch {
		case needed && a.State == convo.Waiting:
			rs.keepOpen(ctx, a)
			defer rs.Reconsider(key) // somebody may have dropped its turn before it was open here
		case needed && a.Continued >= maxContinued:
			err = rs.giveUp(ctx, a)
		case needed:
			err = rs.continueTurn(ctx, a)
		case a.State != convo.Denied:
			rs.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).
				Msg("no turn needs what people were asked")
			err = rs.end(ctx, a, convo.Withdrawn, db.Settling{}, "")
		}
		// If it is not found, the turn continues already, or has ended.
		if err != nil && !db.Permanent(err) {
			return err
		}
	}
	return nil
}

// continueTurn continues the turn that needs a decision.
func (rs *Requests) continueTurn(ctx context.Context, a db.Approval) error {
	how, err := rs.continuation(ctx, a, a.By, rs.language(ctx, a.Key))
	if err != nil {
		return err
	}
	how.Approval = a.ID
	if err = rs.store.Turns().Decide(ctx, *how); err == nil {
		rs.interrupted.Wake(a.Key)
	}
	return err
}

// giveUp withdraws a decision, and tells people that it was not used.
func (rs *Requests) giveUp(ctx context.Context, a db.Approval) error {
	err := rs.end(ctx, a, convo.Withdrawn, db.Settling{GiveUp: i18n.ApprovalNotPassedOn.In(rs.language(ctx, a.Key))}, "")
	if err == nil {
		rs.log.Error().Stringer("chat", a.Key).Int64("turn", a.NeededBy).Str("approval", a.ID).
			Msg("the program has ended each time that a turn went on with its decision; not trying again")
	}
	return err
}

// keepOpen leaves an approval without an agent open for the rest of its time.
func (rs *Requests) keepOpen(ctx context.Context, a db.Approval) {
	about := rs.reserved.PathsOf(ctx, a.Key, claude.ToolAsk{Name: a.Tool, Input: a.Input}, a.Project)
	p := pending{key: a.Key, admins: adminsOnly(rs.access.At(a.Key), a.Tool, about)}
	if !rs.open.register(a.ID, p, func() []*time.Timer { return rs.startTimers(a) }) {
		return
	}
	rs.log.Info().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).
		Msg("people may still decide what an earlier run has asked")
}

// Decided returns the decisions for the agent of a turn that continues others: those that were made meanwhile.
func (rs *Requests) Decided(ctx context.Context, t db.Turn) []db.Approval {
	return slices.DeleteFunc(rs.inherited(ctx, t), func(a db.Approval) bool { return a.State == convo.Waiting })
}

// inherited lists what was asked for the turns that t continues, as far as no agent knows a decision.
func (rs *Requests) inherited(ctx context.Context, t db.Turn) []db.Approval {
	if t.Continues == 0 {
		return nil
	}
	list, err := rs.store.Access().OpenApprovals(ctx, t.Key, t.ID)
	if err != nil { // the agent asks again, and people are asked again
		zerolog.Ctx(ctx).Error().Err(err).Msg("decisions about an interrupted turn not read")
	}
	return list
}

// answerRepeated checks whether an agent that continues an interrupted turn repeats a request of its predecessor. If so
// it delivers the decision, or has the agent wait for it. done is false for a different request.
func (rs *Requests) answerRepeated(
	ctx context.Context, t db.Turn, w Workspace, q claude.ToolAsk, asks pending,
) (waits, done bool) {
	list := rs.inherited(ctx, t)
	i := slices.IndexFunc(list, func(a db.Approval) bool { return a.Project == w.Dir && sameCall(a, q) })
	if i < 0 {
		return false, false
	}
	a := list[i]
	log := zerolog.Ctx(ctx).With().Str("tool", q.Name).Str("approval", a.ID).Logger()
	if adopted := rs.open.change(a.ID, func(p *pending) bool {
		if p.answer != nil { // each request of an agent has a card of its own
			return false
		}
		p.askID, p.answer, p.admins = asks.askID, asks.answer, p.admins || asks.admins
		return true
	}); adopted {
		log.Info().Msg("the agent repeats a request that is still open")
		return true, true
	}
	var err error
	if a.State == convo.Waiting { // it was decided just now
		a, err = rs.store.Access().Approval(ctx, a.ID)
	}
	if err == nil && a.State == convo.Allowed && asks.admins && !rs.access.At(a.Key).IsAdmin(a.By) {
		log.Warn().Msg("an earlier decision is now reserved for admins; asking again")
		return false, false
	}
	if err == nil {
		err = rs.useDecision(context.WithoutCancel(ctx), a)
	}
	if err != nil {
		log.Error().Err(err).Msg("decision cannot be used; asking again")
		return false, false
	}
	failpoint.At("decision: used")
	log.Info().Stringer("state", a.State).Msg("request decided before")
	asks.answer(decisionOf(a))
	return false, true
}

// useDecision records that an agent is about to be told a decision, before that happens: each decision is used once. It
// returns [db.ErrNotFound] if an agent was told before, or there is no decision.
func (rs *Requests) useDecision(ctx context.Context, a db.Approval) error {
	told, err := rs.store.Turns().Happens(ctx, a.Key, convo.Tells{ID: a.ID})
	if err == nil && len(told) == 0 {
		return db.ErrNotFound
	}
	return err
}

// UndecidedTurn is an interrupted turn of a chat that a decision may continue; 0 = none.
func (rs *Requests) UndecidedTurn(ctx context.Context, key chat.Key) (turn int64, err error) {
	list, err := rs.openIn(ctx, key)
	for _, a := range list {
		if !rs.open.hasAgent(a.ID) {
			turn = max(turn, a.NeededBy)
		}
	}
	return turn, err
}

// continuation describes the turn that a decision continues.
func (rs *Requests) continuation(
	ctx context.Context, a db.Approval, by chat.Actor, l i18n.Lang,
) (*db.Decision, error) {
	over, err := rs.interrupted.ContinuedCard(ctx, a.Key, a.NeededBy, l)
	if err != nil {
		return nil, err
	}
	request := chat.Message{Actor: by, Text: rs.redact(continueMessageOf(a, l)), Time: time.Now()}
	return &db.Decision{Key: a.Key, Turn: a.NeededBy, GoOn: true, ContinueMessage: request, Over: over}, nil
}

// continueMessageOf is the decision as a message for the History.
func continueMessageOf(a db.Approval, l i18n.Lang) string {
	said := i18n.ApprovalAllowIt
	switch {
	case stream.AsksPeople(a.Tool) && a.State == convo.Allowed:
		return a.Words
	case stream.AsksPeople(a.Tool):
		said = i18n.ApprovalSkipButton
	case a.Tool == claude.PlanTool && a.State == convo.Allowed:
		said = i18n.ApprovalApproveButton
	case a.Tool == claude.PlanTool:
		said = i18n.ApprovalKeepPlanningButton
	case a.State == convo.Denied:
		said = i18n.ApprovalRefuseButton
	}
	if a.State == convo.Denied && a.Words != "" {
		return said.In(l) + " · " + fmt.Sprintf(i18n.ApprovalSaid.In(l), a.Words)
	}
	return said.In(l)
}

// decisionOf converts a stored decision for the agent.
func decisionOf(a db.Approval) claude.Decision {
	switch {
	case a.State == convo.Denied:
		return claude.Decision{Why: RefusalText(a.Tool, a.Words), Refused: true}
	case a.Answers != nil:
		return claude.Decision{Allow: true, Input: a.Answers}
	}
	return claude.Decision{Allow: true, Input: a.Input}
}

// sameCall reports whether a request is exactly the one in an approval. The description of a command may differ: the
// command that runs is the one that was shown.
func sameCall(a db.Approval, q claude.ToolAsk) bool {
	if a.Tool != q.Name {
		return false
	}
	var was, is map[string]any
	if json.Unmarshal(a.Input, &was) != nil || json.Unmarshal(q.Input, &is) != nil {
		return bytes.Equal(a.Input, q.Input)
	}
	if a.Tool == "Bash" {
		delete(was, "description")
		delete(is, "description")
	}
	return reflect.DeepEqual(was, is)
}

// maxDecidedInput limits the tool input in a reminder to the agent, in bytes. A longer one is in its session.
const maxDecidedInput = 8_000

// DecisionsForAgent describes decisions to an agent as one line of JSON.
func DecisionsForAgent(decided []db.Approval) string {
	type entry struct {
		Tool     string          `json:"tool"`
		Input    json.RawMessage `json:"input,omitempty"`
		Decision string          `json:"decision"`
		Reason   string          `json:"reason,omitempty"`
		Answers  json.RawMessage `json:"answers,omitempty"`
	}
	list := make([]entry, 0, len(decided))
	for _, a := range decided {
		e := entry{Tool: a.Tool, Input: a.Input, Decision: "allowed"}
		if a.State == convo.Denied {
			e.Decision, e.Reason = "denied", a.Words
		}
		if a.Answers != nil {
			var filled struct {
				Answers json.RawMessage `json:"answers"`
			}
			if json.Unmarshal(a.Answers, &filled) == nil {
				e.Decision, e.Answers = "answered", filled.Answers
			}
		}
		if len(e.Input) > maxDecidedInput {
			e.Input = nil
		}
		list = append(list, e)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false) // the reader is the agent
	if err := out.Encode(list); err != nil {
		return "[]"
	}
	return string(bytes.TrimSpace(b.Bytes()))
}
