package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/db"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
	"magpie/internal/i18n"
)

// presenter shows posts. It never shows one twice: it finds what an earlier attempt has sent by the idempotency key,
// and once that has expired, among the messages of the chat.
type presenter struct {
	db    *db.DB
	posts db.Outbox // pending posts
	out   Messenger
	lang  func(context.Context, chat.Key) i18n.Lang // the language of a chat
	log   zerolog.Logger

	fileDelivery *fileDelivery
	unseen       func(ctx context.Context, approval, notice string) bool // see [Outbox.OnUnseen]
}

const (
	keyLifetime = 50 * time.Minute // how long an idempotency key is surely valid; the platform promises an hour
	// for earlier messages, within half a minute; then it sends again, as the bot may lack the permission to list
	// messages
	maxSearches = 5
)

// present delivers p. It returns the ID of the new message. For a card, which can be redrawn, it returns only where the
// buttons are that must be removed when a newer card follows, if it has any.
func (pr *presenter) present(ctx context.Context, p db.Post) (string, error) {
	to := chat.Ref{Key: p.Key, ID: p.ReplyTo}
	if p.Approval != "" && p.Card != nil {
		asks := *p.Card
		asks.Asks, p.Card = true, &asks
	}
	if p.Turn == 0 && p.Approval == "" && p.Grant == "" || p.File != nil {
		send := pr.send
		if p.File != nil {
			send = pr.sendFile
		}
		id, err := send(ctx, to, p)
		if errors.Is(err, chat.ErrRefused) {
			return pr.out.Reply(ctx, to, pr.withheldText(ctx, p.Key), p.Idem+":withheld")
		}
		return id, err
	}
	id, err := pr.findOrPostCard(ctx, to, p)
	card, shown := *p.Card, chat.Shown{}
	card.Shown = &shown
	if err == nil && p.Turn != 0 && time.Since(p.Begun) > keyLifetime { // to search for its later messages
		card.Others, err = pr.posts.OtherCards(ctx, db.Post{Key: to.Key, Turn: p.Turn})
	}
	if err == nil {
		err = pr.out.Close(ctx, id, card)
	}
	if err == nil && p.Turn != 0 && p.Approval == "" && len(shown.Pages) > 0 {
		err = pr.db.Messages().SetPages(ctx, p.Key, p.Turn, shown.Pages)
	}
	if errors.Is(err, chat.ErrRefused) {
		p.Card = &card
		err = pr.withhold(ctx, to, p, id)
	}
	if err != nil || !slices.ContainsFunc(card.Buttons, func(b chat.Button) bool { return b.Newest }) {
		return "", err
	}
	return shown.Buttons, nil
}

// withhold shows a notice in place of a card that the platform refuses, for example because of its wording. An approval
// that nobody can read must not be decided.
func (pr *presenter) withhold(ctx context.Context, to chat.Ref, p db.Post, card string) error {
	notice := pr.withheldText(ctx, p.Key)
	if p.Approval != "" && pr.unseen(ctx, p.Approval, notice) {
		return nil // the outcome is shown next
	}
	if card == "" {
		_, err := pr.out.Reply(ctx, to, notice, p.Idem+":withheld")
		return err
	}
	c := chat.Card{Body: notice, Summary: notice, Buttons: p.Card.Buttons, Shown: p.Card.Shown}
	if p.Approval != "" || p.Grant != "" {
		c.Buttons = nil
	}
	return pr.out.Close(ctx, card, c)
}

// withheldText replaces text that the platform does not allow. The text is still in the History.
func (pr *presenter) withheldText(ctx context.Context, key chat.Key) string {
	return i18n.Withheld.In(pr.lang(ctx, key))
}

// send shows a post that belongs to no turn, unless an earlier attempt did.
func (pr *presenter) send(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	sent, err := pr.findSent(ctx, to, p.Created, p)
	if err != nil {
		return "", err
	}
	for _, s := range sent {
		if s.File == "" && (p.Card != nil || s.Card == "") {
			return s.ID, nil
		}
	}
	switch {
	case len(p.Mentions) > 0:
		return pr.out.Mention(ctx, to, p.Mentions, p.Text, p.Idem)
	case p.Card == nil:
		return pr.out.Reply(ctx, to, p.Text, p.Idem)
	}
	card, err := pr.out.Post(ctx, to, *p.Card, p.Idem)
	return chat.FirstMessage(card), err
}

// findOrPostCard returns the ID of the card for p: that of the existing card, or of a new one.
func (pr *presenter) findOrPostCard(ctx context.Context, to chat.Ref, p db.Post) (id string, err error) {
	if p.CardID != "" {
		return p.CardID, nil
	}
	idem := p.Idem
	switch {
	case p.Approval != "":
		idem = "approval:" + p.Approval
		id, err = pr.findApprovalCard(ctx, to, p)
	case p.Turn != 0:
		idem = CardKey(p.Turn, to)
		id, err = pr.FindCard(ctx, to, p)
	}
	if err == nil && id == "" {
		id, err = pr.out.Post(ctx, to, *p.Card, idem)
	}
	if err != nil {
		return "", err
	}
	// Stored even during shutdown: the card is visible, and without its ID the next process would post another.
	ctx = context.WithoutCancel(ctx)
	if p.Approval != "" {
		failpoint.At("approval: posted")
	}
	return id, pr.posts.SetCard(ctx, p, id)
}

// clockSkew is how long before the request, by the platform's clock, an approval's card may appear to be posted.
const clockSkew = 5 * time.Second

// findApprovalCard searches for the card of an approval that was posted but not recorded, because the process died in
// between. Cards from before the request are excluded. Empty = not found.
func (pr *presenter) findApprovalCard(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	sent, err := pr.findSent(ctx, to, p.Begun, p)
	if err != nil || len(sent) == 0 {
		return "", err
	}
	p.Key = to.Key
	others, err := pr.posts.OtherCards(ctx, p)
	if err != nil {
		return "", err
	}
	early := func(s chat.Sent) bool { return s.Time.Before(p.Begun.Add(-clockSkew)) }
	return firstNotAmong(others, slices.DeleteFunc(sent, early)), nil
}

// firstNotAmong returns the first sent card that is not among the others; empty = none.
func firstNotAmong(others []string, sent []chat.Sent) string {
	for _, s := range sent {
		other := func(card string) bool { return strings.HasPrefix(card, s.ID) }
		if s.Card != "" && !slices.ContainsFunc(others, other) {
			return s.Card
		}
	}
	return ""
}

// FindCard searches for the card that a turn has posted without recording it; empty = not found. Of p it needs the
// turn, its start, and the number of attempts: if the platform does not list messages, it gives up after a few
// attempts. Every error can be retried.
func (pr *presenter) FindCard(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	sent, err := pr.findSent(ctx, to, p.Begun, p)
	if err != nil || len(sent) == 0 {
		return "", err
	}
	p.Key = to.Key
	others, err := pr.posts.OtherCards(ctx, p)
	if err != nil {
		return "", err
	}
	return firstNotAmong(others, sent), nil
}

// findSent lists the replies to a message, if the idempotency key may have expired; before that, sending again does no
// harm. Messages in the History are left out, since they have another purpose. A post that is not a reply cannot be
// searched for.
func (pr *presenter) findSent(ctx context.Context, to chat.Ref, since time.Time, p db.Post) ([]chat.Sent, error) {
	if to.ID == "" || time.Since(since) <= keyLifetime {
		return nil, nil
	}
	sent, err := pr.out.Find(ctx, to)
	switch {
	// Given up after some attempts: a message that might appear twice is better than one that never appears.
	case err != nil && (p.Attempts < maxSearches || errors.Is(err, chat.ErrGone)):
		return nil, fmt.Errorf("search for an earlier delivery: %w", err)
	case err != nil:
		pr.log.Warn().Err(err).Stringer("chat", to.Key).Msg("cannot search for an earlier delivery; sending again")
	}
	var open []chat.Sent
	for _, s := range sent {
		known, err := pr.db.Messages().Known(ctx, to.Key, s.ID)
		if err != nil {
			return nil, err
		}
		if !known {
			open = append(open, s)
		}
	}
	return open, nil
}

// CardKey is the idempotency key of a turn's card.
func CardKey(turn int64, to chat.Ref) string { return fmt.Sprintf("turn:%d:%s", turn, to.ID) }

// sendFile delivers the file of p. If the platform refuses it, or no machine has its copy, people get a notice instead.
func (pr *presenter) sendFile(ctx context.Context, to chat.Ref, p db.Post) (string, error) {
	var sent []chat.Sent
	if p.File.Upload != "" { // what was not uploaded was not sent
		var err error
		if sent, err = pr.findSent(ctx, to, p.Created, p); err != nil {
			return "", err
		}
	}
	id, err := pr.fileDelivery.present(ctx, to, p, sent)
	why := i18n.FileRefused
	switch {
	case errors.Is(err, errNoCopy) && !pr.mayCome(p):
		why = i18n.FileLost
	case !errors.Is(err, chat.ErrNotTaken):
		return id, err
	}
	pr.log.Warn().Err(err).Stringer("chat", p.Key).Msg("file not sent")
	p.File.State = db.RefusedFile
	notice := fmt.Sprintf(why.In(pr.lang(ctx, p.Key)), p.File.Name)
	_, err = pr.out.Reply(ctx, to, notice, p.Idem+":refused")
	return "", err
}
