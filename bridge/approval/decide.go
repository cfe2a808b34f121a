package approval

import (
	"fmt"
	"strings"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

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
			Settlement: db.Settlement{State: db.Refused, By: p.Actor, Words: words},
			Agent:      claude.Decision{Why: RefusalText(a.Tool, words), Refused: true}, Toast: refusalReply(a.Tool).In(l),
		}
	case p.Action.Do == DoAlways && a.Always == nil, p.Action.Do == DoChoose && !claude.AsksPeople(a.Tool),
		p.Action.Do == DoExplain:
		return Decision{Objection: i18n.ApprovalOver.In(l)}
	case !claude.AsksPeople(a.Tool):
		d := Decision{
			Settlement: db.Settlement{State: db.Approved, By: p.Actor},
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
		Settlement: db.Settlement{State: db.Approved, By: p.Actor, Words: answers.text(), Answers: answers.input},
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
