package feishu

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
)

// tooOld matches the whole text of a version 2.0 card whose content is not available, in the tenant's language (page
// "Form container" has the English words). A card with other text is not such a card.
var tooOld = regexp.MustCompile(`^(?:\[图片\]\s*)?(?:请升级至最新版本客户端|` +
	`(?i:please upgrade to the latest version of the client)).*$`)

// deepestCard limits the recursion into a card, which may come from a stranger.
const deepestCard = 12

// sentCard returns the card as its author sent it, or c if it is that card already. Events, and reads that request it,
// have it as a JSON string in user_dsl; for a version 2.0 card the elements beside it only say [tooOld].
func sentCard(c gjson.Result) gjson.Result {
	if card := gjson.Parse(c.Get("user_dsl").String()); card.IsObject() {
		return card
	}
	return c
}

// card returns the title and the text of a card, line by line.
func (r *contentReader) card(c gjson.Result) string {
	sent := sentCard(c)
	title := cmp.Or(c.Get("title").String(), sent.Get("header.title.content").String())
	lines := r.cardLines(sent)
	if len(lines) == 0 {
		lines = r.cardLines(c) // what it was sent with may be the values of a template
	}
	text := strings.Join(lines, "\n")
	if tooOld.MatchString(strings.TrimSpace(text)) {
		text = ""
	}
	return strings.TrimSpace(chat.AttachmentMark("卡片", title) + "\n" + text)
}

// cardLines returns the text of a card. The platform sends other apps' cards in a simple form, with lists of lines
// (page "Receive message content"); any other form is searched for texts.
func (r *contentReader) cardLines(c gjson.Result) (lines []string) {
	for _, part := range []string{"elements", "body", "i18n_elements"} {
		r.collectText(c.Get(part), deepestCard, &lines)
	}
	return lines
}

// collectText appends the texts in e, of at most deep levels, to lines.
func (r *contentReader) collectText(e gjson.Result, deep int, lines *[]string) {
	add := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			*lines = append(*lines, s)
		}
	}
	switch {
	// Whatever is nested deeper is left out.
	case deep == 0:
	case e.IsArray():
		var line strings.Builder
		for _, x := range e.Array() {
			if words, ok := inlineText(x); ok {
				line.WriteString(words)
				continue
			}
			r.collectText(x, deep-1, lines)
		}
		add(line.String())
	case e.IsObject():
		if words, ok := inlineText(e); ok {
			add(words)
			return
		}
		for _, part := range []string{
			"title", "text", "content", "header", "fields", "columns", "actions", "options", "elements",
		} {
			if x := e.Get(part); x.IsObject() || x.IsArray() {
				r.collectText(x, deep-1, lines)
			} else if part != "header" {
				add(outsideCode(x.String(), r.people))
			}
		}
	}
}

// inlineText reads one element of a line. It returns false for an element with child elements, and for Markdown.
func inlineText(e gjson.Result) (string, bool) {
	if !e.IsObject() {
		return "", false
	}
	text, tag := e.Get("text").String(), e.Get("tag").String()
	if e.Get("text").IsObject() { // as it was sent, not in the simple form
		if text = e.Get("text.content").String(); tag != "button" {
			return "", false
		}
	}
	switch tag {
	case "text":
		return text, true
	case "plain_text":
		return cmp.Or(text, e.Get("content").String()), true
	case "a":
		return link(text, e.Get("href").String()), true
	case "at":
		return mentionKey(e.Get("user_id").String(), e.Get("user_name").String()), true
	case "img":
		return chat.AttachmentMark("图片", ""), true
	case "button":
		return " 〔" + text + "〕", true
	case "hr":
		return "---", true
	}
	return "", false
}
