package feishu

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// Attempts per operation until its outcome is known. A live card is redrawn soon anyway; the final one must arrive.
const (
	liveTries = 3
	lastTries = 8
)

// cardPage is one message that shows one page of a card. It is a CardKit card, or else a card inside its message, or
// else, if the platform accepts neither, static text.
type cardPage struct {
	message string
	entity  *entity       // nil: the message is the card
	pace    *openapi.Pace // of a card inside its message; nil: it cannot be redrawn
	look    cardLook      // of a card inside its message: what the platform has not refused
	level   updateLevel   // of an entity
	shown   *chat.Card    // what it shows; nil: unknown
}

// cardLook is how a card looks.
type cardLook int

const (
	allLooks     cardLook = iota
	tablesAsCode          // the platform refuses the number of tables
	plainLooks            // no markup: the platform refuses something else
)

// afterRefusal returns the looks to try after a refusal; there are none after plain looks.
func (l cardLook) afterRefusal(err error) cardLook {
	if l == allLooks && openapi.TooManyTables(err) {
		return tablesAsCode
	}
	return plainLooks
}

// needsRotation reports whether new text must start a new card: this card's streaming window is over. A page whose text
// does not change stays, and its streaming mode is opened again.
func (p *cardPage) needsRotation(body string) bool {
	return p.entity != nil && time.Since(p.entity.created) >= streamingLife && p.shown != nil && p.shown.Body != body
}

// pageSender sends the messages that show one card's pages.
type pageSender struct {
	messages  messages
	log       zerolog.Logger
	to        chat.Ref
	uncertain bool // an earlier process started the card and may have sent any of its messages
}

// draft is a page that is being sent. It is kept until the page is certainly sent: a retry with the same idempotency
// key must send the same content in a message of the same kind.
type draft struct {
	seed    string
	part    int
	content chat.Card
	entity  *entity // nil: not created yet
	kind    string  // card, plain, code, prose or post: the best kind that the platform has not refused
}

// sendPage sends a page in the best form that the platform accepts. seed and part form the idempotency key. After an
// error a retry sends the page as it was at the first try; it is redrawn afterwards.
func (k *card) sendPage(ctx context.Context, content chat.Card, seed string, part int) (*cardPage, error) {
	d := k.draft
	if d == nil || d.seed != seed || d.part != part {
		d = &draft{seed: seed, part: part, content: content, kind: "card"}
		k.draft = d
	}
	s, err := k.sender.send(ctx, d)
	if err != nil {
		return nil, err
	}
	k.draft = nil
	k.messages.Store(s.message, nil)
	return s, nil
}

// kindsOfLooks are the kinds of drafts that are a card inside a message, by its looks.
var kindsOfLooks = []string{allLooks: "plain", tablesAsCode: "code", plainLooks: "prose"}

// send sends a draft. When the platform refuses one kind of message it falls back to the next: a streaming card, a
// plain card, a card without markup, text.
func (o pageSender) send(ctx context.Context, d *draft) (*cardPage, error) {
	if d.kind == "card" {
		s, err := o.sendEntity(ctx, d)
		if err == nil || !o.mayUseOtherKind(ctx, err) {
			return s, err
		}
		o.log.Warn().Err(err).Msg("feishu: no streaming card, sending a plain one")
		d.kind = "plain"
	}
	for slices.Contains(kindsOfLooks, d.kind) {
		s := &cardPage{pace: openapi.PatchPace(), look: cardLook(slices.Index(kindsOfLooks, d.kind))}
		m, err := o.messages.send(ctx, o.to, "interactive", s.messageJSON(d.content), keyOf(d.seed, d.kind, d.part))
		if err == nil {
			s.message, s.shown = m.id, o.shownAfterSend(d.content, m)
			return s, nil
		}
		if !o.mayUseOtherKind(ctx, err) {
			return nil, err
		}
		// The kind is remembered in the draft, so that a retry does not go through the refused ones again.
		if d.kind = "post"; s.look != plainLooks && openapi.ClassOf(err) == openapi.Refused {
			d.kind = kindsOfLooks[s.look.afterRefusal(err)]
		}
		o.log.Warn().Err(err).Str("kind", d.kind).Msg("feishu: card refused, sending another kind of message")
	}
	id, err := o.messages.sendMarkdown(ctx, o.to, plainTextOf(d.content), d.seed, d.part)
	if err != nil {
		return nil, err
	}
	return &cardPage{message: id, shown: &d.content}, nil
}

// findLaterPages returns the cards that answer the same question and were sent after the given message, without the
// others, which are known to be something else: an approval, for example.
func (o pageSender) findLaterPages(ctx context.Context, message string, others []string) ([]*cardPage, error) {
	found, err := o.messages.find(ctx, o.to)
	if err != nil {
		return nil, err
	}
	// If the message is not in the list, first is -1 and every card counts as later.
	first := slices.IndexFunc(found, func(s chat.Sent) bool { return s.ID == message })
	var pages []*cardPage
	for _, sent := range found[first+1:] {
		isSent := func(card string) bool { return strings.HasPrefix(card, sent.ID+"/") }
		if sent.Card == "" || slices.ContainsFunc(others, isSent) {
			continue
		}
		s, _, _, err := parseID(sent.Card, o.messages)
		if err != nil {
			return nil, err
		}
		pages = append(pages, s)
	}
	return pages, nil
}

// mayUseOtherKind reports whether the page may be sent as another kind of message after this error. It may not when
// this or an earlier process may have sent it already: the answer could appear twice.
func (o pageSender) mayUseOtherKind(ctx context.Context, err error) bool {
	var e *openapi.Error
	switch {
	case ctx.Err() != nil || !errors.As(err, &e):
		return false
	case openapi.ClassOf(err) == openapi.Unknown:
		return e.Op == opCreateCard && !o.uncertain // creating a card entity shows nothing yet
	case openapi.MissingPermission(err):
		return e.Op != opSend // the same for every kind of message
	}
	same := []openapi.Class{
		openapi.MessageGone, openapi.NoAccess, openapi.BadToken, openapi.RateLimited, openapi.CircuitOpen,
	} // these fail for every kind of message
	return !slices.Contains(same, openapi.ClassOf(err))
}

// shownAfterSend returns what a message shows after it was sent: nil (unknown) if an earlier send with the same key may
// have created it.
func (o pageSender) shownAfterSend(card chat.Card, m message) *chat.Card {
	if m.mayBeOld || o.uncertain {
		return nil
	}
	return &card
}

// sendEntity sends the message that shows the entity. An entity can be sent only once (page cardkit-v1/card/create).
func (o pageSender) sendEntity(ctx context.Context, d *draft) (*cardPage, error) {
	if d.entity == nil {
		e, err := newEntity(ctx, o.messages, d.content)
		if err != nil {
			return nil, err
		}
		d.entity = e
		failpoint.At("card: made")
	}
	m, err := o.messages.send(ctx, o.to, "interactive", cardjson.Entity(d.entity.id), keyOf(d.seed, "card", d.part))
	if err != nil {
		return nil, err
	}
	if !m.mayBeOld && !o.uncertain {
		return &cardPage{message: m.id, entity: d.entity, shown: &d.content}, nil
	}
	// An earlier process may have sent this message with its own entity, which is the one that people see.
	seen, err := entityOf(ctx, o.messages, m.id, m.at)
	switch {
	case notAnEntity(err):
		return &cardPage{message: m.id, pace: openapi.PatchPace()}, nil
	case err != nil:
		return nil, err
	case seen.id == d.entity.id:
		return &cardPage{message: m.id, entity: d.entity, shown: &d.content}, nil
	}
	return &cardPage{message: m.id, entity: seen}, nil
}

// draw makes the page show the card, unless it shows it already.
func (p *cardPage) draw(ctx context.Context, ms messages, card chat.Card) error {
	if p.shown != nil && reflect.DeepEqual(*p.shown, card) {
		return nil
	}
	tries := lastTries
	if card.Live {
		tries = liveTries
	}
	var err error
	switch {
	case p.entity != nil:
		err = p.drawEntity(ctx, ms.updates, card, tries)
	case p.pace != nil:
		err = p.patch(ctx, ms.api, card, tries)
	default:
		return nil
	}
	switch {
	case err == nil:
		p.shown = &card
	// Whether the update was applied is unknown, so the next draw replaces the whole card.
	case ctx.Err() != nil || openapi.ClassOf(err) == openapi.Unknown:
		p.shown = nil
	}
	return err
}

// drawEntity updates the elements that differ. It replaces the whole card when the difference cannot be expressed as
// updates of elements, or when the platform does not make such updates.
func (p *cardPage) drawEntity(ctx context.Context, updates *partialUpdates, card chat.Card, tries int) error {
	e := p.entity
	// The final value always replaces the card: one call draws it and ends streaming mode.
	if p.shown == nil || !card.Live {
		return e.replace(ctx, card, tries)
	}
	if e.streamingExpired() {
		if err := e.setStreaming(ctx, true, tries); err != nil {
			return err
		}
	}
	p.setLevel(updates.initialLevel())
	todo := cardjson.Steps(*p.shown, card)
	switch {
	case len(todo) == 0:
		return nil
	case todo[0].Element == "" || levelFor(todo) < p.level:
		return e.replace(ctx, card, tries)
	}
	for _, together := range cardjson.GroupCalls(todo) {
		level := levelFor(together)
		if err := e.updateElements(ctx, together, tries); err != nil {
			return p.redrawWhole(ctx, updates, level, card, err, tries)
		}
		updates.recordAccepted(level)
	}
	return nil
}

// redrawWhole replaces the whole card after the platform refused to update a part of it. If it takes the whole card,
// such an update is not tried again on this card.
func (p *cardPage) redrawWhole(ctx context.Context, updates *partialUpdates, level updateLevel, card chat.Card,
	err error, tries int) error {
	p.shown = nil
	class := openapi.ClassOf(err)
	if class != openapi.Refused && class != openapi.StreamingOff {
		return err
	}
	if err := p.entity.replace(ctx, card, tries); err != nil {
		return err
	}
	if class == openapi.Refused {
		p.setLevel(level + 1)
		updates.recordRefused(level)
	}
	return nil
}

// setLevel restricts the updates of the page. Without any it is drawn as seldom as a card that is part of its message.
func (p *cardPage) setLevel(level updateLevel) {
	if level > p.level && level == noUpdates {
		p.entity.pace.Slow()
	}
	p.level = max(p.level, level)
}

// messageJSON is the JSON of a card inside its message.
func (p *cardPage) messageJSON(card chat.Card) string {
	switch p.look {
	case plainLooks:
		return cardjson.Prose(card)
	case tablesAsCode:
		card = cardjson.TablesAsCode(card)
	}
	return cardjson.Card(card, false)
}

// patch replaces the card of a message (page im-v1/message/patch).
func (p *cardPage) patch(ctx context.Context, a *openapi.Client, card chat.Card, tries int) error {
	r := openapi.Request{
		Op: "update a card", Method: http.MethodPatch, Tries: tries, Live: card.Live,
		Pace: p.pace, Path: openapi.Path("/open-apis/im/v1/messages/", p.message),
		Body: map[string]string{"content": p.messageJSON(card)},
	}
	_, err := a.Call(ctx, r)
	return err
}

// finish draws the final value in the best form that the platform accepts. When it accepts none, the text is sent as
// separate messages.
func (p *cardPage) finish(ctx context.Context, o pageSender, card chat.Card, seed string, part int) error {
	static := p.entity == nil && p.pace == nil
	if static && p.shown != nil && p.shown.Body == card.Body {
		return nil
	}
	var refused error
	if !static {
		refused = p.draw(ctx, o.messages, card)
		if refused == nil || !mayFallBack(ctx, refused) {
			return refused
		}
		o.log.Warn().Err(refused).Msg("feishu: card not finished; falling back to another form")
	}
	if err := p.deliverFallback(ctx, o, card, refused, seed, part); err != nil {
		return err
	}
	// The text has been delivered; without this the card would look unfinished for ten minutes.
	if p.entity != nil {
		if err := p.entity.setStreaming(ctx, false, lastTries); err != nil {
			if !mayFallBack(ctx, err) {
				return err
			}
			o.log.Warn().Err(err).Msg("feishu: streaming mode of a card not ended; the platform ends it by itself")
		}
	}
	p.shown = &card
	return nil
}

// deliverFallback delivers the final value when the platform has refused to draw it: as a card inside the message, then
// with plainer looks, or else as text.
func (p *cardPage) deliverFallback(
	ctx context.Context, o pageSender, card chat.Card, refused error, seed string, part int,
) error {
	inMessage := p.entity == nil // it was refused there
	for ; p.entity != nil || p.pace != nil; inMessage = true {
		if inMessage && p.look == plainLooks {
			break
		} else if inMessage {
			p.look = p.look.afterRefusal(refused)
		}
		refused = p.patch(ctx, o.messages.api, card, liveTries)
		if refused == nil || !mayFallBack(ctx, refused) {
			return refused
		}
	}
	_, err := o.messages.sendAllMarkdown(ctx, o.to, plainTextOf(card), keyOf(seed, "last", part))
	return err
}

// mayFallBack reports whether the final value may be delivered in another form: only if the platform definitely refused
// it. After an unknown outcome it may be visible already, and the text would show it twice.
func mayFallBack(ctx context.Context, err error) bool {
	switch openapi.ClassOf(err) {
	case openapi.Refused, openapi.SequenceUsed, openapi.StreamingOff, openapi.EntityLost:
		return ctx.Err() == nil
	}
	return false
}

// plainTextOf is the text of a card that cannot be shown as a card.
func plainTextOf(card chat.Card) string {
	switch {
	case card.Body != "":
		return card.Body
	case card.Status != "":
		return card.Status
	case card.Summary != "":
		return card.Summary
	}
	return "…"
}
