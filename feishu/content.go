package feishu

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
)

// mention is one entry of a message's mentions: in its text, key stands for the person.
type mention struct {
	key  string // "@_user_1"
	id   string // open_id
	name string
}

// mentionsOf reads them; id is the path to a person's open_id, which events and lists keep in different places.
func mentionsOf(message gjson.Result, id string) []mention {
	var ms []mention
	for _, m := range message.Get("mentions").Array() {
		name := openapi.String(m.Get("name"))
		ms = append(ms, mention{key: m.Get("key").String(), id: openapi.String(m.Get(id)), name: name})
	}
	return ms
}

// callsAll reports whether a message mentions everybody. There may be no entry for that among its mentions.
func callsAll(content string) bool {
	return strings.Contains(content, `@_all`) || strings.Contains(content, `"user_id":"all"`)
}

// reading reads what a message says, and finds what came with it.
type reading struct {
	id     string // of the message
	people []mention
	bot    string
	called func(id string) string // what somebody is called, by open_id; empty = not known

	files    []chat.File
	pictures int
}

// read gives a message's text; what is no text stands in it as a mark. ok is false for what cannot be read at all.
// The forms are those of the page "Receive message content" (im/v1/message/events/message_content).
func (r *reading) read(form string, content gjson.Result) (text string, ok bool) {
	switch form {
	case "text":
		text = content.Get("text").String()
	case "post":
		text = r.flatten(content)
	default:
		if text, ok = r.other(form, content); !ok {
			return text, false
		}
	}
	return named(text, r.people, r.bot), true
}

// named puts names where the text has keys, and takes the bot itself out.
func named(text string, people []mention, bot string) string {
	people = slices.Clone(people)
	// @_user_1 is the beginning of @_user_10.
	slices.SortStableFunc(people, func(a, b mention) int { return len(b.key) - len(a.key) })
	var pairs []string
	for _, m := range people {
		switch {
		case m.key == "":
		case m.id == bot && bot != "":
			pairs = append(pairs, m.key+" ", "", m.key, "")
		default:
			pairs = append(pairs, m.key, "@"+m.name)
		}
	}
	pairs = append(pairs, "@_all", "@all")
	return strings.TrimSpace(strings.NewReplacer(pairs...).Replace(text))
}

// flatten writes a rich text message as the Markdown it most resembles.
func (r *reading) flatten(content gjson.Result) string {
	if !content.Get("content").Exists() { // one language inside: the form in which posts are sent
		content.ForEach(func(_, lang gjson.Result) bool {
			if lang.Get("content").Exists() {
				content = lang
				return false
			}
			return true
		})
	}
	var lines []string
	if title := content.Get("title").String(); title != "" {
		lines = append(lines, "# "+title, "")
	}
	for _, paragraph := range content.Get("content").Array() {
		var b strings.Builder
		for _, e := range paragraph.Array() {
			b.WriteString(r.inline(e))
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n")
}

func (r *reading) inline(e gjson.Result) string {
	text := e.Get("text").String()
	switch e.Get("tag").String() {
	case "a":
		return link(text, e.Get("href").String())
	case "at":
		return at(e.Get("user_id").String(), e.Get("user_name").String())
	case "img":
		return r.picture(e)
	case "media":
		return r.film(e)
	case "file":
		return r.document(e)
	case "emotion":
		return "[" + e.Get("emoji_type").String() + "]"
	case "code_block":
		return "```" + strings.ToLower(e.Get("language").String()) + "\n" + strings.TrimRight(text, "\n") + "\n```"
	case "hr":
		return "---"
	default:
		return styled(text, e.Get("style"))
	}
}

func link(text, href string) string {
	switch {
	case href == "":
		return text
	case text == "" || text == href:
		return href
	default:
		return "[" + text + "](" + href + ")"
	}
}

// at keeps the key, for which [named] puts the name; an id that is no key is no news for the reader.
func at(id, name string) string {
	if strings.HasPrefix(id, "@_") || name == "" {
		return id
	}
	return "@" + name
}

func styled(text string, styles gjson.Result) string {
	if strings.TrimSpace(text) == "" {
		return text
	}
	for _, s := range styles.Array() {
		switch s.String() {
		case "bold":
			text = "**" + text + "**"
		case "italic":
			text = "*" + text + "*"
		case "lineThrough":
			text = "~~" + text + "~~"
		}
	}
	return text
}
