package feishu

import (
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// streamingLife is how long text is streamed to one card. After that new text starts another card; a card without text
// opens its streaming mode again. The platform closes streaming mode after 10 minutes (page
// cardkit-v1/streaming-updates-openapi-overview), and in practice it sometimes lost text shortly before that.
const streamingLife = 7*time.Minute + 30*time.Second

// entityLife is how long a card can be changed (page cardkit-v1/card/create).
const entityLife = 14 * 24 * time.Hour

const opCreateCard = "create a card"

// entity is a CardKit card. Its operations share one sequence, see [sequences]. A card may have several values of this
// type, one after another.
type entity struct {
	api            *openapi.Client
	sequences      *sequences
	id             string
	created        time.Time // when the sequence was 0, in whole seconds as in the durable id
	streamingSince time.Time // when streaming mode was last opened
	pace           *openapi.Pace
}

// entity is the card with this id, which an earlier process or another value may have drawn.
func (ms messages) entity(id string, created time.Time) *entity {
	return &entity{api: ms.api, sequences: ms.sequences, id: id, created: created, pace: openapi.CardPace(false)}
}

// newEntity creates a card. A live one is created in streaming mode.
func newEntity(ctx context.Context, ms messages, card chat.Card) (*entity, error) {
	now := time.Now()
	e := ms.entity("", now.Truncate(time.Second))
	e.streamingSince, e.pace = now, openapi.CardPace(true)
	answer, err := ms.api.Call(ctx, openapi.Request{
		Op: opCreateCard, Method: http.MethodPost, Path: "/open-apis/cardkit/v1/cards", Tries: liveTries,
		Body: map[string]string{"type": "card_json", "data": cardjson.Card(card, true)},
	})
	e.id = openapi.String(answer.Get("data.card_id"))
	return e, err
}

// createdBefore is how long before its message a card may have been created. Counting from too early a
// time only makes the sequence higher; counting from too late would repeat numbers that were used.
const createdBefore = time.Minute

// entityOf looks up the entity that a message shows (page cardkit-v1/card/id_convert). sent is the message's time by
// the platform's clock, so that all processes count the sequence from the same time.
func entityOf(ctx context.Context, ms messages, messageID string, sent time.Time) (*entity, error) {
	e := ms.entity("", sent.Add(-createdBefore).Truncate(time.Second))
	answer, err := ms.api.Call(ctx, openapi.Request{
		Op: "find the card of a message", Method: http.MethodPost, Path: "/open-apis/cardkit/v1/cards/id_convert",
		Body: map[string]string{"message_id": messageID}, Tries: liveTries,
	})
	e.id = openapi.String(answer.Get("data.card_id"))
	return e, err
}

// notAnEntity reports whether an error of [entityOf] says that the message shows no CardKit card.
func notAnEntity(err error) bool {
	class := openapi.ClassOf(err)
	return errors.As(err, new(*openapi.Error)) && (class == openapi.Refused || class == openapi.EntityLost)
}

// sequences holds the last sequence of each card that this process has drawn, by the card's ID. The sequences of a card
// must increase, whoever draws it (page cardkit-v1/card/update). A sequence is the card's age in milliseconds, or one
// more than the last one if that is higher. So a process that continues the card from its durable ID, for example after
// a restart, uses higher numbers. That fits an int32 for 24 days; an entity lives for 14.
type sequences struct {
	mu   sync.Mutex
	last map[string]sequence
}

type sequence struct {
	number  int32
	created time.Time // when it was 0
}

// dueNumber is the number that is due by now.
func (s sequence) dueNumber() int32 {
	// Half of the range remains for jumps, even if the clock is wrong by years.
	return int32(max(0, min(time.Since(s.created).Milliseconds(), math.MaxInt32/2)))
}

// next is the sequence of the next operation on a card.
func (s *sequences) next(card string, created time.Time) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) >= maxCachedCards {
		// No need to remember what is due anyway.
		maps.DeleteFunc(s.last, func(_ string, q sequence) bool { return q.number < q.dueNumber() })
	}
	q := sequence{created: created}
	q.number = max(s.last[card].number+1, q.dueNumber())
	s.last[card] = q
	return q.number
}

// skip moves the sequence of a card ahead.
func (s *sequences) skip(card string, by int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.last[card]
	q.number += by
	s.last[card] = q
}

// operation is the request body of all operations on a card.
type operation struct {
	Settings string    `json:"settings,omitempty"`
	Content  string    `json:"content,omitempty"`
	Partial  string    `json:"partial_element,omitempty"`
	Actions  string    `json:"actions,omitempty"`
	Card     *cardData `json:"card,omitempty"`
	Sequence int32     `json:"sequence"`
	UUID     string    `json:"uuid"`
}

// cardData is a card in a request: its JSON in a string, as all bodies of CardKit are.
type cardData struct {
	Type string `json:"type"`
	Data string `json:"data"`
}

// replace redraws the whole card; card.Live decides about streaming mode afterwards.
func (e *entity) replace(ctx context.Context, card chat.Card, tries int) error {
	err := e.runOperation(ctx, "draw a card", http.MethodPut, openapi.Path("/open-apis/cardkit/v1/cards/", e.id),
		operation{Card: &cardData{Type: "card_json", Data: cardjson.Card(card, true)}}, tries)
	if err == nil && card.Live && e.streamingSince.IsZero() {
		e.streamingSince = time.Now()
	}
	return err
}

// updateElement redraws one element. The client types out the new part of its text, which needs streaming mode (pages
// cardkit-v1/card-element/content and patch).
func (e *entity) updateElement(ctx context.Context, s cardjson.Step, tries int) error {
	where := openapi.Path("/open-apis/cardkit/v1/cards/", e.id, "/elements/", s.Element)
	if s.Text == "" {
		body := operation{Partial: s.Partial}
		return e.runOperation(ctx, "change a part of a card", http.MethodPatch, where, body, tries)
	}
	body := operation{Content: s.Text}
	return e.runOperation(ctx, "draw a card's text", http.MethodPut, where+"/content", body, tries)
}

// updateElements redraws several elements with one call (page cardkit-v1/card/batch_update).
func (e *entity) updateElements(ctx context.Context, steps []cardjson.Step, tries int) error {
	if len(steps) == 1 {
		return e.updateElement(ctx, steps[0], tries)
	}
	where := openapi.Path("/open-apis/cardkit/v1/cards/", e.id, "/batch_update")
	body := operation{Actions: cardjson.ActionsJSON(steps)}
	return e.runOperation(ctx, "change parts of a card", http.MethodPost, where, body, tries)
}

// deleteElement removes an element (page cardkit-v1/card-element/delete).
func (e *entity) deleteElement(ctx context.Context, id string) error {
	where := openapi.Path("/open-apis/cardkit/v1/cards/", e.id, "/elements/", id)
	return e.runOperation(ctx, "remove a part of a card", http.MethodDelete, where, operation{}, liveTries)
}

// setStreaming turns streaming mode on or off. Turning it on again restarts the platform's 10 minutes.
func (e *entity) setStreaming(ctx context.Context, on bool, tries int) error {
	where := openapi.Path("/open-apis/cardkit/v1/cards/", e.id, "/settings")
	settings := operation{Settings: cardjson.StreamingMode(on)}
	err := e.runOperation(ctx, "set a card's streaming mode", http.MethodPatch, where, settings, tries)
	if err == nil && on {
		e.streamingSince = time.Now()
	}
	return err
}

// maxSequenceJump bounds how far the sequence is moved ahead at once: a thousandth of the two weeks that an entity
// lives.
const maxSequenceJump = 1_000_000

// runOperation runs one operation until its outcome is known. Retries use the same sequence and key, so that it takes
// effect once. If the platform knows a higher sequence, the operation is repeated with a higher one. The known sequence
// may belong to this very operation, whose reply was lost; drawing the same content again is harmless, and assuming
// success would be wrong if the sequence belonged to another operation. If streaming mode is off, it is opened again
// once.
func (e *entity) runOperation(ctx context.Context, op, method, where string, body operation, tries int) error {
	// The first jump is one second of the card's age; it grows eightfold each time up to the limit.
	const firstJump = 1000
	jump, streams := int32(firstJump), body.Content+body.Partial+body.Actions != ""
	body.UUID = uuid.NewString()
	_, err := e.api.Call(ctx, openapi.Request{
		Op: op, Method: method, Path: where, Body: &body, Tries: tries, Live: tries == liveTries,
		Pace: e.pace, Before: func(context.Context) error {
			if body.Sequence == 0 { // assigned once, after the wait, so that sequences follow the order of the calls
				body.Sequence = e.sequences.next(e.id, e.created)
			}
			return nil
		},
		Repair: func(ctx context.Context, err error) error {
			switch class := openapi.ClassOf(err); {
			case class == openapi.SequenceUsed && jump <= maxSequenceJump:
				e.sequences.skip(e.id, jump)
				jump *= 8
			case class == openapi.StreamingOff && streams:
				if err := e.setStreaming(ctx, true, tries); err != nil {
					return err
				}
				jump, streams = firstJump, false
			default:
				return err
			}
			// Another sequence makes it another operation, which needs another key (code 200770 otherwise).
			body.Sequence, body.UUID = 0, uuid.NewString()
			return nil
		},
	})
	return err
}

// streamingExpired reports whether streaming mode must be opened again.
func (e *entity) streamingExpired() bool { return time.Since(e.streamingSince) >= streamingLife }
