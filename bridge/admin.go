package bridge

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// Reloaded is the result of reloading the configuration: the keys that were applied, and those that need a restart.
type Reloaded struct{ Applied, Later []string }

// adminCommands are the commands about the program as a whole: access, costs and health.
type adminCommands struct {
	cfg    *Config
	grants db.Grants
	chats  db.Chats
	access *access.Authorizer
	budget *budget
	pool   *claude.Pool
	log    zerolog.Logger
}

// whoAmI is the command /whoami.
func (cs adminCommands) whoAmI(_ context.Context, o invocation) (commandResult, error) {
	a, role := cs.access.Load(), i18n.RoleMember
	switch {
	case o.m.Actor.ID == a.Owner:
		role = i18n.RoleOwner
	case a.IsAdmin(o.m.Actor):
		role = i18n.RoleAdmin
	}
	return o.say(i18n.WhoAmI, i18n.PersonName(o.m.Actor.Name, o.m.Actor.ID), o.m.Actor.ID, o.m.Key.ID, role.In(o.lang))
}

// adminWords are the subcommands of /admin, with all their names.
var adminWords = []struct {
	names   []string
	private bool // its reply must not appear in a group
	do      func(adminCommands, context.Context, invocation) (commandResult, error)
}{
	{[]string{"users", "用户"}, true, adminCommands.adminUsers},
	{[]string{"chats", "聊天"}, false, adminCommands.adminChats},
	{[]string{"budgets", "预算"}, true, adminCommands.adminBudgets},
	{[]string{"cost", "费用"}, true, adminCommands.adminCost},
	{[]string{"reload", "重新加载"}, false, adminCommands.adminReload},
}

// administer is the command /admin.
func (cs adminCommands) administer(ctx context.Context, o invocation) (commandResult, error) {
	word, rest := splitWord(o.args)
	for _, w := range adminWords {
		if !slices.Contains(w.names, strings.ToLower(word)) {
			continue
		}
		// Figures and names of other chats are not for everybody in a group.
		if w.private && o.m.Kind != chat.Private {
			return o.say(i18n.OnlyPrivate)
		}
		o.args = rest
		return w.do(cs, ctx, o)
	}
	return o.say(i18n.AdminUsage)
}

// Words of commands that grant and revoke access.
var (
	allowWords  = []string{"allow", "允许"}
	revokeWords = []string{"revoke", "撤销"}
)

// mostListed limits the entries of a list.
const mostListed = 50

// adminUsers lists who may talk to the bot, and changes it.
func (cs adminCommands) adminUsers(ctx context.Context, o invocation) (commandResult, error) {
	word, id := splitWord(o.args)
	if word != "" {
		return cs.grant(ctx, o, word, id, userPrefix)
	}
	list, err := cs.grants.List(ctx)
	if err != nil {
		return commandResult{}, err
	}
	a, none := cs.access.Load(), i18n.Nobody.In(o.lang)
	list = slices.DeleteFunc(list, func(g db.Grant) bool { // users who became admins after they asked for access
		return g.State == db.Asked && a.IsAdmin(chat.Actor{ID: g.Subject})
	})
	decided := ""
	if len(list) == 0 {
		decided = none
	}
	var s strings.Builder
	ids := func(ids []string) string { return cmp.Or(strings.Join(ids, i18n.Listing.In(o.lang)), none) }
	fmt.Fprintf(&s, i18n.UsersHead.In(o.lang)+"\n",
		cmp.Or(a.Owner, none), ids(a.Admins), ids(a.Allow), ids(a.Deny), decided)
	for i, g := range list {
		if i == mostListed {
			break
		}
		state := map[db.GrantState]i18n.Phrase{
			db.Asked: i18n.StateAsked, db.Allowed: i18n.StateAllowed, db.Ignored: i18n.StateIgnored,
		}[g.State]
		fmt.Fprintf(&s, "- %s %s\n", listEntry(g.Name, g.Subject), state.In(o.lang))
	}
	s.WriteString(i18n.UsersUsage.In(o.lang))
	return commandResult{reply: s.String()}, nil
}

// adminChats lists the busiest chats, or grants access to everyone in a chat.
func (cs adminCommands) adminChats(ctx context.Context, o invocation) (commandResult, error) {
	word, id := splitWord(o.args)
	if word != "" {
		return cs.grant(ctx, o, word, cmp.Or(id, o.m.Key.ID), chatPrefix)
	}
	if o.m.Kind != chat.Private {
		return o.say(i18n.OnlyPrivate)
	}
	list, err := cs.budget.ledger.Chats(ctx, cs.budget.midnight(time.Now(), -29), mostListed)
	if err != nil {
		return commandResult{}, err
	}
	reply := i18n.ChatsHead.In(o.lang) + "\n" + spenderLines(list, o.lang) + i18n.ChatsUsage.In(o.lang)
	return commandResult{reply: reply}, nil
}

// grant gives or revokes access for a user, or for everyone in a chat. The configuration takes precedence.
func (cs adminCommands) grant(ctx context.Context, o invocation, word, id, kind string) (commandResult, error) {
	allow := slices.Contains(allowWords, strings.ToLower(word))
	switch {
	case !allow && !slices.Contains(revokeWords, strings.ToLower(word)):
		// The id is shown and stored, so its form is checked first.
		return o.say(i18n.AdminUsage)
	case !strings.HasPrefix(id, kind) || len(id) > 100 || strings.ContainsFunc(id, isSpace):
		return o.say(i18n.WantsID, kind)
	case allow && !platformID.MatchString(id): // one that was granted by mistake can be revoked
		return o.say(i18n.BadID, excerptOf(id), kind)
	}
	who, err := cs.grants.List(ctx)
	if err != nil {
		return commandResult{}, err
	}
	// Revoking what is not granted would be acknowledged without effect; often the rule is in the configuration.
	if !allow && !slices.ContainsFunc(who, func(g db.Grant) bool { return g.Subject == id }) {
		return o.say(i18n.NoSuchGrant)
	}
	if !allow {
		return o.do(db.RevokeAccess{Subject: id}, i18n.GrantRevoked, id)
	}
	name, given := "", i18n.GrantGiven
	if id == o.m.Key.ID {
		name = i18n.Visible(o.chat.Title)
	} else if kind == chatPrefix {
		if in, err := cs.chats.HasBot(ctx, chat.FeishuChat(id)); err != nil {
			return commandResult{}, err
		} else if !in {
			given = i18n.GrantElsewhere
		}
	}
	return o.do(db.GrantAccess{Subject: id, Name: name, By: o.m.Actor.ID}, given, id)
}

// chatPrefix and userPrefix begin the IDs of chats and of users.
const (
	chatPrefix = "oc_"
	userPrefix = "ou_"
)

var platformID = regexp.MustCompile(`^o[cu]_[0-9A-Za-z_-]+$`)

// adminBudgets shows the limits and the users who have spent most today.
func (cs adminCommands) adminBudgets(ctx context.Context, o invocation) (commandResult, error) {
	b, none := cs.budget.Load(), i18n.NoLimit.In(o.lang)
	usd := func(v float64) string {
		if v == 0 {
			return none
		}
		return i18n.USD(v, o.lang)
	}
	count := func(v int64) string {
		if v == 0 {
			return none
		}
		return i18n.Tokens(v, o.lang)
	}
	users, err := cs.budget.ledger.Users(ctx, cs.budget.midnight(time.Now(), 0), mostListed)
	if err != nil {
		return commandResult{}, err
	}
	text := fmt.Sprintf(i18n.Budgets.In(o.lang), usd(b.TurnUSD), usd(b.UserDayUSD), count(b.UserDayTokens),
		usd(b.ChatDayUSD), count(b.ChatDayTokens))
	reply := strings.TrimSpace(text + "\n" + i18n.TodayHead.In(o.lang) + "\n" + spenderLines(users, o.lang))
	return commandResult{reply: reply}, nil
}

// mostSpenders limits the users named in a report.
const mostSpenders = 10

// adminCost shows what was spent in all chats, and by whom.
func (cs adminCommands) adminCost(ctx context.Context, o invocation) (commandResult, error) {
	s, ok := findPeriod(o.args)
	if !ok {
		return o.say(i18n.AdminUsage)
	}
	p := cs.budget
	r, err := p.report(ctx, chat.Key{}, s, 0, o.lang)
	if err != nil {
		return commandResult{}, err
	}
	since := p.midnight(time.Now(), 1-s.days)
	users, err := p.ledger.Users(ctx, since, mostSpenders)
	if err != nil {
		return commandResult{}, err
	}
	chats, err := p.ledger.Chats(ctx, since, mostSpenders)
	if err != nil {
		return commandResult{}, err
	}
	models, err := p.modelSpenders(ctx, chat.Key{}, since)
	if err != nil {
		return commandResult{}, err
	}
	user, room := 0.0, 0.0 // limits per day, which only the chart of one day can show
	if b := p.Load(); s.days == 1 {
		user, room = b.UserDayUSD, b.ChatDayUSD
	}
	r.addSpenderChart(i18n.CostByUser, users, user, o.lang)
	r.addSpenderChart(i18n.CostByChat, chats, room, o.lang)
	r.addSpenderChart(i18n.CostByModel, models, 0, o.lang)
	text := i18n.ByUser.In(o.lang) + "\n" + spenderLines(users, o.lang) +
		i18n.ByChat.In(o.lang) + "\n" + spenderLines(chats, o.lang)
	return commandResult{card: r.card(text, o.lang, byModel(models, o.lang))}, nil
}

// longestListed limits a name in a list for admins, in runes.
const longestListed = 100

// shownID is the ID of a user or chat as commands and the configuration take it.
func shownID(id string) string { return strings.TrimPrefix(id, chat.FeishuChat("").String()) }

// listEntry is the name of a user or chat in a list for admins.
func listEntry(name, id string) string {
	if id == "" {
		return "–"
	}
	return strings.TrimSpace(i18n.SafeName(i18n.Truncate(i18n.Visible(name), longestListed)) + " `" + shownID(id) + "`")
}

// spenderLines lists the spenders, one per line.
func spenderLines(list []db.Spender, l i18n.Lang) string {
	var s strings.Builder
	for _, one := range list {
		fmt.Fprintf(&s, "- %s %s · %s\n", listEntry(one.Name, one.ID), i18n.USD(one.USD, l), i18n.Tokens(one.Tokens, l))
	}
	return s.String()
}

// adminReload reloads the configuration.
func (cs adminCommands) adminReload(ctx context.Context, o invocation) (commandResult, error) {
	switch {
	case cs.cfg.Reload == nil:
		return o.say(i18n.NoReload)
	case !o.late:
		return commandResult{later: true}, nil
	}
	got, err := cs.cfg.Reload(ctx)
	none := i18n.Nothing.In(o.lang)
	list := func(keys []string) string { return strings.Join(keys, i18n.Listing.In(o.lang)) }
	switch {
	case err != nil: // it names keys and lines, but no values
		cs.log.Error().Err(err).Msg("configuration not reloaded")
		return o.say(i18n.ReloadFailed)
	case len(got.Later) > 0:
		return o.say(i18n.ReloadLater, cmp.Or(list(got.Applied), none), list(got.Later))
	}
	return o.say(i18n.ReloadDone, cmp.Or(list(got.Applied), none))
}
