package bridge

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/bridge/approval"
	"magpie/bridge/turncard"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/claude/stream"
	"magpie/internal/i18n"
)

// allow lists the rules of a chat, or revokes one. Everyone who may talk to the bot may revoke a rule: the agent only
// has to ask again.
func (cs *commandSet) allow(ctx context.Context, o invocation) (commandResult, error) {
	list, err := cs.db.Access().Rules(ctx, o.Key)
	if err != nil {
		return commandResult{}, err
	}
	words := strings.Fields(o.args)
	switch {
	case len(words) == 0 && len(list) == 0:
		return o.say(i18n.AllowNone)
	case len(words) == 0:
		return commandResult{reply: cs.ruleLines(o, list)}, nil
	// The only other form is /allow revoke N.
	case len(words) != 2 || !slices.Contains(revokeWords, strings.ToLower(words[0])):
		return o.say(i18n.AllowUsage)
	}
	number, err := strconv.ParseInt(strings.TrimPrefix(words[1], "#"), 10, 64)
	if err != nil {
		return o.say(i18n.AllowUsage)
	}
	i := slices.IndexFunc(list, func(r db.Rule) bool { return r.Number == number })
	if i < 0 {
		return o.say(i18n.AllowUnknown, number)
	}
	text := approval.RuleText(list[i].Permit, o.lang)
	return o.do(db.RevokeRule{Number: number}, i18n.AllowRevoked, number, text)
}

// ruleLines formats rules.
func (cs *commandSet) ruleLines(o invocation, rules []db.Rule) string {
	lines := []string{i18n.AllowHead.In(o.lang)}
	for _, r := range rules {
		by := i18n.SafeName(r.By.Name)
		if by != "" {
			by += " "
		}
		text := approval.RuleText(r.Permit, o.lang)
		lines = append(lines, fmt.Sprintf(i18n.AllowLine.In(o.lang), r.Number, text, workplace.FolderName(r.Project),
			by, r.Made.In(cs.zone).Format(time.DateOnly)))
	}
	return strings.Join(append(lines, i18n.AllowFoot.In(o.lang)), "\n")
}

// Limits of the list of decisions: days back, and entries.
const (
	usualDays      = 7
	maxDays        = 3650
	maxDecisions   = 40
	decisionColumn = 120 // characters of a tool's input
)

// listDecisions is the command /approvals, with an optional number of days: who decided what in a chat.
func (cs *commandSet) listDecisions(ctx context.Context, o invocation) (commandResult, error) {
	days, err := strconv.Atoi(cmp.Or(o.args, strconv.Itoa(usualDays)))
	if err != nil || days < 1 || days > maxDays {
		return o.say(i18n.DecisionsUsage)
	}
	now := time.Now()
	list, err := cs.db.Messages().Decisions(ctx, o.Key, now.AddDate(0, 0, -days), now.Add(time.Minute))
	if err != nil {
		return commandResult{}, err
	}
	head, none := i18n.DecisionsHead.Sprintf(o.lang, days), i18n.DecisionsNone.Sprintf(o.lang, days)
	if days == 1 {
		head, none = i18n.DecisionsDay.In(o.lang), i18n.DecisionsNoneDay.In(o.lang)
	}
	if len(list) == 0 {
		return commandResult{reply: none}, nil
	}
	lines := []string{head}
	if more := len(list) - maxDecisions; more > 0 {
		lines, list = append(lines, fmt.Sprintf(i18n.DecisionsMore.In(o.lang), more)), list[more:]
	}
	for _, r := range list {
		lines = append(lines, cs.decisionLine(r, o.lang))
	}
	return commandResult{reply: strings.Join(lines, "\n")}, nil
}

// decisionLine formats a decision as one line.
func (cs *commandSet) decisionLine(r db.RecordedAction, l i18n.Lang) string {
	text := "- " + r.Time.In(cs.zone).Format("01-02 15:04") + " " + decisionText(r, l) + i18n.Colon.In(l) +
		"**" + turncard.ToolName(r.Tool, l) + "**"
	if in := turncard.InputLine(json.RawMessage(r.Input)); in != "" {
		text += " " + i18n.InlineCode(i18n.Excerpt(in, decisionColumn))
	}
	switch reason := i18n.Excerpt(r.Reason, decisionColumn); {
	case reason == "" || r.By.ID == "":
	case stream.AsksPeople(r.Tool) && r.Decision == approval.AllowedOnce: // the answers, which are without effect already
		text += " · " + reason
	default:
		text += " · " + fmt.Sprintf(i18n.ApprovalSaid.In(l), i18n.PlainText(reason))
	}
	return text
}

// decidedByPerson is how people decide about what is no use of a tool to them.
var decidedByPerson = map[string]map[string]i18n.Phrase{
	claude.QuestionTool: {approval.AllowedOnce: i18n.ApprovalWasAnswered, approval.Denied: i18n.ApprovalWasSkipped},
	claude.FormTool:     {approval.AllowedOnce: i18n.ApprovalWasAnswered, approval.Denied: i18n.ApprovalWasSkipped},
	claude.PlanTool:     {approval.AllowedOnce: i18n.ApprovalWasApproved, approval.Denied: i18n.ApprovalWasNotApproved},
}

// decisionText names who decided what.
func decisionText(r db.RecordedAction, l i18n.Lang) string {
	who := cmp.Or(i18n.SafeName(r.By.Name), i18n.ApprovalSomebody.In(l))
	if rule := r.Of; rule.Number != 0 {
		allows := approval.RuleText(rule.Permit, l)
		if r.Decision == approval.AllowedAlways {
			return i18n.DecidedAlwaysRule.Sprintf(l, who, r.Rule, allows)
		}
		maker := cmp.Or(i18n.SafeName(rule.By.Name), i18n.ApprovalSomebody.In(l))
		return i18n.DecidedByRuleOf.Sprintf(l, r.Rule, allows, maker)
	}
	if says, ok := decidedByPerson[r.Tool][r.Decision]; ok && r.By.ID != "" {
		return says.Sprintf(l, who)
	}
	switch r.Decision {
	case approval.AllowedOnce:
		return i18n.DecidedAllowed.Sprintf(l, who)
	case approval.AllowedAlways:
		return i18n.DecidedAlways.Sprintf(l, who)
	case approval.AllowedByRule:
		return i18n.DecidedByRule.Sprintf(l, r.Rule)
	case approval.Unanswered:
		return i18n.DecidedByNobody.In(l)
	case approval.NotNeeded:
		return i18n.DecidedTooLate.In(l)
	}
	if r.By.ID == "" {
		return i18n.DecidedUnasked.In(l)
	}
	return i18n.DecidedDenied.Sprintf(l, who)
}
