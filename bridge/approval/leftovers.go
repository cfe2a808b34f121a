package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/failpoint"
)

// InterruptedTurns provides what a decision needs to know about turns that a shutdown has interrupted.
type InterruptedTurns interface {
	// AwaitRecovery waits until the turns of the previous run are recovered.
	AwaitRecovery(ctx context.Context) error
	// ContinuedCard is the card of an interrupted turn that another turn continues.
	ContinuedCard(ctx context.Context, key chat.Key, turn int64, l i18n.Lang) (chat.Card, error)
	// AskNoMore shows that an interrupted turn waits for no decision after this one has come too late. It returns
	// [db.ErrNotFound] if that is not so.
	AskNoMore(ctx context.Context, a db.Approval, l i18n.Lang) error
	// Wake starts work on the chat's turns.
	Wake(key chat.Key)
}

// leftovers are approvals whose agent is gone because a shutdown has interrupted its turn. People may still decide, and
// the turn that continues it gets the decision.
type leftovers struct {
	*settler
	access   *access.Authorizer
	reserved ReservedPaths // files that only admins decide about
}

// Recover reopens the approvals of the previous run that a turn still needs; people decide as usual. The others are
// withdrawn. The turns must have been recovered first.
func (ls *leftovers) Recover(ctx context.Context) error {
	list, err := ls.store.Approvals().Waiting(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		needed, err := ls.store.Approvals().IsNeeded(ctx, a)
		if err != nil {
			return err
		}
		if needed {
			ls.keepOpen(ctx, a)
			continue
		}
		if err := ls.withdraw(ctx, a); err != nil && !db.Permanent(err) {
			return err
		}
	}
	return ls.deliver(ctx)
}

// withdraw ends an approval that no turn needs.
func (ls *leftovers) withdraw(ctx context.Context, a db.Approval) error {
	from := a.State
	a.Settlement = db.Settlement{State: db.Withdrawn}
	ls.log.Warn().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).
		Msg("no turn needs what people were asked")
	err := ls.settle(ctx, a, db.Settling{From: from, Card: Card(a, ls.language(ctx, a.Key))})
	ls.outbox.Wake(a.Key)
	return err
}

// mostContinued is how often a start of the program continues a turn for the same decision. The turn may be what ends
// the program.
const mostContinued = 3

// deliver continues turns that were interrupted just after their decision was made. If the turn has ended since, nothing
// was run.
func (ls *leftovers) deliver(ctx context.Context) error {
	list, err := ls.store.Approvals().Undelivered(ctx)
	if err != nil {
		return err
	}
	for _, a := range list {
		needed, err := ls.store.Approvals().IsNeeded(ctx, a)
		if err != nil {
			return err
		}
		pass := ls.continueTurn
		switch {
		case !needed && a.State == db.Approved:
			pass = ls.withdraw
		case a.Continued >= mostContinued:
			pass = ls.giveUp
		}
		// If it is not found, the turn continues already, or has ended.
		if err := pass(ctx, a); err != nil && !db.Permanent(err) {
			return err
		}
	}
	return nil
}

// continueTurn continues the turn that needs a decision.
func (ls *leftovers) continueTurn(ctx context.Context, a db.Approval) error {
	how, err := ls.continuation(ctx, a, a.By, ls.language(ctx, a.Key))
	if err != nil {
		return err
	}
	err = ls.store.Turns().Interruptions().Decide(ctx, db.Decision{
		Key: a.Key, Turn: a.NeededBy, GoOn: true, ContinueMessage: how.ContinueMessage, Over: how.Over, Approval: a.ID,
	})
	if err == nil {
		ls.interrupted.Wake(a.Key)
	}
	return err
}

// giveUp withdraws a decision, and tells people that it was not used.
func (ls *leftovers) giveUp(ctx context.Context, a db.Approval) error {
	l, from := ls.language(ctx, a.Key), a.State
	a.Settlement = db.Settlement{State: db.Withdrawn}
	err := ls.settle(ctx, a, db.Settling{From: from, Card: Card(a, l), GiveUp: i18n.ApprovalNotPassedOn.In(l)})
	if err == nil {
		ls.log.Error().Stringer("chat", a.Key).Int64("turn", a.NeededBy).Str("approval", a.ID).
			Msg("the program has ended each time that a turn went on with its decision; not trying again")
		ls.outbox.Wake(a.Key)
	}
	return err
}

// keepOpen leaves an approval without an agent open for the rest of its time.
func (ls *leftovers) keepOpen(ctx context.Context, a db.Approval) {
	about := ls.reserved.PathsOf(ctx, a.Key, claude.ToolAsk{Name: a.Tool, Input: a.Input}, a.Project)
	p := pending{approval: a, admins: adminsOnly(ls.access.Load(), a, about)}
	if !ls.open.register(p, func() []*time.Timer { return ls.startTimers(a) }) {
		return
	}
	ls.log.Info().Stringer("chat", a.Key).Int64("turn", a.Turn).Str("approval", a.ID).
		Msg("people may still decide what an earlier run has asked")
}

// openCard is the card of an open approval.
func (ls *leftovers) openCard(ctx context.Context, p pending, about TouchedPaths) chat.Card {
	l := ls.language(ctx, p.approval.Key)
	card := Card(p.approval, l)
	if p.explains {
		card = ExplainCard(p.approval, l)
	}
	if p.admins {
		card.Footer = strings.TrimSpace(about.AdminsOnlyText(l) + " " + card.Footer)
	}
	return card
}

// redraw draws the card of an open approval again. It returns [db.ErrNotFound] if the approval is not open any more.
func (ls *leftovers) redraw(ctx context.Context, id string) error {
	p, ok := ls.open.get(id)
	if !ok {
		return db.ErrNotFound
	}
	a := p.approval
	about := ls.reserved.PathsOf(ctx, a.Key, claude.ToolAsk{Name: a.Tool, Input: a.Input}, a.Project)
	if err := ls.store.Approvals().Redraw(ctx, a, ls.openCard(ctx, p, about)); err != nil {
		return err
	}
	ls.outbox.Wake(a.Key)
	return nil
}

// detachAgent leaves the approvals of a turn open although its agent is gone.
func (ls *leftovers) detachAgent(turn int64) {
	ls.open.change(func(p *pending) bool {
		if p.approval.NeededBy != turn {
			return false
		}
		p.askID, p.answer = "", nil
		return true
	})
}

// TakeOver moves the open approvals of the turns that t continues to t. It returns the decisions made meanwhile, for
// the agent.
func (ls *leftovers) TakeOver(ctx context.Context, t db.Turn) (decided []db.Approval) {
	if t.Continues == 0 {
		return nil
	}
	list, err := ls.store.Approvals().UndeliveredTo(ctx, t.ID)
	if err != nil { // the agent asks again
		zerolog.Ctx(ctx).Error().Err(err).Msg("decisions about an interrupted turn not read")
		return nil
	}
	ls.open.change(func(p *pending) bool {
		mine := slices.ContainsFunc(list, func(a db.Approval) bool { return a.ID == p.approval.ID })
		if mine {
			p.approval.NeededBy = t.ID
		}
		return mine
	})
	return slices.DeleteFunc(list, func(a db.Approval) bool { return a.State == db.Waiting })
}

// PassOn moves the open approvals of a follow-up that has ended to the next one: subagents still wait for them.
func (ls *leftovers) PassOn(ended, next int64) {
	ls.open.change(func(p *pending) bool {
		if p.approval.NeededBy != ended {
			return false
		}
		p.approval.NeededBy = next
		return true
	})
}

// answerRepeated checks whether an agent that continues an interrupted turn repeats a request of its predecessor. If so
// it delivers the decision, or has the agent wait for it. done is false for a different request.
func (ls *leftovers) answerRepeated(ctx context.Context, c db.Claim, w Workspace, r request) (waits, done bool) {
	if c.Turn.Continues == 0 {
		return false, false
	}
	log := zerolog.Ctx(ctx).With().Str("tool", r.ask.Name).Logger()
	list, err := ls.store.Approvals().UndeliveredTo(ctx, c.Turn.ID)
	if err != nil { // people are asked again
		log.Error().Err(err).Msg("decisions about an interrupted turn not read")
		return false, false
	}
	i := slices.IndexFunc(list, func(a db.Approval) bool { return a.Project == w.Dir && sameCall(a, r.ask) })
	if i < 0 {
		return false, false
	}
	a := list[i]
	onlyAdmins := adminsOnly(ls.access.Load(), a, r.touched)
	if ls.adopt(a.ID, r, onlyAdmins) {
		log.Info().Str("approval", a.ID).Msg("the agent repeats a request that is still open")
		return true, true
	}
	if a.State == db.Waiting { // it was decided just now
		a, err = ls.store.Approvals().Get(ctx, a.ID)
	}
	if err == nil && a.State == db.Approved && onlyAdmins && !ls.access.Load().IsAdmin(a.By) {
		log.Warn().Str("approval", a.ID).Msg("an earlier decision is now reserved for admins; asking again")
		return false, false
	}
	if err == nil {
		err = ls.store.Approvals().MarkDelivered(context.WithoutCancel(ctx), a)
	}
	if err != nil {
		log.Error().Err(err).Str("approval", a.ID).Msg("decision cannot be used; asking again")
		return false, false
	}
	failpoint.At("decision: used")
	log.Info().Str("approval", a.ID).Str("state", string(a.State)).Msg("request decided before")
	r.answer(decisionOf(a))
	return false, true
}

// adopt lets an agent wait for an open approval without one. It returns false if there is no such approval.
func (ls *leftovers) adopt(id string, r request, admins bool) bool {
	return ls.open.change(func(p *pending) bool {
		if p.approval.ID != id || p.answer != nil {
			return false
		}
		p.askID, p.answer, p.admins = r.ask.ID, r.answer, p.admins || admins
		return true
	})
}

// Reconsider withdraws approvals of a chat that no turn needs any more: an interrupted turn was dropped, or a new
// conversation has begun.
func (ls *leftovers) Reconsider(key chat.Key) {
	ls.jobs.Enqueue(func(ctx context.Context) {
		for _, a := range ls.open.withoutAgent(key) {
			log := ls.log.With().Stringer("chat", key).Str("approval", a.ID).Logger()
			a, err := ls.store.Approvals().Get(ctx, a.ID) // another turn may have taken it over
			needed := false
			if err == nil {
				needed, err = ls.store.Approvals().IsNeeded(ctx, a)
			}
			if err == nil && !needed {
				a.State = db.Withdrawn
				err = ls.resolve(ctx, a, db.Settling{From: db.Waiting}, claude.Decision{Why: notAsked})
			}
			if err != nil && !errors.Is(err, db.ErrNotFound) { // it expires
				log.Error().Err(err).Msg("unneeded approval not withdrawn")
			}
		}
	})
}

// UndecidedTurn is an interrupted turn of a chat that a decision may continue; 0 = none.
func (ls *leftovers) UndecidedTurn(key chat.Key) (turn int64) {
	for _, a := range ls.open.withoutAgent(key) {
		turn = max(turn, a.NeededBy)
	}
	return turn
}

// continuation describes the turn that a decision continues.
func (ls *leftovers) continuation(
	ctx context.Context, a db.Approval, by chat.Actor, l i18n.Lang,
) (*db.Continuation, error) {
	over, err := ls.interrupted.ContinuedCard(ctx, a.Key, a.NeededBy, l)
	if err != nil {
		return nil, err
	}
	request := chat.Message{Actor: by, Text: ls.redact(continueMessageOf(a, l)), Time: time.Now()}
	return &db.Continuation{ContinueMessage: request, Over: over}, nil
}

// continueMessageOf is the decision as a message for the History.
func continueMessageOf(a db.Approval, l i18n.Lang) string {
	said := i18n.ApprovalAllowIt
	switch {
	case claude.AsksPeople(a.Tool) && a.State == db.Approved:
		return a.Words
	case claude.AsksPeople(a.Tool):
		said = i18n.ApprovalSkipButton
	case a.Tool == claude.PlanTool && a.State == db.Approved:
		said = i18n.ApprovalApproveButton
	case a.Tool == claude.PlanTool:
		said = i18n.ApprovalKeepPlanningButton
	case a.State == db.Refused:
		said = i18n.ApprovalRefuseButton
	}
	if a.State == db.Refused && a.Words != "" {
		return said.In(l) + " · " + fmt.Sprintf(i18n.ApprovalSaid.In(l), a.Words)
	}
	return said.In(l)
}

// decisionOf converts a stored decision for the agent.
func decisionOf(a db.Approval) claude.Decision {
	switch {
	case a.State == db.Refused:
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
		if a.State == db.Refused {
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
