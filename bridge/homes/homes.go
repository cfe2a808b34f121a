// Package homes knows which machines have the projects of chats, where several bridges serve an app.
package homes

import (
	"context"
	"errors"

	"magpie/bridge/access"
	"magpie/bridge/delivery"
	"magpie/bridge/language"
	"magpie/bridge/workplace"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// Homes knows which machines have the projects of chats. A chat with its topics is handled by a machine that has the chat's
// project, also if a topic has another one.
type Homes struct {
	Places    workplace.Set
	DB        *db.DB
	Out       delivery.Messenger
	Access    *access.Authorizer
	Languages language.Chooser
}

// Restrict has this bridge take no chats of projects that only other machines have.
func (h Homes) Restrict() {
	for _, p := range h.Places.List() {
		if p.Away != "" {
			h.DB.Place().TakeOnly(func(ctx context.Context, room chat.Key) (bool, error) {
				p, err := h.of(ctx, room)
				return p.Away == "", err
			})
			return
		}
	}
}

// of is the project of a chat with its topics; the default one if nothing is known of it.
func (h Homes) of(ctx context.Context, room chat.Key) (workplace.Place, error) {
	c, err := h.DB.Chats().Get(ctx, room)
	if err != nil && !db.Permanent(err) {
		return workplace.Place{}, err
	}
	c.Key = room
	p, err := h.Places.Of(c)
	if errors.Is(err, workplace.ErrGone) {
		err = nil // whoever handles the chat says so
	}
	return p, err
}

// TellAway tells whoever has asked something that no machine with the chat's project is there, if that is so. One bridge
// tells, and it reports whether it did.
func (h Homes) TellAway(ctx context.Context, m chat.Incoming) (told bool, err error) {
	if !h.DB.Place().Leads() || m.Actor.Bot {
		return false, nil
	}
	p, err := h.of(ctx, m.Key.Parent())
	if err != nil || p.Away == "" {
		return false, err
	}
	if lives, err := h.DB.Place().Lives(ctx, h.Places.Named[p.Name].Nodes); err != nil || lives {
		return false, err
	}
	if who, err := h.Access.Authorize(ctx, m.Key, m.Actor); err != nil || who != access.Admitted {
		return false, err
	}
	text := i18n.MachineAway.Sprintf(h.Languages.OfChat(ctx, m.Key), p.Name, p.Away)
	_, err = h.Out.Reply(ctx, chat.Ref{Key: m.Key, ID: m.ID}, text, "away:"+m.ID)
	return err == nil, err
}
