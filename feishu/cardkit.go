package feishu

import (
	"context"
	"errors"
	"math"
	"net/http"
	"time"

	"github.com/google/uuid"
	"golang.org/x/time/rate"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// streamingLife is how long a card is streamed to before the text goes on on another one, or, when there is none yet,
// before streaming mode is opened again. The platform closes it after 10 minutes (page
// cardkit-v1/streaming-updates-openapi-overview), and people have seen it lose what came shortly before.
const streamingLife = 7*time.Minute + 30*time.Second

const opCreate = "create a card"

// entity is a card of CardKit. Its operations share one counter, which must grow (page cardkit-v1/card/update). It is
// the card's age in milliseconds, so that whoever goes on with a card by its durable id, such as a process that starts
// anew, does so with higher numbers. That is an int32 for 24 days; an entity lives for 14.
type entity struct {
	api       *openapi.Client
	id        string
	born      time.Time // when the counter was 0, in whole seconds as in the durable id
	last      int32
	streaming time.Time // when streaming mode was last opened
	rate      *rate.Limiter
}

// newEntity makes a card and opens it in streaming mode if it is live.
func newEntity(ctx context.Context, a *openapi.Client, card chat.Card) (*entity, error) {
	now := time.Now()
	e := &entity{api: a, born: now.Truncate(time.Second), streaming: now, rate: openapi.CardRate()}
	answer, err := a.Call(ctx, openapi.Request{
		Op: opCreate, Method: http.MethodPost, Path: "/open-apis/cardkit/v1/cards", Tries: liveTries,
		Body: map[string]string{"type": "card_json", "data": cardjson.Card(card, true)},
	})
	e.id = openapi.String(answer.Get("data.card_id"))
	return e, err
}

// madeBefore is how long before its message a card may have been made.
const madeBefore = time.Minute

// entityOf is the card that a message shows (page cardkit-v1/card/id_convert); sent is when, by the platform's clock,
// so that all processes count from the same time.
func entityOf(ctx context.Context, a *openapi.Client, messageID string, sent time.Time) (*entity, error) {
	e := &entity{api: a, born: sent.Add(-madeBefore).Truncate(time.Second), rate: openapi.CardRate()}
	answer, err := a.Call(ctx, openapi.Request{
		Op: "find the card of a message", Method: http.MethodPost, Path: "/open-apis/cardkit/v1/cards/id_convert",
		Body: map[string]string{"message_id": messageID}, Tries: liveTries,
	})
	e.id = openapi.String(answer.Get("data.card_id"))
	return e, err
}

// notAnEntity reports whether an error of [entityOf] says that the message shows no card of CardKit.
func notAnEntity(err error) bool {
	class := openapi.ClassOf(err)
	return errors.As(err, new(*openapi.Error)) && (class == openapi.Refused || class == openapi.EntityLost)
}

func (e *entity) next() int32 {
	age := min(time.Since(e.born).Milliseconds(), math.MaxInt32/2)
	e.last = max(e.last+1, int32(age))
	return e.last
}

// operation is the body that all operations on a card share.
type operation struct {
	Settings string    `json:"settings,omitempty"`
	Content  string    `json:"content,omitempty"`
	Partial  string    `json:"partial_element,omitempty"`
	Actions  string    `json:"actions,omitempty"`
	Card     *cardData `json:"card,omitempty"`
	Sequence int32     `json:"sequence"`
	UUID     string    `json:"uuid"`
}

type cardData struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// whole draws all of the card anew; its live decides whether streaming mode is on. It works in any mode.
func (e *entity) whole(ctx context.Context, card chat.Card, tries int) error {
	err := e.do(ctx, "draw a card", http.MethodPut, openapi.Path("/open-apis/cardkit/v1/cards/", e.id),
		operation{Card: &cardData{Type: "card_json", Data: cardjson.Card(card, true)}}, tries)
	if err == nil && card.Live && e.streaming.IsZero() {
		e.streaming = time.Now()
	}
	return err
}

// change draws one element anew. The client types out what is new of its text, which needs streaming mode (pages
// cardkit-v1/card-element/content and patch).
func (e *entity) change(ctx context.Context, s cardjson.Step, tries int) error {
	where := openapi.Path("/open-apis/cardkit/v1/cards/", e.id, "/elements/", s.Element)
	if s.Text == "" {
		return e.do(ctx, "change a part of a card", http.MethodPatch, where, operation{Partial: s.Partial}, tries)
	}
	return e.do(ctx, "draw a card's text", http.MethodPut, where+"/content", operation{Content: s.Text}, tries)
}

// changeAll draws several elements anew by one call (page cardkit-v1/card/batch_update).
func (e *entity) changeAll(ctx context.Context, steps []cardjson.Step, tries int) error {
	if len(steps) == 1 {
		return e.change(ctx, steps[0], tries)
	}
	where := openapi.Path("/open-apis/cardkit/v1/cards/", e.id, "/batch_update")
	return e.do(ctx, "change parts of a card", http.MethodPost, where, operation{Actions: cardjson.Actions(steps)}, tries)
}

// stream turns streaming mode on, or on again, or off.
func (e *entity) stream(ctx context.Context, on bool, tries int) error {
	where := openapi.Path("/open-apis/cardkit/v1/cards/", e.id, "/settings")
	settings := operation{Settings: cardjson.StreamingMode(on)}
	err := e.do(ctx, "set a card's streaming mode", http.MethodPatch, where, settings, tries)
	if err == nil && on {
		e.streaming = time.Now()
	}
	return err
}

// longestJump is how far the counter is set ahead at once, at most: a thousandth of the two weeks that an entity lives.
const longestJump = 1_000_000

// do makes one operation until its outcome is known. It is repeated with the same sequence and key, so that it happens
// once. When the platform knows a higher sequence it is made anew with one that is higher still. That may be this
// operation itself, whose answer was lost: drawing the same again does no harm, and taking it for done would when it
// was another one's. When streaming mode is off, it is opened again once.
func (e *entity) do(ctx context.Context, op, method, where string, body operation, tries int) error {
	const firstJump = 1000
	jump, streams := int32(firstJump), body.Card == nil && body.Settings == ""
	body.UUID = uuid.NewString()
	_, err := e.api.Call(ctx, openapi.Request{
		Op: op, Method: method, Path: where, Body: &body, Tries: tries,
		Before: func(ctx context.Context) error {
			if err := openapi.Take(ctx, e.rate); err != nil {
				return err
			}
			if body.Sequence == 0 { // counted when its turn has come, and once
				body.Sequence = e.next()
			}
			return nil
		},
		Repair: func(ctx context.Context, err error) error {
			switch class := openapi.ClassOf(err); {
			case class == openapi.SequenceUsed && jump <= longestJump:
				e.last += jump
				jump *= 8
			case class == openapi.StreamingOff && streams:
				if err := e.stream(ctx, true, tries); err != nil {
					return err
				}
				jump, streams = firstJump, false
			default:
				return err
			}
			body.Sequence, body.UUID = 0, uuid.NewString()
			return nil
		},
	})
	return err
}

// aged reports whether streaming mode must be opened again.
func (e *entity) aged() bool { return time.Since(e.streaming) >= streamingLife }
