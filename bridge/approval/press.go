package approval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// Press handles a decision, and returns the toast to show. A press that does not match the request, or comes from a
// user who may not decide, has no effect.
func (rs *Requests) Press(ctx context.Context, p chat.Press, l i18n.Lang) (toast string, err error) {
	id, _, _ := strings.Cut(p.Action.ID, ".")
	log := rs.log.With().Stringer("chat", p.Key).Str("user", p.Actor.ID).Str("approval", id).
		Str("do", p.Action.Do).Logger()
	p = withOption(p)
	if err := rs.awaitRecovery(ctx, p.Key); err != nil {
		return "", err
	}
	a, err := rs.store.Access().Approval(ctx, id)
	if errors.Is(err, db.ErrNotFound) {
		log.Warn().Msg("press for an unknown approval")
		return i18n.ApprovalOver.In(l), nil
	} else if err != nil {
		return "", err
	}
	if why := rs.objection(a, p, l, log); why != "" {
		return why, nil
	}
	if p.Action.Do == DoExplain {
		return rs.askReason(ctx, a, l)
	}
	toast, _, err = rs.settlePress(ctx, a, p, "", l, log)
	return toast, err
}

// settlePress settles an approval as a press that has passed all checks decides. prompt is not empty for a message that
// decides; see [db.Settling]. settled is false if the press has no effect.
func (rs *Requests) settlePress(
	ctx context.Context, a db.Approval, p chat.Press, prompt string, l i18n.Lang, log zerolog.Logger,
) (toast string, settled bool, err error) {
	d, err := rs.evaluate(ctx, a, p, l)
	if err != nil || d.Objection != "" {
		return d.Objection, false, err
	}
	a.Settlement = d.Settlement
	s := db.Settling{From: convo.Waiting, Event: p.ID, Always: p.Action.Do == DoAlways, Prompt: prompt}
	// The agent may be gone by the time this is stored.
	if s.GoOn, err = rs.continuation(ctx, a, p.Actor, l); err != nil {
		return "", false, err
	}
	stored, err := rs.storeSoon(ctx, func(ctx context.Context) error { return rs.resolve(ctx, a, s, d.Agent) })
	switch {
	case !stored:
		return i18n.ApprovalNoted.In(l), true, nil
	case errors.Is(err, db.ErrRepeated), errors.Is(err, db.ErrNotFound):
		log.Info().Msg("press for a settled or unneeded approval")
		rs.Reconsider(a.Key)
		return i18n.ApprovalOver.In(l), false, nil
	case err != nil:
		return "", false, err
	}
	log.Info().Stringer("state", a.State).Str("tool", a.Tool).Msg("approval decided")
	return d.Toast, true, nil
}

// evaluate is [Decide] that names the user.
func (rs *Requests) evaluate(ctx context.Context, a db.Approval, p chat.Press, l i18n.Lang) (Decision, error) {
	if p.Actor.Name == "" { // asking the platform would take too long
		asked, err := rs.store.Messages().Questions(ctx, db.Turn{Key: a.Key, ID: a.Turn})
		if err != nil {
			return Decision{}, err
		}
		for _, m := range asked {
			if m.Actor.ID == p.Actor.ID {
				p.Actor.Name = cmp.Or(p.Actor.Name, m.Actor.Name)
			}
		}
	}
	return Decide(a, p, l), nil
}

// askReason shows the field for the reason of a refusal on the card of an approval. A second press does not draw it
// again, which would clear what somebody is writing.
func (rs *Requests) askReason(ctx context.Context, a db.Approval, l i18n.Lang) (toast string, err error) {
	if stream.AsksPeople(a.Tool) {
		return i18n.ApprovalOver.In(l), nil
	}
	set := func(explains bool) bool {
		return rs.open.change(a.ID, func(p *pending) bool {
			changes := p.explains != explains
			p.explains = explains
			return changes
		})
	}
	if !set(true) {
		return i18n.ApprovalWhyBelow.In(l), nil
	}
	stored, err := rs.storeSoon(ctx, func(ctx context.Context) error {
		err := rs.redraw(ctx, a)
		if err != nil {
			set(false)
		}
		return err
	})
	switch {
	case !stored:
		return i18n.ApprovalNoted.In(l), nil
	case errors.Is(err, db.ErrNotFound): // somebody decided just now
		return i18n.ApprovalOver.In(l), nil
	case err != nil:
		return "", err
	}
	return i18n.ApprovalWhyBelow.In(l), nil
}

// objection is why a press has no effect on an approval, whatever its form contains; empty = it has.
func (rs *Requests) objection(a db.Approval, p chat.Press, l i18n.Lang, log zerolog.Logger) string {
	sameChat := a.Key.Parent() == p.Key.Parent()
	waiting, open := rs.open.get(a.ID)
	switch rules := rs.access.At(p.Key); {
	case !sameChat || a.Turn != p.Action.Turn || p.Action.ID != ActionID(a):
		log.Warn().Stringer("asked_in", a.Key).Msg("press does not match the request of its approval")
		return i18n.ApprovalOver.In(l)
	case a.State != convo.Waiting || !open:
		log.Info().Stringer("state", a.State).Msg("press for a settled approval")
		return i18n.ApprovalOver.In(l)
	case !mayDecide(rules, a, p.Actor):
		log.Warn().Msg("press by a user who may not decide")
		return i18n.ApprovalNotYours.In(l)
	case p.Action.Do != DoRefuse && p.Action.Do != DoExplain && waiting.admins && !rules.IsAdmin(p.Actor):
		log.Warn().Msg("a user who is not an admin tried to allow what only admins may")
		return i18n.AdminsAllow.In(l)
	}
	return ""
}

const (
	// recoveryWait is how long a press waits for the recovery of the previous run. The platform waits three seconds
	// for the reply.
	recoveryWait = 2 * time.Second
	// soon is how long a press waits for its decision to be stored.
	soon = 700 * time.Millisecond
)

// awaitRecovery waits for the recovery of the previous run, but no longer than a press may take.
func (rs *Requests) awaitRecovery(ctx context.Context, key chat.Key) error {
	ctx, stop := context.WithTimeout(ctx, recoveryWait)
	defer stop()
	return rs.interrupted.AwaitRecovery(ctx, key)
}

// storeSoon stores something for a press. It returns false if that takes longer than a press may take; the card will
// show it.
func (rs *Requests) storeSoon(ctx context.Context, store func(context.Context) error) (stored bool, err error) {
	done := make(chan error, 1)
	rs.jobs.Enqueue(func(ctx context.Context) { done <- store(ctx) })
	t := time.NewTimer(soon)
	defer t.Stop()
	select {
	case err = <-done:
		return true, err
	case <-t.C:
	case <-ctx.Done():
	}
	return false, nil
}

// mayDecide reports whether a user may decide about an approval: the askers of its turn and admins may. Even where only
// admins may allow, an asker may refuse.
func mayDecide(a access.Config, ap db.Approval, who chat.Actor) bool {
	return slices.Contains(ap.Askers, who.ID) || a.IsAdmin(who)
}

// adminsOnly reports whether only admins may allow a request. Questions are always for the askers.
func adminsOnly(a access.Config, tool string, touched TouchedPaths) bool {
	return touched.Any() || a.Deciders == access.AdminsDecide && !stream.AsksPeople(tool)
}

// nobodyDecides reports whether no admin can press a button in the chat of a turn: there is no admin, or it is the
// private chat of another user.
func nobodyDecides(a access.Config, c db.Claim) bool {
	asksAdmin := slices.ContainsFunc(c.Asked, func(m chat.Message) bool { return a.IsAdmin(m.Actor) })
	return !a.HasAdmin() || c.Chat.Kind == chat.Private && !asksAdmin
}

// Decision is the effect of a press.
type Decision struct {
	Settlement db.Settlement
	Agent      claude.Decision
	Toast      string // for the user who pressed
	Objection  string // why the press has no effect; empty = it has one
}

// Decide evaluates a press that has passed all checks.
func Decide(a db.Approval, p chat.Press, l i18n.Lang) Decision {
	switch {
	case p.Action.Do == DoRefuse:
		words := strings.TrimSpace(strings.Join(p.Values[whyField], " "))
		return Decision{
			Settlement: db.Settlement{State: convo.Denied, By: p.Actor, Words: words},
			Agent:      claude.Decision{Why: RefusalText(a.Tool, words), Refused: true}, Toast: refusalReply(a.Tool).In(l),
		}
	case p.Action.Do == DoAlways && a.Always == nil, p.Action.Do == DoChoose && !stream.AsksPeople(a.Tool),
		p.Action.Do == DoExplain:
		return Decision{Objection: i18n.ApprovalOver.In(l)}
	case !stream.AsksPeople(a.Tool):
		d := Decision{
			Settlement: db.Settlement{State: convo.Allowed, By: p.Actor},
			Agent:      claude.Decision{Allow: true, Input: a.Input}, Toast: i18n.ApprovalAllowed.In(l),
		}
		if p.Action.Do == DoAlways {
			d.Settlement.Words = fmt.Sprintf(i18n.ApprovalFromNowOn.In(l), scopeText(*a.Always, l))
		}
		return d
	}
	answers, objection, err := answersOf(a, p.Values, l)
	switch {
	case err != nil:
		return Decision{Objection: i18n.ApprovalOver.In(l)}
	case objection != "":
		return Decision{Objection: objection}
	}
	return Decision{
		Settlement: db.Settlement{State: convo.Allowed, By: p.Actor, Words: answers.text(), Answers: answers.input},
		Agent:      claude.Decision{Allow: true, Input: answers.input}, Toast: i18n.ApprovalAnswered.In(l),
	}
}

// RefusalText tells the agent that a user has refused.
func RefusalText(tool, comment string) string {
	text := "The user does not allow this. Do not try it again or by other means; " +
		"go on without it, or ask what they want instead."
	switch tool {
	case claude.PlanTool:
		text = "The user does not approve the plan yet. Keep planning, and do not begin with the work."
	case claude.QuestionTool, claude.FormTool:
		text = "The user does not want to answer these questions. " +
			"Go on as well as you can without the answers, or end here."
	}
	if comment != "" {
		text += " They say: " + comment
	}
	return text
}

// undecidedText tells the agent that nobody has decided in time.
func undecidedText(tool string) string {
	switch tool {
	case claude.PlanTool:
		return "Nobody has approved the plan in time. Do not begin with the work, and do not ask for it again. " +
			"Tell the user what the plan is, so that they can come back to it."
	case claude.QuestionTool, claude.FormTool:
		return "Nobody has answered these questions in time. Do not ask them again. " +
			"Go on as well as you can without the answers, or end here and tell the user what you need to know."
	}
	return notDecided
}

// refusalReply is the reply to the user who refused.
func refusalReply(tool string) i18n.Phrase {
	switch tool {
	case claude.PlanTool:
		return i18n.ApprovalKeepsPlanning
	case claude.QuestionTool, claude.FormTool:
		return i18n.ApprovalNotAnswered
	}
	return i18n.ApprovalRefused
}
