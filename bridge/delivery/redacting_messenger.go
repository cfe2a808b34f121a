package delivery

import (
	"context"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"magpie/contextmgr/redact"
	"magpie/internal/chat"
	"magpie/internal/text"
)

// Shown returns a text as people may see it: without the program's own secrets, no matter how an agent has learned
// them, without other keys and passwords, and without what only a terminal understands.
func Shown(s string, secrets redact.Known) string {
	return redact.Text(secrets.Text(text.Plain(s)), redact.Keys)
}

// RedactingMessenger sends texts and cards as [Shown]. It is the last step before the platform, so no caller can bypass
// it.
type RedactingMessenger struct {
	Messenger
	secrets redact.Known
	growing *lru.Cache[string, growth] // of the cards that are being drawn, by their ID
}

// maxGrowing is how many cards may be drawn at the same time without reading their texts again.
const maxGrowing = 256

// NewRedactingMessenger makes a RedactingMessenger for a program with these secrets.
func NewRedactingMessenger(out Messenger, secrets redact.Known) RedactingMessenger {
	growing, err := lru.New[string, growth](maxGrowing)
	if err != nil { // the number is positive
		panic(err)
	}
	return RedactingMessenger{out, secrets, growing}
}

// Reply sends a text.
func (d RedactingMessenger) Reply(ctx context.Context, to chat.Ref, text, idem string) (string, error) {
	return d.Messenger.Reply(ctx, to, Shown(text, d.secrets), idem)
}

// Mention mentions users in a text.
func (d RedactingMessenger) Mention(
	ctx context.Context, to chat.Ref, users []string, text, idem string,
) (string, error) {
	return d.Messenger.Mention(ctx, to, users, Shown(text, d.secrets), idem)
}

// Attach shows a file with a caption.
func (d RedactingMessenger) Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (string, error) {
	return d.Messenger.Attach(ctx, to, name, Shown(caption, d.secrets), idem)
}

// Post sends a card.
func (d RedactingMessenger) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	return d.Messenger.Post(ctx, to, RedactCard(card, d.secrets), idem)
}

// Edit draws a card.
func (d RedactingMessenger) Edit(ctx context.Context, cardID string, card chat.Card) error {
	before, _ := d.growing.Get(cardID)
	shown, now := redactGrowing(card, d.secrets, before)
	d.growing.Add(cardID, now)
	return d.Messenger.Edit(ctx, cardID, shown)
}

// Close draws a card for the last time.
func (d RedactingMessenger) Close(ctx context.Context, cardID string, card chat.Card) error {
	d.growing.Remove(cardID)
	return d.Messenger.Close(ctx, cardID, RedactCard(card, d.secrets))
}

// growth is what is known of a card from its last drawing, so that the next one costs what has come since.
type growth struct {
	answer  redact.Growing
	earlier map[string]string // the earlier parts as shown
}

// RedactCard returns a card as it may be shown, see [Shown]. While its answer grows, an end that may be the beginning
// of a secret or a key is held back: they may arrive in pieces. Of what people are asked to allow, everything that
// could be a command stays readable.
func RedactCard(c chat.Card, secrets redact.Known) chat.Card {
	c, _ = redactGrowing(c, secrets, growth{})
	return c
}

// redactGrowing is RedactCard for a card of which the last drawing is known.
func redactGrowing(c chat.Card, secrets redact.Known, last growth) (chat.Card, growth) {
	now := growth{earlier: map[string]string{}}
	clean := func(s string) string { return Shown(s, secrets) }
	partial := func(s string) string { return secrets.PartialText(text.Plain(s)) }
	switch {
	case c.Live:
		c.Body, now.answer = last.answer.Next(partial(c.Body), redact.Keys)
	case c.Asks:
		c.Body = redact.Text(secrets.Text(text.Plain(c.Body)), redact.Keys|redact.Runnable)
	default:
		c.Body = clean(c.Body)
	}
	c.Title, c.Status, c.Footer, c.Summary = clean(c.Title), clean(c.Status), clean(c.Footer), clean(c.Summary)
	c.Earlier = slices.Clone(c.Earlier)
	for i, p := range c.Earlier {
		body, known := last.earlier[p.Body]
		if !known {
			body = clean(p.Body)
		}
		now.earlier[p.Body] = body
		c.Earlier[i] = chat.Part{Body: body, Status: clean(p.Status)}
	}
	c.Panels = slices.Clone(c.Panels)
	for i, p := range c.Panels {
		if c.Live {
			p.Body = partial(p.Body)
		}
		c.Panels[i].Title, c.Panels[i].Body = clean(p.Title), clean(p.Body)
	}
	c.Charts = slices.Clone(c.Charts)
	for i, chart := range c.Charts {
		c.Charts[i].Title, c.Charts[i].Bars = clean(chart.Title), slices.Clone(chart.Bars)
		c.Charts[i].Limit.Label = clean(chart.Limit.Label)
		for j, b := range chart.Bars {
			c.Charts[i].Bars[j].Label = clean(b.Label)
		}
	}
	c.Buttons = redactButtons(c.Buttons, clean)
	if c.Form != nil {
		c.Form = redactForm(*c.Form, clean)
	}
	return c, now
}

// redactButtons returns buttons with their labels as they may be shown. What a press returns must not change.
func redactButtons(buttons []chat.Button, clean func(string) string) []chat.Button {
	buttons = slices.Clone(buttons)
	for i, b := range buttons {
		buttons[i].Label = clean(b.Label)
	}
	return buttons
}

// redactForm returns a form as it may be shown. Its values are returned with a press and must not change.
func redactForm(f chat.Form, clean func(string) string) *chat.Form {
	f.Buttons, f.Fields = redactButtons(f.Buttons, clean), slices.Clone(f.Fields)
	for i, field := range f.Fields {
		f.Fields[i].Label, f.Fields[i].Hint = clean(field.Label), clean(field.Hint)
		f.Fields[i].Options = slices.Clone(field.Options)
		for j, o := range field.Options {
			f.Fields[i].Options[j].Label = clean(o.Label)
		}
	}
	return &f
}
