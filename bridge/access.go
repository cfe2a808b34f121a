package bridge

import (
	"errors"
	"slices"

	"magpie/internal/chat"
)

// Access is the [access] section: who may talk to the bot. By default only the owner may.
type Access struct {
	Owner  string   `toml:"owner" env:"OWNER"`   // the user (ou_...) to whom the bot belongs
	Admins []string `toml:"admins" env:"ADMINS"` // users
	Allow  []string `toml:"allow" env:"ALLOW"`   // users (ou_...), chats (oc_...), or "*" for everybody
}

// Validate reports what is wrong with a.
func (a Access) Validate() error {
	if slices.Contains(a.Admins, "*") {
		return errors.New(`[access] admins: "*" would make everybody an admin; name the users`)
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
