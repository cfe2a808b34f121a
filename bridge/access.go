package bridge

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"magpie/internal/chat"
	"magpie/internal/configtype"
)

// Access is the [access] section: who may talk to the bot. By default only the owner may.
type Access struct {
	// the user (ou_...) to whom the bot belongs
	Owner  string   `toml:"owner" env:"OWNER"`
	Admins []string `toml:"admins" env:"ADMINS"` // users
	// users (ou_...), chats (oc_...), departments (od_...), or "*" for everybody
	Allow []string `toml:"allow" env:"ALLOW"`
	// users, chats, departments; they may not talk, whatever else says so
	Deny []string `toml:"deny" env:"DENY"`
	// what strangers are told in a private chat, once a day at most; empty = nothing
	StrangerReply string `toml:"unauthorized_reply" env:"UNAUTHORIZED_REPLY"`

	// asker | admins: who approves what the agent wants; empty = asker
	Deciders string `toml:"deciders" env:"DECIDERS"`
	// how long people may take to decide about a tool; 0 = 30 minutes
	ApprovalTimeout configtype.Duration `toml:"approval_timeout" env:"APPROVAL_TIMEOUT"`
}

// The values of [Access.Deciders].
const (
	askersDecide = "asker"
	adminsDecide = "admins"
)

// everybody is the entry of [Access.Allow] that lets everybody in.
const everybody = "*"

// department is how the id of one begins.
const department = "od_"

// Validate reports everything that is wrong with a.
func (a Access) Validate() error {
	var errs []error
	if slices.Contains(a.Admins, everybody) {
		errs = append(errs, errors.New(`[access] admins: "*" would make everybody an admin; name the users`))
	}
	if a.ApprovalTimeout.Duration < 0 {
		errs = append(errs, errors.New("[access] approval_timeout: want more than 0"))
	}
	if a.Deciders != "" && a.Deciders != askersDecide && a.Deciders != adminsDecide {
		errs = append(errs, fmt.Errorf("[access] deciders %q: want %s or %s", a.Deciders, askersDecide, adminsDecide))
	}
	for _, id := range a.Deny { // a mistake here would leave a door open
		if !slices.ContainsFunc([]string{"ou_", "oc_", department}, func(kind string) bool { return strings.HasPrefix(id, kind) }) {
			errs = append(errs, fmt.Errorf("[access] deny %q: want ids of users (ou_…), chats (oc_…) or departments (od_…)", id))
		}
	}
	if a.Owner != "" && slices.Contains(a.Deny, a.Owner) {
		errs = append(errs, errors.New("[access] deny: the owner is among them"))
	}
	return errors.Join(errs...)
}

// denies says who may not talk in any case, as far as the ids of the user and the chat tell.
func (a Access) denies(key chat.Key, who chat.Actor) bool {
	return who.ID == "" || slices.Contains(a.Deny, who.ID) || slices.Contains(a.Deny, key.ID)
}

// allows says who may talk, as far as the ids of the user and the chat tell.
func (a Access) allows(key chat.Key, who chat.Actor) bool {
	return !a.denies(key, who) && (a.admin(who) || slices.Contains(a.Allow, everybody) ||
		slices.Contains(a.Allow, who.ID) || slices.Contains(a.Allow, key.ID))
}

// admin reports whether somebody may give orders that concern others.
func (a Access) admin(who chat.Actor) bool {
	return who.ID != "" && (who.ID == a.Owner || slices.Contains(a.Admins, who.ID)) && !slices.Contains(a.Deny, who.ID)
}

// hasAdmin reports whether anybody at all is an admin.
func (a Access) hasAdmin() bool {
	known := func(id string) bool { return a.admin(chat.Actor{ID: id}) }
	return known(a.Owner) || slices.ContainsFunc(a.Admins, known)
}

// inCharge reports whether somebody may decide what his chat remembers: in private everybody does so for himself.
func (a Access) inCharge(m chat.Incoming) bool {
	return m.Kind == chat.Private || a.admin(m.Actor)
}

// Unset reports that nobody at all may talk: the bot is being set up.
func (a Access) Unset() bool { return a.Owner == "" && len(a.Admins) == 0 && len(a.Allow) == 0 }

// usualPatience is how long people may take to decide when nothing else is configured.
const usualPatience = 30 * time.Minute

// patience is how long people may take to decide about a tool.
func (a Access) patience() time.Duration {
	if a.ApprovalTimeout.Duration == 0 {
		return usualPatience
	}
	return a.ApprovalTimeout.Duration
}

// approver is who decides about strangers: the owner, or an admin when there is none.
func (a Access) approver() string {
	if a.Owner == "" && len(a.Admins) > 0 {
		return a.Admins[0]
	}
	return a.Owner
}
