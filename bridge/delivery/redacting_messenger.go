package delivery

import (
	"context"
	"slices"

	"magpie/contextmgr/redact"
	"magpie/internal/chat"
)

// RedactingMessenger removes the program's own passwords and keys from everything it sends, no matter how an agent has
// learned them. It is the last step before the platform, so no caller can bypass it.
type RedactingMessenger struct {
	Messenger
	Secrets redact.Known
}

// Reply sends a text without secrets.
func (d RedactingMessenger) Reply(ctx context.Context, to chat.Ref, text, idem string) (string, error) {
	return d.Messenger.Reply(ctx, to, d.Secrets.Text(text), idem)
}

// Mention mentions users in a text without secrets.
func (d RedactingMessenger) Mention(
	ctx context.Context, to chat.Ref, users []string, text, idem string,
) (string, error) {
	return d.Messenger.Mention(ctx, to, users, d.Secrets.Text(text), idem)
}

// Attach shows a file with a caption without secrets.
func (d RedactingMessenger) Attach(ctx context.Context, to chat.Ref, name, caption, idem string) (string, error) {
	return d.Messenger.Attach(ctx, to, name, d.Secrets.Text(caption), idem)
}

// Post sends a card without secrets.
func (d RedactingMessenger) Post(ctx context.Context, to chat.Ref, card chat.Card, idem string) (string, error) {
	return d.Messenger.Post(ctx, to, RedactCard(card, d.Secrets), idem)
}

// Edit draws a card without secrets.
func (d RedactingMessenger) Edit(ctx context.Context, cardID string, card chat.Card) error {
	return d.Messenger.Edit(ctx, cardID, RedactCard(card, d.Secrets))
}

// Close draws a card without secrets for the last time.
func (d RedactingMessenger) Close(ctx context.Context, cardID string, card chat.Card) error {
	return d.Messenger.Close(ctx, cardID, RedactCard(card, d.Secrets))
}

// RedactCard removes secrets from a card. While the card grows, a possible beginning of a secret is held back: a secret
// may arrive in pieces.
func RedactCard(c chat.Card, secrets redact.Known) chat.Card {
	clean, growing := secrets.Text, secrets.Text
	if c.Live {
		growing = secrets.PartialText
	}
	c.Title, c.Status, c.Footer = clean(c.Title), clean(c.Status), clean(c.Footer)
	c.Body, c.Summary = growing(c.Body), growing(c.Summary)
	c.Earlier = slices.Clone(c.Earlier)
	for i, p := range c.Earlier {
		c.Earlier[i] = chat.Part{Body: clean(p.Body), Status: clean(p.Status)}
	}
	c.Panels = slices.Clone(c.Panels)
	for i, p := range c.Panels {
		c.Panels[i].Title, c.Panels[i].Body = clean(p.Title), growing(p.Body)
	}
	c.Charts = slices.Clone(c.Charts)
	for i, chart := range c.Charts {
		c.Charts[i].Title, c.Charts[i].Bars = clean(chart.Title), slices.Clone(chart.Bars)
		c.Charts[i].Limit.Label = clean(chart.Limit.Label)
		for j, b := range chart.Bars {
			c.Charts[i].Bars[j].Label = clean(b.Label)
		}
	}
	if c.Form == nil {
		return c
	}
	f := *c.Form
	f.Fields = slices.Clone(f.Fields)
	for i, field := range f.Fields {
		f.Fields[i].Label, f.Fields[i].Hint = clean(field.Label), clean(field.Hint)
		f.Fields[i].Options = slices.Clone(field.Options)
		for j, o := range field.Options {
			f.Fields[i].Options[j].Label = clean(o.Label) // its value is returned with a press and must not change
		}
	}
	c.Form = &f
	return c
}
