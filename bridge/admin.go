package bridge

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// Reloaded is the result of reloading the configuration: the keys that were applied, and those that need a restart.
type Reloaded struct{ Applied, Later []string }

// whoAmI is the command /whoami.
func (cs *commandSet) whoAmI(_ context.Context, o invocation) (commandResult, error) {
	a, who, role := cs.access.Load(), o.Actor, i18n.RoleMember
	switch {
	case a.IsOwner(who):
		role = i18n.RoleOwner
	case a.IsAdmin(who):
		role = i18n.RoleAdmin
	}
	return o.say(i18n.WhoAmI, i18n.PersonName(who.Name, who.ID), who.ID, o.Key.Room(), role.In(o.lang))
}

// adminWords are the subcommands of /admin, with all their names.
var adminWords = []struct {
	names   []string
	private bool // its reply must not appear in a group
	do      func(*commandSet, context.Context, invocation) (commandResult, error)
}{
	{[]string{"users", "用户"}, true, (*commandSet).adminUsers},
	{[]string{"chats", "聊天"}, false, (*commandSet).adminChats},
	{[]string{"budgets", "预算"}, true, (*commandSet).adminBudgets},
	{[]string{"cost", "费用"}, true, (*commandSet).adminCost},
	{[]string{"reload", "重新加载"}, false, (*commandSet).adminReload},
}

// administer is the command /admin.
func (cs *commandSet) administer(ctx context.Context, o invocation) (commandResult, error) {
	word, rest := splitWord(o.args)
	for _, w := range adminWords {
		if !slices.Contains(w.names, strings.ToLower(word)) {
			continue
		}
		// Figures and names of other chats are not for everybody in a group.
		if w.private && o.Kind != chat.Private {
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

// maxListed limits the entries of a list.
const maxListed = 50

// adminUsers lists who may talk to the bot, and changes it.
func (cs *commandSet) adminUsers(ctx context.Context, o invocation) (commandResult, error) {
	word, id := splitWord(o.args)
	if word != "" {
		return cs.grant(ctx, o, word, id, chat.UserID)
	}
	list, err := cs.db.Access().Grants(ctx)
	if err != nil {
		return commandResult{}, err
	}
	a, none := cs.access.Load(), i18n.Nobody.In(o.lang)
	list = slices.DeleteFunc(list, func(g db.Grant) bool { // users who became admins after they asked for access
		return g.Decided.IsZero() && a.IsAdmin(chat.Actor{ID: g.Subject})
	})
	decided := ""
	if len(list) == 0 {
		decided = none
	}
	var s strings.Builder
	ids := func(ids []string) string { return cmp.Or(strings.Join(ids, i18n.Enumeration.In(o.lang)), none) }
	fmt.Fprintf(&s, i18n.UsersHead.In(o.lang)+"\n",
		ids(a.OwnerUsers()), ids(a.Admins), ids(a.Allow), ids(a.Deny), decided)
	for i, g := range list {
		if i == maxListed {
			break
		}
		state := i18n.StateIgnored
		switch {
		case g.Decided.IsZero():
			state = i18n.StateAsked
		case g.Allowed:
			state = i18n.StateAllowed
		}
		fmt.Fprintf(&s, "- %s %s\n", listEntry(g.Name, g.Subject), state.In(o.lang))
	}
	s.WriteString(i18n.UsersUsage.In(o.lang))
	return commandResult{reply: s.String()}, nil
}

// adminChats lists the busiest chats, or grants access to everyone in a chat.
func (cs *commandSet) adminChats(ctx context.Context, o invocation) (commandResult, error) {
	word, id := splitWord(o.args)
	if word != "" {
		return cs.grant(ctx, o, word, cmp.Or(id, o.Key.Room()), chat.RoomID)
	}
	if o.Kind != chat.Private {
		return o.say(i18n.OnlyPrivate)
	}
	p := cs.budget
	list, err := p.ledger.Spenders(ctx, "chat", chat.Key{}, p.midnight(time.Now(), -29), maxListed)
	if err != nil {
		return commandResult{}, err
	}
	reply := i18n.ChatsHead.In(o.lang) + "\n" + spenderLines(list, o.lang) + i18n.ChatsUsage.In(o.lang)
	return commandResult{reply: reply}, nil
}

// grant gives or revokes access for a user, or for everyone in a chat. The configuration takes precedence.
func (cs *commandSet) grant(ctx context.Context, o invocation, word, id string, kind chat.IDKind) (commandResult, error) {
	allow := slices.Contains(allowWords, strings.ToLower(word))
	switch {
	case !allow && !slices.Contains(revokeWords, strings.ToLower(word)):
		// The id is shown and stored, so its form is checked first.
		return o.say(i18n.AdminUsage)
	case chat.KindOf(id) != kind || len(id) > 100:
		return o.say(wantsID[kind])
	case allow && oddInID.MatchString(id): // one that was granted by mistake can be revoked
		return o.say(i18n.BadID, excerptOf(id), wantsID[kind].In(o.lang))
	}
	who, err := cs.db.Access().Grants(ctx)
	if err != nil {
		return commandResult{}, err
	}
	// Revoking what is not granted would be acknowledged without effect; often the rule is in the configuration.
	if !allow && !slices.ContainsFunc(who, func(g db.Grant) bool { return g.Subject == id }) {
		return o.say(i18n.NoSuchGrant)
	}
	if !allow {
		return o.do(db.SetAccess{Subject: id}, i18n.GrantRevoked, id)
	}
	name, given := "", i18n.GrantGiven
	if id == o.Key.Room() {
		name = i18n.Visible(o.chat.Title)
	} else if room, err := chat.ParseRoom(id); kind == chat.RoomID && err == nil {
		if in, err := cs.db.Chats().HasBot(ctx, room); err != nil {
			return commandResult{}, err
		} else if !in {
			given = i18n.GrantElsewhere
		}
	}
	return o.do(db.SetAccess{Subject: id, Allowed: true, Name: name, By: o.Actor.ID}, given, id)
}

// wantsID asks for the ID of a user or of a chat.
var wantsID = map[chat.IDKind]i18n.Phrase{chat.UserID: i18n.WantsUserID, chat.RoomID: i18n.WantsChatID}

// oddInID matches what an ID that is granted must not contain: it is shown.
var oddInID = regexp.MustCompile(`[^0-9A-Za-z_:.@-]`)

// adminBudgets shows the limits and the users who have spent most today.
func (cs *commandSet) adminBudgets(ctx context.Context, o invocation) (commandResult, error) {
	p, none := cs.budget, i18n.NoLimit.In(o.lang)
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
	users, err := p.ledger.Spenders(ctx, "user", chat.Key{}, p.midnight(time.Now(), 0), maxListed)
	if err != nil {
		return commandResult{}, err
	}
	b := p.Load()
	text := fmt.Sprintf(i18n.Budgets.In(o.lang), usd(b.TurnUSD), usd(b.UserDayUSD), count(b.UserDayTokens),
		usd(b.ChatDayUSD), count(b.ChatDayTokens))
	reply := strings.TrimSpace(text + "\n" + i18n.TodayHead.In(o.lang) + "\n" + spenderLines(users, o.lang))
	return commandResult{reply: reply}, nil
}

// maxSpenders limits the users named in a report.
const maxSpenders = 10

// adminCost shows what was spent in all chats, and by whom.
func (cs *commandSet) adminCost(ctx context.Context, o invocation) (commandResult, error) {
	p, days := cs.budget, daysOf(o.args)
	if days == 0 {
		return o.say(i18n.AdminUsage)
	}
	card, err := p.costCard(ctx, chat.Key{}, days, 0, o.lang)
	if err != nil {
		return commandResult{}, err
	}
	since := p.midnight(time.Now(), 1-days)
	users, err := p.ledger.Spenders(ctx, "user", chat.Key{}, since, maxSpenders)
	if err != nil {
		return commandResult{}, err
	}
	chats, err := p.ledger.Spenders(ctx, "chat", chat.Key{}, since, maxSpenders)
	if err != nil {
		return commandResult{}, err
	}
	models, err := p.modelSpenders(ctx, chat.Key{}, since)
	if err != nil {
		return commandResult{}, err
	}
	user, room := 0.0, 0.0 // limits per day, which only the chart of one day can show
	if b := p.Load(); days == 1 {
		user, room = b.UserDayUSD, b.ChatDayUSD
	}
	addSpenderChart(card, i18n.CostByUser, users, user, o.lang)
	addSpenderChart(card, i18n.CostByChat, chats, room, o.lang)
	addSpenderChart(card, i18n.CostByModel, models, 0, o.lang)
	addList(card, i18n.ByModel.In(o.lang), spenderLines(models, o.lang))
	card.Body = strings.TrimSpace(card.Body + i18n.ByUser.In(o.lang) + "\n" + spenderLines(users, o.lang) +
		i18n.ByChat.In(o.lang) + "\n" + spenderLines(chats, o.lang))
	return commandResult{card: card}, nil
}

// longestListed limits a name in a list for admins, in runes.
const longestListed = 100

// shownID is the ID of a user or chat as commands and the configuration take it.
func shownID(id string) string {
	key, err := chat.ParseKey(id)
	if err != nil { // a user
		return id
	}
	return key.Room() + strings.TrimPrefix(id, key.Parent().String())
}

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
func (cs *commandSet) adminReload(ctx context.Context, o invocation) (commandResult, error) {
	switch {
	case cs.cfg.Reload == nil:
		return o.say(i18n.NoReload)
	case !o.late:
		return commandResult{later: true}, nil
	}
	got, err := cs.cfg.Reload(ctx)
	none := i18n.Nothing.In(o.lang)
	list := func(keys []string) string { return strings.Join(keys, i18n.Enumeration.In(o.lang)) }
	switch {
	case err != nil: // it names keys and lines, but no values
		cs.log.Error().Err(err).Msg("configuration not reloaded")
		return o.say(i18n.ReloadFailed)
	case len(got.Later) > 0:
		return o.say(i18n.ReloadLater, cmp.Or(list(got.Applied), none), list(got.Later))
	}
	return o.say(i18n.ReloadDone, cmp.Or(list(got.Applied), none))
}
