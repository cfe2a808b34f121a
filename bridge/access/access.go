// Package access decides who may talk to the bot and who is an admin. It uses the configuration, the platform's data
// about departments and the app's owner, and decisions made in the chat. It asks the owner about strangers.
//
// It does not decide what a user may have the agent do.
package access

import (
	"errors"
	"slices"
	"time"

	"magpie/internal/chat"
	"magpie/internal/configtype"
	"magpie/internal/i18n"
)

// Config is the [access] section: who may talk to the bot. By default only the owner may. Its IDs are those of package
// chat, which are unique across doors.
type Config struct {
	// the user who owns the bot, where he can be reached
	Owner string `toml:"owner" env:"OWNER"`
	// what else the owner is called, at doors that know by themselves who he is
	OwnerIDs []string `toml:"-"`
	Admins   []string `toml:"admins" env:"ADMINS"` // users
	// users, chats, departments, or "*" for everyone
	Allow []string `toml:"allow" env:"ALLOW"`
	// users, chats, departments; takes precedence over all grants
	Deny []string `toml:"deny" env:"DENY"`
	// the reply to strangers in a private chat, at most once a day; empty = no reply
	UnauthorizedReply string `toml:"unauthorized_reply" env:"UNAUTHORIZED_REPLY"`

	// asker | admins: who decides about the agent's requests; empty = asker
	Deciders string `toml:"deciders" env:"DECIDERS"`
	// how long a request for a tool stays open; 0 = as by default
	ApprovalTimeout configtype.Duration `toml:"approval_timeout" env:"APPROVAL_TIMEOUT"`

	// the rules of further apps, by channel; these here are not theirs
	Apps map[string]Config `toml:"-" env:"-"`
	// these are the rules of a further app, whose admins have no say about the machine
	Further bool `toml:"-" env:"-"`
}

// at are the rules of the door of a channel. What else the owner is called, at the machine's terminal, counts at all.
func (a Config) at(channel string) Config {
	if !chat.IsFurtherApp(channel) {
		return a
	}
	own := a.Apps[channel] // nobody is let in to what is left of an app that is gone
	own.OwnerIDs, own.Further = a.OwnerIDs, true
	return own
}

// The values of [Config.Deciders].
const (
	AskersDecide = "asker"
	AdminsDecide = "admins"
)

// everybody is the entry of [Config.Allow] that grants access to everyone.
const everybody = "*"

// Validate reports all invalid values of a.
func (a Config) Validate() error {
	var errs []error
	if slices.Contains(a.Admins, everybody) {
		errs = append(errs, i18n.Mistakef(`[access] admins："*" 会让所有人都成为管理员，请逐个写出用户`,
			`[access] admins: "*" would make everybody an admin; name the users`))
	}
	if a.ApprovalTimeout.Duration < 0 {
		errs = append(errs, i18n.Mistakef("[access] approval_timeout：不能是负数",
			"[access] approval_timeout: must be 0 or more"))
	}
	if a.Deciders != "" && a.Deciders != AskersDecide && a.Deciders != AdminsDecide {
		errs = append(errs, i18n.Mistakef("[access] deciders %q：应为 %s 或 %s",
			"[access] deciders %q: must be %s or %s", a.Deciders, AskersDecide, AdminsDecide))
	}
	anybody := i18n.Mistakef("用户（ou_…）、聊天（oc_…）或部门（od_…）的 ID，其他入口的写作 cli:1000、cli:chat:main",
		"the ID of a user (ou_…), a chat (oc_…) or a department (od_…), of other doors as in cli:1000, cli:chat:main")
	orAll := i18n.Mistakef(`%v，或表示所有人的 "*"`, `%v, or "*" for everybody`, anybody)
	every := []chat.IDKind{chat.UserID, chat.RoomID, chat.DepartmentID}
	errs = append(errs, checkIDs("deny", a.Deny, anybody, every...)) // a mistake here would grant access
	errs = append(errs, checkIDs("allow", without(a.Allow, everybody), orAll, every...))
	// A mistake here would lock everyone out, including the owner.
	users := i18n.Mistakef("用户的 ID（ou_…），其他入口的写作 cli:1000",
		"the ID of a user (ou_…), of other doors as in cli:1000")
	errs = append(errs, checkIDs("admins", without(a.Admins, everybody), users, chat.UserID))
	if a.Owner != "" {
		want := i18n.Mistakef("%v；不写这一项，机器人就归应用的所有者",
			"%v; without this key the bot belongs to the app's owner", users)
		errs = append(errs, checkIDs("owner", []string{a.Owner}, want, chat.UserID))
	}
	if a.Owner != "" && slices.Contains(a.Deny, a.Owner) {
		errs = append(errs, i18n.Mistakef("[access] deny：里面有所有者", "[access] deny: the owner is among them"))
	}
	return errors.Join(errs...)
}

// without returns a list without an entry.
func without(list []string, entry string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(id string) bool { return id == entry })
}

// checkIDs rejects what is no ID of one of the kinds, and placeholders.
func checkIDs(key string, ids []string, want error, kinds ...chat.IDKind) error {
	var errs []error
	for _, id := range ids {
		if !slices.Contains(kinds, chat.KindOf(id)) || configtype.IsPlaceholder(id) {
			errs = append(errs, i18n.Mistakef("[access] %s %q：应为%v", "[access] %s %q: must be %v", key, id, want))
		}
	}
	return errors.Join(errs...)
}

// denies reports whether the rules about the user or the chat deny access.
func (a Config) denies(key chat.Key, who chat.Actor) bool {
	return who.ID == "" || slices.Contains(a.Deny, who.ID) || slices.Contains(a.Deny, key.Room())
}

// isStranger reports whether somebody is of another door than a chat. Nobody is there but the owner, and a program to which
// the chat was given.
func (a Config) isStranger(key chat.Key, who chat.Actor) bool {
	return !key.Owns(who.ID) && !a.IsOwner(who)
}

// allows reports whether the rules about the user or the chat grant access.
func (a Config) allows(key chat.Key, who chat.Actor) bool {
	return !a.denies(key, who) && !a.isStranger(key, who) && (a.IsAdmin(who) || slices.Contains(a.Allow, everybody) ||
		slices.Contains(a.Allow, who.ID) || slices.Contains(a.Allow, key.Room()))
}

// IsOwner reports whether a user is the owner of the bot.
func (a Config) IsOwner(who chat.Actor) bool {
	return who.ID != "" && (who.ID == a.Owner || slices.Contains(a.OwnerIDs, who.ID))
}

// IsAdmin reports whether a user may give commands that affect others.
func (a Config) IsAdmin(who chat.Actor) bool {
	return (a.IsOwner(who) || who.ID != "" && slices.Contains(a.Admins, who.ID)) && !slices.Contains(a.Deny, who.ID)
}

// OwnerUsers is the owner, where he can be reached, or else all that he is called at doors.
func (a Config) OwnerUsers() []string {
	if a.Owner != "" {
		return []string{a.Owner}
	}
	return a.OwnerIDs
}

// AdminUsers lists the admins, the owner first.
func (a Config) AdminUsers() (list []string) {
	for _, id := range slices.Concat(a.OwnerUsers(), a.Admins) {
		if a.IsAdmin(chat.Actor{ID: id}) && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	return list
}

// HasAdmin reports whether there is an admin.
func (a Config) HasAdmin() bool {
	return len(a.AdminUsers()) > 0
}

// InCharge reports whether the author of m manages the chat's memories: in a private chat every user does.
func (a Config) InCharge(m chat.Incoming) bool {
	return m.Kind == chat.Private || a.IsAdmin(m.Actor)
}

// IsEmpty reports whether nobody has access yet: the bot is being set up.
func (a Config) IsEmpty() bool { return a.Owner == "" && len(a.Admins) == 0 && len(a.Allow) == 0 }

// Defaults is what applies to an empty section.
func Defaults() Config {
	return Config{ApprovalTimeout: configtype.Duration{Duration: defaultApprovalTimeout}}
}

const defaultApprovalTimeout = 30 * time.Minute

// EffectiveApprovalTimeout is how long a request for a tool stays open.
func (a Config) EffectiveApprovalTimeout() time.Duration {
	if a.ApprovalTimeout.Duration == 0 {
		return defaultApprovalTimeout
	}
	return a.ApprovalTimeout.Duration
}

// Approver decides about strangers' requests: the owner, or an admin if there is no owner.
func (a Config) Approver() string {
	if a.Owner == "" && len(a.Admins) > 0 {
		return a.Admins[0]
	}
	return a.Owner
}
