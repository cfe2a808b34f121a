package access

import (
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"magpie/bridge/delivery"
	"magpie/contextmgr/redact"
	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/i18n"
)

// The actions of a request's buttons. The Action's ID is the ID of the asking user.
const (
	DoLetIn    = "let-in"    // grant access from now on
	DoTurnAway = "turn-away" // deny without a reply
)

// Languages decides which language to use.
type Languages interface {
	// OfChat is the language to use in a chat.
	OfChat(ctx context.Context, key chat.Key) i18n.Lang
	// LanguageFor is the language to use in a chat after a message in another one; empty = no change.
	LanguageFor(ctx context.Context, key chat.Key, detected string) i18n.Lang
	// OfUser is the language to use with a user in private.
	OfUser(ctx context.Context, user string) i18n.Lang
}

// Requests forwards strangers' requests for access to the owner, and carries out the decisions.
type Requests struct {
	authorizer *Authorizer
	grants     db.Access
	outbox     *delivery.Outbox
	languages  Languages
	secrets    redact.Known // a stranger may know them
	log        zerolog.Logger
}

// NewRequests makes a Requests that delivers its cards and texts through an outbox, without the secrets.
func NewRequests(
	authorizer *Authorizer, store *db.DB, o *delivery.Outbox, ls Languages, secrets redact.Known,
	log zerolog.Logger,
) *Requests {
	return &Requests{
		authorizer: authorizer, grants: store.Access(), outbox: o, languages: ls, secrets: secrets, log: log,
	}
}

// record handles a message of a stranger, which is not stored. In a private chat it asks the owner for access; while
// the bot has no owner, the reply explains how to become the owner. A stranger gets at most one reply a day.
func (rs *Requests) record(ctx context.Context, m chat.Incoming) error {
	rs.log.Info().Stringer("chat", m.Key).Str("user", m.Actor.ID).Msg("ignored a message from a stranger")
	a := rs.authorizer.At(m.Key)
	if m.Kind != chat.Private {
		return nil
	}
	reply := a.UnauthorizedReply
	if a.IsEmpty() {
		l := rs.languages.LanguageFor(ctx, m.Key, string(i18n.Detect(m.Text)))
		id, section := m.Actor.ID, "[access]"
		if a.Further {
			id, section = chat.OwnID(m.Key.Channel, id), "[feishu.access]"
		}
		reply = fmt.Sprintf(i18n.NotAllowed.In(l), id, section)
	}
	var tell []db.Post
	if reply != "" {
		tell = append(tell, db.Post{Key: m.Key, ReplyTo: m.ID, Idem: "stranger:" + m.ID, Text: reply})
	}
	who := db.Grant{Subject: m.Actor.ID, Name: i18n.Visible(m.Actor.Name), Key: m.Key}
	if admin := a.Approver(); admin != "" {
		who.Message = m.ID
		card := delivery.RedactCard(RequestCard(m, rs.languages.OfUser(ctx, admin)), rs.secrets)
		tell = append(tell, db.Post{
			Key: chat.PersonKey(admin), Grant: m.Actor.ID, Idem: "request:" + m.ID, Card: &card,
		})
	}
	fresh, err := rs.grants.RequestAccess(ctx, who, tell...)
	if err == nil && fresh {
		rs.wakeChats(tell)
	}
	return err
}

func (rs *Requests) wakeChats(list []db.Post) {
	for _, p := range list {
		rs.outbox.Wake(p.Key)
	}
}

// longestPreview limits the shown part of a stranger's message, in runes.
const longestPreview = 100

// RequestCard asks an admin whether the author of a message may talk to the bot.
func RequestCard(m chat.Incoming, l i18n.Lang) chat.Card {
	text := fmt.Sprintf(i18n.AccessRequest.In(l), i18n.PersonName(m.Actor.Name, m.Actor.ID))
	if words := i18n.Visible(m.Text); words != "" {
		text += "\n\n" + i18n.CodeBlock("", i18n.Truncate(words, longestPreview))
	}
	head := i18n.AccessRequestSummary.In(l)
	id := chat.Panel{
		Title: i18n.CardDetails.In(l), Body: fmt.Sprintf(i18n.AccessRequestID.In(l), m.Actor.ID), Last: true,
	}
	return chat.Card{
		Title: head, State: chat.CardNeedsYou, Body: text, Summary: head, Panels: []chat.Panel{id},
		Buttons: []chat.Button{
			{Label: i18n.LetInButton.In(l), Primary: true, Action: chat.Action{Do: DoLetIn, ID: m.Actor.ID}},
			{Label: i18n.TurnAwayButton.In(l), Action: chat.Action{Do: DoTurnAway, ID: m.Actor.ID}},
		},
	}
}

// Answer carries out a button of a request.
func (rs *Requests) Answer(ctx context.Context, p chat.Press, l i18n.Lang) (string, error) {
	if !rs.authorizer.At(p.Key).IsAdmin(p.Actor) {
		rs.log.Warn().Stringer("chat", p.Key).Str("user", p.Actor.ID).
			Msg("somebody who is no admin wants to let a stranger in")
		return i18n.ForAdmins.In(l), nil
	}
	if !Shares(p.Key, p.Action.ID) {
		p.Action.ID = "" // what is not about the people here is looked up as nobody
	}
	who, err := rs.grants.Grant(ctx, p.Action.ID)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return "", err
	}
	who.Allowed, who.By = p.Action.Do == DoLetIn, p.Actor.ID
	tell := rs.outcomePosts(ctx, p.Key, who, l)
	err = rs.grants.DecideGrant(ctx, p.Action.ID, who.Allowed, p.Actor.ID, tell...)
	if errors.Is(err, db.ErrNotFound) {
		return i18n.AccessDecidedBefore.In(l), nil
	} else if err != nil {
		return "", err
	}
	rs.wakeChats(tell)
	rs.log.Info().Str("user", who.Subject).Str("by", who.By).Bool("allowed", who.Allowed).
		Msg("decided about a stranger")
	return decisionText(who, l), nil
}

// outcomePosts returns the posts about a decision: for the card, which may not be delivered yet, and for a user who was
// granted access.
func (rs *Requests) outcomePosts(ctx context.Context, at chat.Key, who db.Grant, l i18n.Lang) []db.Post {
	card := delivery.RedactCard(DecisionCard(who, l), rs.secrets)
	var tell []db.Post
	if admin := rs.authorizer.At(at).Approver(); admin != "" {
		tell = append(tell, db.Post{
			Key: chat.PersonKey(admin), Grant: who.Subject,
			Idem: fmt.Sprintf("request:%s:%t", who.Message, who.Allowed), Card: &card,
		})
	}
	if who.Allowed {
		welcome := i18n.AccessWelcome.In(rs.languages.OfChat(ctx, who.Key))
		// Not a reply: the user's message may be recalled, and it may already have been answered with something else.
		tell = append(tell, db.Post{Key: who.Key, Idem: "welcome:" + who.Message, Text: welcome})
	}
	return tell
}

// DecisionCard replaces the card of a request after the decision.
func DecisionCard(who db.Grant, l i18n.Lang) chat.Card {
	said := decisionText(who, l)
	return chat.Card{
		Title: i18n.HeaderOver.In(l), State: chat.CardQueued,
		Body: fmt.Sprintf(i18n.AccessDecided.In(l), said, who.Subject), Summary: said,
	}
}

// decisionText describes a decision.
func decisionText(who db.Grant, l i18n.Lang) string {
	said := i18n.TurnedAway
	if who.Allowed {
		said = i18n.HasLetIn
	}
	return fmt.Sprintf(said.In(l), i18n.PersonName(who.Name, who.Subject))
}

// AddedByStrangerPost tells the owner that the bot was added to a group without access; nil = there is no owner.
func (rs *Requests) AddedByStrangerPost(ctx context.Context, c chat.Change) *db.Post {
	owner := rs.authorizer.At(c.Key).Approver()
	if owner == "" {
		return nil
	}
	who := i18n.PersonName(c.Actor.Name, c.Actor.ID)
	text := fmt.Sprintf(i18n.AddedByStranger.In(rs.languages.OfUser(ctx, owner)), who, i18n.SafeName(c.Title), c.Key.Room())
	idem := fmt.Sprintf("added:%s:%d", c.Key.Room(), c.Time.UnixMilli())
	return &db.Post{Key: chat.PersonKey(owner), Idem: idem, Text: rs.secrets.Text(text)}
}
