package bridge

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
)

// Reloaded is what became of a configuration that was read anew: the keys that count at once, and those that need a
// restart.
type Reloaded struct{ Applied, Later []string }

// whoAmI is the command /whoami.
func whoAmI(_ context.Context, o ordered) (order, error) {
	a, role := o.b.access.Load(), i18n.RoleMember
	switch {
	case o.m.Actor.ID == a.Owner:
		role = i18n.RoleOwner
	case a.IsAdmin(o.m.Actor):
		role = i18n.RoleAdmin
	}
	return o.say(i18n.WhoAmI, i18n.PersonName(o.m.Actor.Name, o.m.Actor.ID), o.m.Actor.ID, o.m.Key, role.In(o.lang))
}

// adminWords are the parts of /admin, by all that they are called.
var adminWords = []struct {
	names   []string
	private bool // what it tells is not for a group
	do      func(ctx context.Context, o ordered) (order, error)
}{
	{[]string{"users", "用户"}, true, adminUsers},
	{[]string{"chats", "聊天"}, false, adminChats},
	{[]string{"budgets", "预算"}, true, adminBudgets},
	{[]string{"cost", "费用"}, true, adminCost},
	{[]string{"reload", "重新加载"}, false, adminReload},
}

// administer is the command /admin.
func administer(ctx context.Context, o ordered) (order, error) {
	word, rest := splitWord(o.args)
	for _, w := range adminWords {
		if !slices.Contains(w.names, strings.ToLower(word)) {
			continue
		}
		if w.private && o.m.Kind != chat.Private {
			return o.say(i18n.OnlyPrivate)
		}
		o.args = rest
		return w.do(ctx, o)
	}
	return o.say(i18n.AdminUsage)
}

// The words that change who is let in.
var (
	allowWords  = []string{"allow", "允许"}
	revokeWords = []string{"revoke", "撤销"}
)

// mostListed is how much a list shows.
const mostListed = 50

// adminUsers lists who may talk to the bot, and changes it.
func adminUsers(ctx context.Context, o ordered) (order, error) {
	word, id := splitWord(o.args)
	if word != "" {
		return o.grant(ctx, word, id, "ou_")
	}
	list, err := o.b.db.Grants().List(ctx)
	if err != nil {
		return order{}, err
	}
	a, none := o.b.access.Load(), i18n.Nobody.In(o.lang)
	list = slices.DeleteFunc(list, func(g db.Grant) bool { // who became an admin after he had asked
		return g.State == db.Asked && a.IsAdmin(chat.Actor{ID: g.Subject})
	})
	decided := ""
	if len(list) == 0 {
		decided = none
	}
	var s strings.Builder
	fmt.Fprintf(&s, i18n.UsersHead.In(o.lang)+"\n", cmp.Or(a.Owner, none), cmp.Or(strings.Join(a.Admins, ", "), none),
		cmp.Or(strings.Join(a.Allow, ", "), none), cmp.Or(strings.Join(a.Deny, ", "), none), decided)
	for i, g := range list {
		if i == mostListed {
			break
		}
		state := map[db.GrantState]i18n.Phrase{db.Asked: i18n.StateAsked, db.Allowed: i18n.StateAllowed, db.Ignored: i18n.StateIgnored}[g.State]
		fmt.Fprintf(&s, "- %s %s\n", listed(g.Name, g.Subject), state.In(o.lang))
	}
	s.WriteString(i18n.UsersUsage.In(o.lang))
	return order{reply: s.String()}, nil
}

// adminChats lists the chats in which most goes on, and lets everybody in a chat talk to the bot.
func adminChats(ctx context.Context, o ordered) (order, error) {
	word, id := splitWord(o.args)
	if word != "" {
		return o.grant(ctx, word, cmp.Or(id, o.m.Key.ID), "oc_")
	}
	if o.m.Kind != chat.Private {
		return o.say(i18n.OnlyPrivate)
	}
	list, err := o.b.budget.ledger.Chats(ctx, o.b.budget.midnight(time.Now(), -29), mostListed)
	if err != nil {
		return order{}, err
	}
	return order{reply: i18n.ChatsHead.In(o.lang) + "\n" + spenders(list) + i18n.ChatsUsage.In(o.lang)}, nil
}

// grant lets a user, or everybody in a chat, talk to the bot, or not any more. The configuration counts first.
func (o ordered) grant(ctx context.Context, word, id, kind string) (order, error) {
	allow := slices.Contains(allowWords, strings.ToLower(word))
	switch {
	case !allow && !slices.Contains(revokeWords, strings.ToLower(word)):
		return o.say(i18n.AdminUsage)
	case !strings.HasPrefix(id, kind) || len(id) > 100 || strings.ContainsFunc(id, isSpace):
		return o.say(i18n.WantsID, kind)
	}
	change := &db.GrantChange{Subject: id, Allow: allow, By: o.m.Actor.ID}
	if id == o.m.Key.ID {
		change.Name = i18n.Visible(o.chat.Title)
	}
	words := i18n.GrantRevoked
	if allow {
		words = i18n.GrantGiven
	}
	who, err := o.b.db.Grants().List(ctx)
	if err != nil {
		return order{}, err
	}
	if !allow && !slices.ContainsFunc(who, func(g db.Grant) bool { return g.Subject == id }) {
		return o.say(i18n.NoSuchGrant)
	}
	done, err := o.say(words, id)
	done.grant = change
	return done, err
}

// adminBudgets shows the limits, and who has used most today.
func adminBudgets(ctx context.Context, o ordered) (order, error) {
	b, none := o.b.budget.Load(), i18n.NoLimit.In(o.lang)
	usd := func(v float64) string {
		if v == 0 {
			return none
		}
		return i18n.USD(v)
	}
	count := func(v int64) string {
		if v == 0 {
			return none
		}
		return i18n.Tokens(v)
	}
	users, err := o.b.budget.ledger.Users(ctx, o.b.budget.midnight(time.Now(), 0), mostListed)
	if err != nil {
		return order{}, err
	}
	text := fmt.Sprintf(i18n.Budgets.In(o.lang), usd(b.TurnUSD), usd(b.UserDayUSD), count(b.UserDayTokens), usd(b.ChatDayUSD), count(b.ChatDayTokens))
	return order{reply: strings.TrimSpace(text + "\n" + i18n.TodayHead.In(o.lang) + "\n" + spenders(users))}, nil
}

// mostSpenders is how many are named in a report.
const mostSpenders = 10

// adminCost shows what was spent in all chats, and by whom.
func adminCost(ctx context.Context, o ordered) (order, error) {
	s, ok := findStretch(o.args)
	if !ok {
		return o.say(i18n.AdminUsage)
	}
	p := o.b.budget
	text, err := p.report(ctx, chat.Key{}, s, o.lang)
	if err != nil {
		return order{}, err
	}
	since := p.midnight(time.Now(), 1-s.days)
	users, err := p.ledger.Users(ctx, since, mostSpenders)
	if err != nil {
		return order{}, err
	}
	chats, err := p.ledger.Chats(ctx, since, mostSpenders)
	if err != nil {
		return order{}, err
	}
	return order{reply: strings.TrimSpace(text + i18n.ByUser.In(o.lang) + "\n" + spenders(users) + i18n.ByChat.In(o.lang) + "\n" + spenders(chats))}, nil
}

// listed is how somebody, or a chat, is called in a list for admins.
func listed(name, id string) string {
	if id == "" {
		return "–"
	}
	return strings.TrimSpace(i18n.SafeName(i18n.Truncate(i18n.Visible(name), glimpse)) + " `" + id + "`")
}

// spenders lists them, a line each.
func spenders(list []db.Spender) string {
	var s strings.Builder
	for _, one := range list {
		fmt.Fprintf(&s, "- %s %s · %s\n", listed(one.Name, one.ID), i18n.USD(one.USD), i18n.Tokens(one.Tokens))
	}
	return s.String()
}

// adminReload reads the configuration anew.
func adminReload(_ context.Context, o ordered) (order, error) {
	if o.b.cfg.Reload == nil {
		return o.say(i18n.NoReload)
	}
	return order{later: func(ctx context.Context) string {
		got, err := o.b.cfg.Reload(ctx)
		none := i18n.Nothing.In(o.lang)
		switch {
		case err != nil: // it names keys and lines, and no values
			o.b.log.Error().Err(err).Msg("configuration not read anew")
			return i18n.ReloadFailed.In(o.lang)
		case len(got.Later) > 0:
			return fmt.Sprintf(i18n.ReloadLater.In(o.lang), cmp.Or(strings.Join(got.Applied, ", "), none), strings.Join(got.Later, ", "))
		}
		return fmt.Sprintf(i18n.ReloadDone.In(o.lang), cmp.Or(strings.Join(got.Applied, ", "), none))
	}}, nil
}
