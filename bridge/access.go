package bridge

import (
	"errors"
	"slices"

	"magpie/internal/chat"
	"magpie/internal/period"
)

// Access is the [access] section: who may talk to the bot. By default only the owner may.
type Access struct {
	Owner  string   `toml:"owner" env:"OWNER"`   // the user (ou_...) to whom the bot belongs
	Admins []string `toml:"admins" env:"ADMINS"` // users
	Allow  []string `toml:"allow" env:"ALLOW"`   // users (ou_...), chats (oc_...), or "*" for everybody

	ApprovalTimeout period.Duration `toml:"approval_timeout" env:"APPROVAL_TIMEOUT"` // how long people may take to decide about a tool; 0 = 30 minutes
}

// Validate reports what is wrong with a.
func (a Access) Validate() error {
	if slices.Contains(a.Admins, "*") {
		return errors.New(`[access] admins: "*" would make everybody an admin; name the users`)
	}
	if a.ApprovalTimeout.Duration < 0 {
		return errors.New("[access] approval_timeout: want more than 0")
	}
	return nil
}

// admin reports whether somebody may give orders that concern others.
func (a Access) admin(who chat.Actor) bool {
	return a.Owner != "" && who.ID == a.Owner || slices.Contains(a.Admins, who.ID)
}

func (a Access) allows(key chat.Key, who chat.Actor) bool {
	return a.admin(who) || slices.Contains(a.Allow, "*") ||
		slices.Contains(a.Allow, who.ID) || slices.Contains(a.Allow, key.ID)
}

// Unset reports that nobody at all may talk: the bot is being set up.
func (a Access) Unset() bool { return a.Owner == "" && len(a.Admins) == 0 && len(a.Allow) == 0 }
