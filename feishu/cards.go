package feishu

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"magpie/feishu/cardjson"
	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// Post sends a card as a reply to a message, or to the chat if to names no message. The card ID is durable: Edit and
// Close accept it in any process. It begins with the ID of the message that shows the card, as in [chat.Press].
//
// Within an hour the same idem finds the existing card instead of sending another. Without CardKit the card is one that
// is redrawn more slowly; without cards at all it is text, which Close completes.
func (c *Client) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (cardID string, err error) {
	cardID, err = c.cards.post(ctx, to, card, idem)
	c.topics.rememberCard(chat.FirstMessage(cardID), to.Key)
	return cardID, err
}

// Ready waits until the platform accepts another edit of this card, so that the caller can take its latest value then.
// While the circuit breaker is open it waits until a call may be tried.
func (c *Client) Ready(ctx context.Context, cardID string) error {
	k, err := c.cards.find(cardID)
	if err != nil {
		return err
	}
	if err := k.ready(ctx); err != nil {
		return err
	}
	return c.api.Ready(ctx, http.MethodPut, openapi.Path("/open-apis/cardkit/v1/cards/", "", "/elements/", "", "/content"))
}

// Edit draws a later value of a card, on as many messages as its body needs. What could not be drawn is drawn by the
// next Edit or by Close. Edits of one card run sequentially.
func (c *Client) Edit(ctx context.Context, cardID string, card chat.Card) error {
	k, err := c.cards.find(cardID)
	if err != nil {
		return err
	}
	return k.draw(ctx, card, false)
}

// Close draws the final value of a card and ends its streaming mode. If the platform accepts no card, the value is sent
// as text messages. After an error Close can be called again and continues where it stopped.
func (c *Client) Close(ctx context.Context, cardID string, card chat.Card) error {
	k, err := c.cards.find(cardID)
	if err != nil {
		return err
	}
	card.Live = false
	if err := k.draw(ctx, card, true); err != nil {
		return err
	}
	c.cards.drop(cardID)
	return nil
}

// RemoveButtons removes the buttons of a closed card, see [chat.Shown]. Only those of a card entity can be removed
// without drawing the rest.
func (c *Client) RemoveButtons(ctx context.Context, buttons string) error {
	page, _, born, err := parseID(buttons, c.cards.messages)
	if err != nil || page.entity == nil || time.Since(born) > entityLife {
		return err
	}
	return page.entity.deleteElement(ctx, cardjson.ButtonsID)
}

// CardOf is the first message of the card that this process is drawing with a page on a message. Any other message is
// its own: it may be the first one of a card.
func (c *Client) CardOf(messageID string) (first string) {
	c.cards.mu.Lock()
	defer c.cards.mu.Unlock()
	return c.cards.live.firstMessage(messageID)
}

// cards holds the cards that are being drawn.
type cards struct {
	messages messages
	log      zerolog.Logger

	mu     sync.Mutex
	live   cardCache // by card id
	posted cardCache // by idem: cards whose post may not have succeeded yet
}

func newCards(ms messages, log zerolog.Logger) *cards {
	return &cards{messages: ms, log: log, live: newCardCache(), posted: newCardCache()}
}

// card is one card value and the messages that show it.
type card struct {
	sender pageSender
	seed   string // seed of the idempotency keys of the later pages
	// the IDs of the messages that show its pages: whoever asks for them must not wait for a call to the platform
	messages sync.Map

	mu      sync.Mutex
	pages   []*cardPage
	earlier []cardjson.Layout // of the complete parts
	layout  cardjson.Layout   // of the body
	draft   *draft            // of the page that is being sent; nil: none
	others  []string          // cards in messages that are not this one's

	mustSearch bool        // pages that an earlier process sent must be searched for
	foundPages []*cardPage // result of that search: the pages that follow those in pages
}

// keyLifetime is how long a send with the same key certainly finds the existing message: the platform keeps keys for an
// hour.
const keyLifetime = 50 * time.Minute

// post sends the first page, and then tries to draw the others. A live card counts as posted as soon as its first page
// is there.
func (cs *cards) post(ctx context.Context, to chat.Ref, value chat.Card, idem string) (string, error) {
	k := cs.findOrCreate(to, idem)
	id, err := k.sendFirst(ctx, value, idem)
	if err != nil {
		return "", err
	}
	if err := k.draw(ctx, value, false); err != nil && !value.Live {
		return "", err
	} // a live card exists by now, and the next edit draws what is missing
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.posted.Remove(idem)
	cs.live.Add(id, k) // also one that is not live: Close continues with it
	return id, nil
}

// findOrCreate returns the card that an earlier post with the same idem could not complete, or a new one.
func (cs *cards) findOrCreate(to chat.Ref, idem string) *card {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if k, ok := cs.posted.Get(idem); ok && k.sender.to == to {
		return k
	}
	k := &card{sender: pageSender{messages: cs.messages, log: cs.log, to: to}}
	cs.posted.Add(idem, k)
	return k
}

// sendFirst sends the first page, unless it was sent, and returns the card's durable id.
func (k *card) sendFirst(ctx context.Context, value chat.Card, idem string) (id string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.pages) == 0 {
		s, err := k.sendPage(ctx, k.pageContents(value)[0], idem, 0)
		if err != nil {
			return "", err
		}
		k.pages, k.seed = []*cardPage{s}, s.message
	}
	return idOf(k.pages[0], k.sender.to), nil
}

func (cs *cards) drop(id string) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	cs.live.Remove(id)
}

// find returns the card that this process is drawing, or restores one that an earlier process started.
func (cs *cards) find(id string) (*card, error) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if k, ok := cs.live.Get(id); ok {
		return k, nil
	}
	first, to, born, err := parseID(id, cs.messages)
	if err != nil {
		return nil, err
	}
	// A restored card knows neither what its pages show nor how many there are. Within the lifetime of
	// keys a repeated send finds later pages by itself; after that they must be searched for.
	k := &card{
		sender: pageSender{messages: cs.messages, log: cs.log, to: to, uncertain: true}, seed: first.message,
		pages:      []*cardPage{first},
		mustSearch: to.ID != "" && time.Since(born) > keyLifetime,
	}
	cs.messages.sent.markSeen(first.message)
	cs.live.Add(id, k)
	return k, nil
}

// pageContents splits the value into the cards that show it, one per page. Everything that is not text goes on the last
// page. A page whose streaming window is over ends here, so that new text starts another card.
func (k *card) pageContents(value chat.Card) []chat.Card {
	out := k.earlierPages(value.Earlier)
	pages := k.layout.Pages(value.Body)
	last := pages[len(pages)-1]
	if n := len(out) + len(pages); value.Live && len(k.pages) == n && k.pages[n-1].needsRotation(last) {
		k.layout.EndPage()
		pages = k.layout.Pages(value.Body)
	}
	for _, p := range pages[:len(pages)-1] {
		c := chat.Card{Body: p, Summary: value.Summary}
		if !value.Live { // while it changes, only the last page is drawn each time
			c.Title, c.State = value.Title, value.State
		}
		out = append(out, c)
	}
	value.Body, value.Earlier, value.Others, value.Shown = pages[len(pages)-1], nil, nil, nil
	return append(out, value)
}

// earlierPages are the pages of the parts of a value that are complete. What was the body may have become one of them.
func (k *card) earlierPages(parts []chat.Part) (out []chat.Card) {
	for len(k.earlier) < len(parts) {
		k.earlier = append(k.earlier, k.layout)
		k.layout = cardjson.Layout{}
	}
	for i, part := range parts {
		for _, p := range k.earlier[i].Pages(part.Body) {
			out = append(out, chat.Card{Body: p, Summary: part.Status})
		}
		out[len(out)-1].Status = part.Status
	}
	return out
}

// draw draws a value. The final value falls back to other forms when the platform refuses it.
func (k *card) draw(ctx context.Context, value chat.Card, last bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	want := k.pageContents(value)
	k.others = value.Others
	withButtons := len(want) - 1
	for len(want) < len(k.pages) { // the text became shorter; a message that users have seen is not removed
		want = append(want, chat.Card{Body: "…", Summary: value.Summary})
	}
	for i, content := range want {
		if err := k.drawPage(ctx, i, content, last); err != nil {
			return err
		}
	}
	if value.Shown == nil {
		return nil
	}
	value.Shown.Buttons = idOf(k.pages[withButtons], k.sender.to)
	if len(want) > 1 {
		value.Shown.Pages = map[string]string{}
		for i, content := range want {
			value.Shown.Pages[k.pages[i].message] = content.Body
		}
	}
	return nil
}

// drawPage draws one page, and sends it first if it is new. When the platform has lost the page's entity, the page is
// sent again with a key of its own.
func (k *card) drawPage(ctx context.Context, i int, content chat.Card, last bool) error {
	if i == len(k.pages) {
		s, err := k.nextPage(ctx, content, i)
		if err != nil {
			return err
		}
		k.pages = append(k.pages, s)
	}
	err := k.updatePage(ctx, i, content, last)
	if openapi.ClassOf(err) != openapi.EntityLost {
		return err
	}
	// Another key than the lost page's: with the same one the platform would return the message without its card.
	s, err := k.sendPage(ctx, content, k.seed+"/again", i)
	if err != nil {
		return err
	}
	k.pages[i] = s
	return k.updatePage(ctx, i, content, last)
}

// nextPage returns a page that this process has not drawn yet: one that an earlier process sent, or else a new one.
func (k *card) nextPage(ctx context.Context, content chat.Card, i int) (*cardPage, error) {
	if k.mustSearch {
		later, err := k.sender.findLaterPages(ctx, k.pages[0].message, k.others)
		switch {
		case err != nil && !mayFallBack(ctx, err):
			return nil, err
		case err != nil: // for example no permission to list a group's messages
			k.sender.log.Warn().Err(err).Msg("feishu: earlier pages of a card cannot be searched for")
		}
		k.foundPages, k.mustSearch = later, false
	}
	if len(k.foundPages) > 0 {
		s := k.foundPages[0]
		k.messages.Store(s.message, nil)
		k.foundPages = k.foundPages[1:]
		return s, nil
	}
	return k.sendPage(ctx, content, k.seed, i)
}

// updatePage draws one page that was sent. Only the final value may fall back to other forms.
func (k *card) updatePage(ctx context.Context, i int, content chat.Card, last bool) error {
	if last {
		return k.pages[i].finish(ctx, k.sender, content, k.seed, i)
	}
	return k.pages[i].draw(ctx, k.sender.messages, content)
}

// ready waits for the rate limit of the last page, which is the one that changes.
func (k *card) ready(ctx context.Context) error {
	k.mu.Lock()
	s := k.pages[len(k.pages)-1]
	k.mu.Unlock()
	switch {
	case s.entity != nil:
		return s.entity.pace.Ready(ctx)
	case s.pace != nil:
		return s.pace.Ready(ctx)
	}
	return nil
}

// The durable ID of a card is message/how/created/chat/question, with the topic after the chat if there is one. how is
// the ID of the card entity, or one of these.
const (
	threadMark = ":"

	howPlain = "plain"
	howText  = "text"
)

// idOf writes the durable id of the card that begins with this page.
func idOf(page *cardPage, to chat.Ref) string {
	how, born := howText, time.Now()
	switch {
	case page.entity != nil:
		how, born = page.entity.id, page.entity.created
	case page.pace != nil:
		how = howPlain
	}
	where := to.Key.ID
	if to.Key.Thread != "" {
		where += threadMark + to.Key.Thread
	}
	return strings.Join([]string{page.message, how, strconv.FormatInt(born.Unix(), 36), where, to.ID}, "/")
}

var errCardID = errors.New("feishu: not the id of a card")

// parseID restores the first page of a card from its durable id, without a call to the platform.
func parseID(id string, ms messages) (first *cardPage, to chat.Ref, born time.Time, err error) {
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
		s.pace = openapi.PatchPace()
	case howText:
	default:
		s.entity = ms.entity(parts[1], born)
	}
	return s, chat.Ref{Key: keyFrom(parts[3]), ID: parts[4]}, born, nil
}

// keyFrom parses the chat of a durable id.
func keyFrom(where string) chat.Key {
	id, thread, _ := strings.Cut(where, threadMark)
	key := chat.FeishuChat(id)
	if strings.HasPrefix(id, "ou_") { // sent to a user, not to a known chat
		key = chat.PersonKey(id)
	}
	key.Thread = thread
	return key
}
