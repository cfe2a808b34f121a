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

// allow lists what is always allowed in a chat, or revokes it. To take a permission back is free to everybody who may
// talk here: it only makes the agent ask again.
func allow(ctx context.Context, o ordered) (order, error) {
	list, err := o.b.approvals.rules.List(ctx, o.m.Key)
	if err != nil {
		return order{}, err
	}
	words := strings.Fields(o.args)
	switch {
	case len(words) == 0 && len(list) == 0:
		return o.say(i18n.AllowNone)
	case len(words) == 0:
		return order{reply: o.rules(list)}, nil
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
	done, err := o.say(i18n.AllowRevoked, number, approval.RuleText(list[i].Permit, o.lang))
	done.revoke = number
	return done, err
}

// rules lists rules.
func (o ordered) rules(list []db.Rule) string {
	lines := []string{i18n.AllowHead.In(o.lang)}
	for _, r := range list {
		by := i18n.SafeName(r.By.Name)
		if by != "" {
			by += " "
		}
		lines = append(lines, fmt.Sprintf(i18n.AllowLine.In(o.lang), r.Number, approval.RuleText(r.Permit, o.lang), projectName(r.Project),
			by, r.Made.In(o.b.context.Zone()).Format(time.DateOnly)))
	}
	return strings.Join(append(lines, i18n.AllowFoot.In(o.lang)), "\n")
}
