package feishu

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// Post opens a card as an answer to a message, or in the chat when to names no message. The card id is durable: Edit
// and Close take it in any process. It begins with the id of the message that shows the card, as in [chat.Press].
//
// The same idem within an hour finds the card that is there. Without CardKit it is a card that is drawn more
// slowly, without cards it is text that Close completes.
func (c *Client) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error) {
	cardID, err = c.cards.post(ctx, to, card, idem)
	message, _, _ := strings.Cut(cardID, "/")
	c.topics.shows(message, to.Key)
	return cardID, err
}

// Ready waits until the platform takes another edit of this card, so that the caller can take its latest value then.
// While the platform is away that is when it is time for a try.
func (c *Client) Ready(ctx context.Context, cardID string) error {
	k, err := c.cards.find(cardID)
	if err != nil {
		return err
	}
	if err := k.ready(ctx); err != nil {
		return err
	}
	return c.api.Ready(ctx)
}

// Edit draws a later value of a card, on as many cards as its body takes. What could not be drawn is drawn by the
// next Edit or by Close. Edits of one card happen one after the other.
func (c *Client) Edit(ctx context.Context, cardID string, card chat.Card) error {
	k, err := c.cards.find(cardID)
	if err != nil {
		return err
	}
	return k.show(ctx, card, false)
}

// Close draws the last value of a card, and ends its streaming mode. What the platform takes by no means as a card it
// gets as messages. After an error it can be called again, and goes on where it was.
func (c *Client) Close(ctx context.Context, cardID string, card chat.Card) error {
	k, err := c.cards.find(cardID)
	if err != nil {
		return err
	}
	card.Live = false
	if err := k.show(ctx, card, true); err != nil {
		return err
	}
	c.cards.forget(cardID)
	return nil
}

// cards holds the cards that are being drawn.
type cards struct {
	messages messages
	log      zerolog.Logger

	mu     sync.Mutex
	live   cardCache // by card id
	posted cardCache // by idem: cards that are not known to be posted yet
}

// card is one card value and the messages that show it.
type card struct {
	sender pageSender
	seed   string // of the pages after the first

	mu     sync.Mutex
	pages  []*cardPage
	layout cardjson.Layout
	draft  *draft // of the page that is being opened; nil: none

	forgotten bool        // pages that an earlier process sent must be looked for
	later     []*cardPage // what was found: pages after those of pages
}

// keyMemory is how long a page that is sent again is surely found to be there: the platform knows a key for an hour.
const keyMemory = 50 * time.Minute

func (cs *cards) post(ctx context.Context, to chat.Ref, value chat.Card, idem string) (string, error) {
	k := cs.begun(to, idem)
	id, err := k.first(ctx, value, idem)
	if err != nil {
		return "", err
	}
	if err := k.show(ctx, value, false); err != nil && !value.Live {
		return "", err
	} // a live one is there, and the next edit draws what is missing
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.posted.drop(idem)
	cs.live.put(id, k) // also one that is not live: who closes it goes on where this ends
	return id, nil
}

// begun gives the card that an earlier post with the same idem could not complete, or a new one.
func (cs *cards) begun(to chat.Ref, idem string) *card {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if k := cs.posted.get(idem); k != nil && k.sender.to == to {
		return k
	}
	k := &card{sender: pageSender{messages: cs.messages, log: cs.log, to: to}}
	cs.posted.put(idem, k)
	return k
}

// first sends the first page, if it is not sent, and gives the card's durable name.
func (k *card) first(ctx context.Context, value chat.Card, idem string) (id string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.pages) == 0 {
		s, err := k.open(ctx, k.faces(value)[0], idem, 0)
		if err != nil {
			return "", err
		}
		k.pages, k.seed = []*cardPage{s}, s.message
	}
	return idOf(k.pages[0], k.sender.to), nil
}

func (cs *cards) forget(id string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.live.drop(id)
}

// find gives the card that this process draws, or one that an earlier process began.
func (cs *cards) find(id string) (*card, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if k := cs.live.get(id); k != nil {
		return k, nil
	}
	first, to, born, err := parseID(id, cs.messages.api)
	if err != nil {
		return nil, err
	}
	k := &card{
		sender: pageSender{messages: cs.messages, log: cs.log, to: to, uncertain: true}, seed: first.message, pages: []*cardPage{first},
		forgotten: to.ID != "" && time.Since(born) > keyMemory,
	}
	cs.live.put(id, k)
	return k, nil
}

// faces is what each of the cards shows on which the value is drawn. The last of them has what is not text.
func (k *card) faces(value chat.Card) []chat.Card {
	pages := k.layout.Pages(value.Body)
	if n := len(pages); value.Live && len(k.pages) == n && k.pages[n-1].needsRotation(pages[n-1]) {
		k.layout.EndPage()
		pages = k.layout.Pages(value.Body)
	}
	out := make([]chat.Card, len(pages))
	for i, p := range pages {
		out[i] = chat.Card{Body: p, Summary: value.Summary}
	}
	last := value
	last.Body = pages[len(pages)-1]
	out[len(out)-1] = last
	return out
}

// show draws a value. The last value is drawn with all means there are.
func (k *card) show(ctx context.Context, value chat.Card, last bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	want := k.faces(value)
	for i, face := range want {
		if err := k.page(ctx, i, face, last); err != nil {
			return err
		}
	}
	for i := len(want); i < len(k.pages); i++ { // the text became shorter
		if err := k.page(ctx, i, chat.Card{Body: "…", Summary: value.Summary}, last); err != nil {
			return err
		}
	}
	return nil
}

func (k *card) page(ctx context.Context, i int, face chat.Card, last bool) error {
	if i == len(k.pages) {
		s, err := k.next(ctx, face, i)
		if err != nil {
			return err
		}
		k.pages = append(k.pages, s)
	}
	err := k.paint(ctx, i, face, last)
	if openapi.ClassOf(err) != openapi.EntityLost {
		return err
	}
	s, err := k.open(ctx, face, k.seed+"/again", i)
	if err != nil {
		return err
	}
	k.pages[i] = s
	return k.paint(ctx, i, face, last)
}

// next gives the page of a page that this process has not drawn yet.
func (k *card) next(ctx context.Context, face chat.Card, i int) (*cardPage, error) {
	if k.forgotten {
		later, err := k.sender.sentAfter(ctx, k.pages[0].message)
		switch {
		case err != nil && !lastMeans(ctx, err):
			return nil, err
		case err != nil: // such as no permission to list a group's messages
			k.sender.log.Warn().Err(err).Msg("feishu: pages that were sent long ago cannot be looked for")
		}
		k.later, k.forgotten = later, false
	}
	if len(k.later) > 0 {
		s := k.later[0]
		k.later = k.later[1:]
		return s, nil
	}
	return k.open(ctx, face, k.seed, i)
}

func (k *card) paint(ctx context.Context, i int, face chat.Card, last bool) error {
	if last {
		return k.pages[i].finish(ctx, k.sender, face, k.seed, i)
	}
	return k.pages[i].draw(ctx, k.sender.messages.api, face)
}

func (k *card) ready(ctx context.Context) error {
	k.mu.Lock()
	s := k.pages[len(k.pages)-1]
	k.mu.Unlock()
	switch {
	case s.entity != nil:
		return openapi.Idle(ctx, s.entity.rate, 1)
	case s.rate != nil:
		return openapi.Idle(ctx, s.rate, 1)
	}
	return nil
}

// The durable form of a card: message/how/born/chat/question, with the topic behind the chat if there is one. How is
// the id of the card entity, or one of these.
const (
	threadMark = ":"

	howPlain = "plain"
	howText  = "text"
)

func idOf(s *cardPage, to chat.Ref) string {
	how, born := howText, time.Now()
	switch {
	case s.entity != nil:
		how, born = s.entity.id, s.entity.born
	case s.rate != nil:
		how = howPlain
	}
	where := to.Key.ID
	if to.Key.Thread != "" {
		where += threadMark + to.Key.Thread
	}
	return strings.Join([]string{s.message, how, strconv.FormatInt(born.Unix(), 36), where, to.ID}, "/")
}

var errCardID = errors.New("feishu: not the id of a card")

func parseID(id string, a *openapi.Client) (first *cardPage, to chat.Ref, born time.Time, err error) {
	parts := strings.Split(id, "/")
	if len(parts) != 5 || parts[0] == "" || parts[1] == "" {
		return nil, to, born, fmt.Errorf("%w: %q", errCardID, id)
	}
	seconds, err := strconv.ParseInt(parts[2], 36, 64)
	if err != nil {
		return nil, to, born, fmt.Errorf("%w: %q", errCardID, id)
	}
	born = time.Unix(seconds, 0)
	s := &cardPage{message: parts[0]}
	switch parts[1] {
	case howPlain:
		s.rate = openapi.PatchRate()
	case howText:
	default:
		s.entity = &entity{api: a, id: parts[1], born: born, rate: openapi.CardRate()}
	}
	return s, chat.Ref{Key: keyFrom(parts[3]), ID: parts[4]}, born, nil
}

// keyFrom reads where a card was sent.
func keyFrom(where string) chat.Key {
	id, thread, _ := strings.Cut(where, threadMark)
	key := chat.FeishuChat(id)
	if strings.HasPrefix(id, "ou_") { // to a user, in whatever chat
		key = chat.FeishuUser(id)
	}
	key.Thread = thread
	return key
}
