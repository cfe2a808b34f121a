package approval

import (
	"context"
	"slices"

	"github.com/rs/zerolog"

	"magpie/bridge/access"
	"magpie/bridge/i18n"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/claude"
)

// mayDecide reports whether a user may decide about an approval: the askers of its turn and admins may. Even where only
// admins may allow, an asker may refuse.
func mayDecide(a *access.Config, ap db.Approval, who chat.Actor) bool {
	return slices.Contains(ap.Askers, who.ID) || a.IsAdmin(who)
}

// adminsOnly reports whether only admins may allow a request. Questions are always for the askers.
func adminsOnly(a *access.Config, ap db.Approval, touched TouchedPaths) bool {
	return touched.Any() || a.Deciders == access.AdminsDecide && !claude.AsksPeople(ap.Tool)
}

// nobodyDecides reports whether no admin can press a button in the chat of a turn: there is no admin, or it is the
// private chat of another user.
func nobodyDecides(a *access.Config, c db.Claim) bool {
	asksAdmin := slices.ContainsFunc(c.Asked, func(m chat.Message) bool { return a.IsAdmin(m.Actor) })
	return !a.HasAdmin() || c.Chat.Kind == chat.Private && !asksAdmin
}

// nobodyMayAllow tells the agent that no admin can be asked.
const nobodyMayAllow = "Only an admin may allow this, and none can be asked in this chat. Do not try it again or by " +
	"other means. Tell the user what you wanted to do and why, and that an admin has to ask for it."

// showClosedRequest shows a request that nobody here may allow, and why.
func (rs *Requests) showClosedRequest(ctx context.Context, a db.Approval, touched TouchedPaths, replyTo string) {
	ctx, log := context.WithoutCancel(ctx), zerolog.Ctx(ctx)
	l := rs.language(ctx, a.Key)
	why := i18n.AdminsAway
	if !rs.access.Load().HasAdmin() {
		why = i18n.NoAdmins
	}
	done := a
	done.State = db.Withdrawn
	card := Card(done, l)
	card.Status = why.In(l)
	card.Summary = card.Status
	card.Footer = touched.AdminsOnlyText(l)
	if err := rs.store.Approvals().Create(ctx, a, card, replyTo); err == nil {
		_ = rs.end(ctx, a, db.Withdrawn, db.Settling{Card: card}, "") // if that is not stored, the next start does it
	} else {
		log.Error().Err(err).Str("tool", a.Tool).Msg("card about a refused tool not stored")
	}
	log.Warn().Str("tool", a.Tool).Msg("tool refused: only an admin may allow it, and none can be asked here")
}
