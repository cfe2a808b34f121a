package bridge

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// Reloaded is the result of reloading the configuration: the keys that were applied, and those that need a restart.
type Reloaded struct {
	Applied, Later []string
	Others         int64 // bridges that reload theirs
}

// whoAmI is the command /whoami.
func (cs *commandSet) whoAmI(_ context.Context, o invocation) (commandResult, error) {
	a, who, role := cs.access.At(o.Key), o.Actor, i18n.RoleMember
	switch {
	case a.IsOwner(who):
		role = i18n.RoleOwner
	case a.IsAdmin(who):
		role = i18n.RoleAdmin
	}
	return o.say(i18n.WhoAmI, i18n.PersonName(who.Name, who.ID), who.ID, o.Key.Room(), role.In(o.lang))
}

// logIn is the command /login.
func (cs *commandSet) logIn(_ context.Context, o invocation) (commandResult, error) {
	if o.Kind != chat.Private {
		return o.say(i18n.LoginPrivate)
	}
	reply, step := cs.logins.Order(o.args)
	return commandResult{reply: reply.In(o.lang), login: step}, nil
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
	a, none := cs.access.At(o.Key), i18n.Nobody.In(o.lang)
	list = slices.DeleteFunc(list, func(g db.Grant) bool { // users who became admins after they asked for access
		return !access.Shares(o.Key, g.Subject) || g.Decided.IsZero() && a.IsAdmin(chat.Actor{ID: g.Subject})
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
		if i == budget.MaxListed {
			break
		}
		state := i18n.StateIgnored
		switch {
		case g.Decided.IsZero():
			state = i18n.StateAsked
		case g.Allowed:
			state = i18n.StateAllowed
		}
		fmt.Fprintf(&s, "- %s %s\n", budget.Entry(g.Name, g.Subject), state.In(o.lang))
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
	list, err := cs.budget.BusiestChats(ctx, cs.access.Part(o.Key), o.lang)
	return commandResult{reply: i18n.ChatsHead.In(o.lang) + "\n" + list + i18n.ChatsUsage.In(o.lang)}, err
}

// grant gives or revokes access for a user, or for everyone in a chat. The configuration takes precedence.
func (cs *commandSet) grant(ctx context.Context, o invocation, word, id string, kind chat.IDKind) (commandResult, error) {
	allow := slices.Contains(allowWords, strings.ToLower(word))
	id = access.RuleID(o.Key, id)
	switch {
	case !allow && !slices.Contains(revokeWords, strings.ToLower(word)):
		// The id is shown and stored, so its form is checked first.
		return o.say(i18n.AdminUsage)
	case chat.KindOf(id) != kind || len(id) > 100 || !access.Shares(o.Key, id):
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
	text, err := cs.budget.Today(ctx, cs.access.Part(o.Key), o.lang)
	return commandResult{reply: text}, err
}

// adminCost shows what was spent in all chats, and by whom.
func (cs *commandSet) adminCost(ctx context.Context, o invocation) (commandResult, error) {
	days := budget.Days(o.args)
	if days == 0 {
		return o.say(i18n.AdminUsage)
	}
	card, err := cs.budget.TotalCard(ctx, cs.access.Part(o.Key), days, o.lang)
	return commandResult{card: card}, err
}

// adminReload reloads the configuration.
func (cs *commandSet) adminReload(ctx context.Context, o invocation) (commandResult, error) {
	switch {
	case cs.cfg.Reload == nil, cs.access.At(o.Key).Further:
		return o.say(i18n.NoReload)
	case !o.late:
		return commandResult{later: true}, nil
	}
	got, err := cs.cfg.Reload(ctx)
	none := i18n.Nothing.In(o.lang)
	list := func(keys []string) string { return strings.Join(keys, i18n.Enumeration.In(o.lang)) }
	said := fmt.Sprintf(i18n.ReloadDone.In(o.lang), cmp.Or(list(got.Applied), none))
	switch {
	case err != nil: // it names keys and lines, but no values
		cs.log.Error().Err(err).Msg("configuration not reloaded")
		said = i18n.ReloadFailed.In(o.lang)
	case len(got.Later) > 0:
		said = fmt.Sprintf(i18n.ReloadLater.In(o.lang), cmp.Or(list(got.Applied), none), list(got.Later))
	}
	if got.Others > 0 {
		said += "\n" + fmt.Sprintf(i18n.ReloadOthers.In(o.lang), got.Others)
	}
	return commandResult{reply: said}, nil
}
