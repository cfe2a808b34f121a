package feishu

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/rs/zerolog"
	"golang.org/x/time/rate"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/failpoint"
)

// How often one operation is made until its outcome is known: a live card is drawn again soon anyway, a last one
// must arrive.
const (
	liveTries = 3
	lastTries = 8
)

// cardPage is one message that shows one page: a card of CardKit, else a card that is part of its message, else, when
// the platform takes neither, words that stay as they are.
type cardPage struct {
	message string
	entity  *entity       // nil: the message is the card
	rate    *rate.Limiter // of a message that is a card; nil: it cannot be drawn again
	shown   *chat.Card    // what it shows, as far as we know
}

// needsRotation reports whether text that comes now must go on on another page. One that no text is added to stays, and
// streaming to it is opened again.
func (s *cardPage) needsRotation(body string) bool {
	return s.entity != nil && time.Since(s.entity.born) >= streamingLife && s.shown != nil && s.shown.Body != body
}

// pageSender opens pages for one card.
type pageSender struct {
	messages  messages
	log       zerolog.Logger
	to        chat.Ref
	uncertain bool // an earlier process began the card, and may have sent any of its messages
}

// A draft is a page that is being sent. It is kept until it surely is: what is sent again with the same key must be
// the same, and of the same kind.
type draft struct {
	seed   string
	part   int
	face   chat.Card
	entity *entity // nil: not made yet
	kind   string  // card, plain or post: the best that the platform has not refused
}

// open sends a page with the best means that the platform takes. seed and part make it happen once. After an error
// the same page may be sent as it was when it was first tried; it is drawn anew then.
func (k *card) open(ctx context.Context, face chat.Card, seed string, part int) (*cardPage, error) {
	d := k.draft
	if d == nil || d.seed != seed || d.part != part {
		d = &draft{seed: seed, part: part, face: face, kind: "card"}
		k.draft = d
	}
	s, err := k.sender.send(ctx, d)
	if err != nil {
		return nil, err
	}
	k.draft = nil
	return s, nil
}

// send sends a draft.
func (o pageSender) send(ctx context.Context, d *draft) (*cardPage, error) {
	if d.kind == "card" {
		s, err := o.sendEntity(ctx, d)
		if err == nil || !o.otherMeans(ctx, err) {
			return s, err
		}
		o.log.Warn().Err(err).Msg("feishu: no streaming card, sending a plain one")
		d.kind = "plain"
	}
	if d.kind == "plain" {
		m, err := o.messages.send(ctx, o.to, "interactive", cardjson.Card(d.face, false), keyOf(d.seed, "plain", d.part))
		if err == nil {
			return &cardPage{message: m.id, rate: openapi.PatchRate(), shown: o.known(d.face, m)}, nil
		}
		if !o.otherMeans(ctx, err) {
			return nil, err
		}
		o.log.Warn().Err(err).Msg("feishu: no card, sending text")
		d.kind = "post"
	}
	id, err := o.messages.say(ctx, o.to, wordsOf(d.face), d.seed, d.part)
	if err != nil {
		return nil, err
	}
	return &cardPage{message: id, shown: &d.face}, nil
}

// sentAfter gives the cards that answer the same question and were sent after this message.
func (o pageSender) sentAfter(ctx context.Context, message string) ([]*cardPage, error) {
	found, err := o.messages.find(ctx, o.to)
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(found, func(s chat.Sent) bool { return s.ID == message })
	var pages []*cardPage
	for _, sent := range found[first+1:] {
		if sent.Card == "" {
			continue
		}
		s, _, _, err := parseID(sent.Card, o.messages.api)
		if err != nil {
			return nil, err
		}
		pages = append(pages, s)
	}
	return pages, nil
}

// otherMeans reports whether another kind of message may do what this one could not. It may not when it is unknown
// whether a message was sent, by this process or an earlier one: the answer could be there twice.
func (o pageSender) otherMeans(ctx context.Context, err error) bool {
	var e *openapi.Error
	switch {
	case ctx.Err() != nil || !errors.As(err, &e):
		return false
	case openapi.ClassOf(err) == openapi.Unknown:
		return e.Op == opCreate && !o.uncertain // nobody sees a card before it is sent
	}
	same := []openapi.Class{
		openapi.MessageGone, openapi.NoAccess, openapi.BadToken, openapi.RateLimited, openapi.CircuitOpen,
	} // whatever is sent
	return !slices.Contains(same, openapi.ClassOf(err))
}

// known is what a message shows that was just sent; of one that was there before we do not know.
func (o pageSender) known(card chat.Card, m message) *chat.Card {
	if m.past || o.uncertain {
		return nil
	}
	return &card
}

// sendEntity sends the message that shows the entity; each can be sent once (page cardkit-v1/card/create).
func (o pageSender) sendEntity(ctx context.Context, d *draft) (*cardPage, error) {
	if d.entity == nil {
		e, err := newEntity(ctx, o.messages.api, d.face)
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
	if !m.past && !o.uncertain {
		return &cardPage{message: m.id, entity: d.entity, shown: &d.face}, nil
	}
	// An earlier process may have sent this message, with an entity of its own, which is the one that people see.
	seen, err := entityOf(ctx, o.messages.api, m.id, m.at)
	switch {
	case notAnEntity(err):
		return &cardPage{message: m.id, rate: openapi.PatchRate()}, nil
	case err != nil:
		return nil, err
	case seen.id == d.entity.id:
		return &cardPage{message: m.id, entity: d.entity, shown: &d.face}, nil
	}
	return &cardPage{message: m.id, entity: seen}, nil
}

// draw makes the page show the card, if it does not.
func (s *cardPage) draw(ctx context.Context, a *openapi.Client, card chat.Card) error {
	if s.shown != nil && reflect.DeepEqual(*s.shown, card) {
		return nil
	}
	tries := lastTries
	if card.Live {
		tries = liveTries
	}
	var err error
	switch {
	case s.entity != nil:
		err = s.drawEntity(ctx, card, tries)
	case s.rate != nil:
		err = s.patch(ctx, a, card, tries)
	default:
		return nil
	}
	switch {
	case err == nil:
		s.shown = &card
	case ctx.Err() != nil || openapi.ClassOf(err) == openapi.Unknown:
		s.shown = nil
	}
	return err
}

// drawEntity draws what differs, and all of it when the parts cannot be drawn on their own.
func (s *cardPage) drawEntity(ctx context.Context, card chat.Card, tries int) error {
	e := s.entity
	if s.shown == nil || !card.Live {
		return e.whole(ctx, card, tries)
	}
	if e.aged() {
		if err := e.stream(ctx, true, tries); err != nil {
			return err
		}
	}
	todo := cardjson.Steps(*s.shown, card)
	switch {
	case len(todo) == 0:
		return nil
	case todo[0].Element == "":
		return e.whole(ctx, card, tries)
	}
	for _, together := range cardjson.Calls(todo) {
		if err := e.changeAll(ctx, together, tries); err != nil {
			return s.redrawWhole(ctx, card, err, tries)
		}
	}
	return nil
}

// redrawWhole draws the whole card when drawing a part of it was refused.
func (s *cardPage) redrawWhole(ctx context.Context, card chat.Card, err error, tries int) error {
	s.shown = nil
	switch openapi.ClassOf(err) {
	case openapi.Refused, openapi.StreamingOff:
		return s.entity.whole(ctx, card, tries)
	}
	return err
}

// patch replaces the card of a message (page im-v1/message/patch).
func (s *cardPage) patch(ctx context.Context, a *openapi.Client, card chat.Card, tries int) error {
	r := openapi.Request{
		Op: "update a card", Method: http.MethodPatch, Tries: tries,
		Path: openapi.Path("/open-apis/im/v1/messages/", s.message),
		Body: map[string]string{"content": cardjson.Card(card, false)},
	}
	if s.rate != nil {
		r.Before = func(ctx context.Context) error { return openapi.Take(ctx, s.rate) }
	}
	_, err := a.Call(ctx, r)
	return err
}

// finish draws the last value with the best means that the platform takes; when it takes none, the words follow as
// messages of their own.
func (s *cardPage) finish(ctx context.Context, o pageSender, card chat.Card, seed string, part int) error {
	static := s.entity == nil && s.rate == nil
	if static && s.shown != nil && s.shown.Body == card.Body {
		return nil
	}
	if !static {
		err := s.draw(ctx, o.messages.api, card)
		if err == nil || !lastMeans(ctx, err) {
			return err
		}
		o.log.Warn().Err(err).Msg("feishu: a card could not be finished, trying otherwise")
	}
	if err := s.fallback(ctx, o, card, seed, part); err != nil {
		return err
	}
	if s.entity != nil {
		if err := s.entity.stream(ctx, false, lastTries); err != nil {
			if !lastMeans(ctx, err) {
				return err
			}
			o.log.Warn().Err(err).Msg("feishu: a card seems to go on until the platform ends its streaming mode")
		}
	}
	s.shown = &card
	return nil
}

// fallback delivers the last value when the platform does not take it as it should be drawn.
func (s *cardPage) fallback(ctx context.Context, o pageSender, card chat.Card, seed string, part int) error {
	if s.entity != nil {
		err := s.patch(ctx, o.messages.api, card, liveTries)
		if err == nil || !lastMeans(ctx, err) {
			return err
		}
	}
	_, err := o.messages.sayAll(ctx, o.to, wordsOf(card), keyOf(seed, "last", part))
	return err
}

// lastMeans reports whether a last value may be delivered otherwise: when the platform said that it will not take it.
// After an outcome that is unknown it may be visible already, and words would show it twice.
func lastMeans(ctx context.Context, err error) bool {
	switch openapi.ClassOf(err) {
	case openapi.Refused, openapi.SequenceUsed, openapi.StreamingOff, openapi.EntityLost:
		return ctx.Err() == nil
	}
	return false
}

// wordsOf is what a card says when it cannot be a card.
func wordsOf(card chat.Card) string {
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
