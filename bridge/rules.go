package bridge

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"magpie/bridge/approval"
	"magpie/bridge/i18n"
	"magpie/db"
)

// allow lists the rules of a chat, or revokes one. Everyone who may talk to the bot may revoke a rule: the agent only
// has to ask again.
func (cs *commandSet) allow(ctx context.Context, o invocation) (commandResult, error) {
	list, err := cs.db.Rules().List(ctx, o.Key)
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
		lines = append(lines, fmt.Sprintf(i18n.AllowLine.In(o.lang), r.Number, text, projectName(r.Project),
			by, r.Made.In(cs.zone).Format(time.DateOnly)))
	}
	return strings.Join(append(lines, i18n.AllowFoot.In(o.lang)), "\n")
}
