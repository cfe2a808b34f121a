package feishu

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"magpie/feishu/openapi"
	"magpie/internal/chat"
	"magpie/internal/text"
)

// mention is one entry of a message's mentions. In the text, key stands for the person.
type mention struct {
	key  string // "@_user_1"
	id   string // open_id
	name string
}

// mentionsOf reads the mentions of a message. id is the JSON path of the open_id, which differs between events and
// lists.
func mentionsOf(message gjson.Result, id string) []mention {
	var ms []mention
	for _, m := range message.Get("mentions").Array() {
		name := openapi.String(m.Get("name"))
		ms = append(ms, mention{key: m.Get("key").String(), id: openapi.String(m.Get(id)), name: name})
	}
	return ms
}

// mentionsAll reports whether a message mentions everyone. It looks into the content, because such a mention need not
// be in the message's list of mentions.
func mentionsAll(content gjson.Result) bool { return mentionsAllWithin(content, maxNested) }

// maxNested is the maximum depth of a mention in a message's content; the platform's own forms have five levels. Each
// level is read once more for the next one, so deep content would cost the square of its length.
const maxNested = 16

func mentionsAllWithin(content gjson.Result, levels int) (all bool) {
	if content.Type == gjson.String {
		s := content.String()
		return strings.Contains(s, "@_all") || slices.ContainsFunc(atTag.FindAllStringSubmatch(s, -1),
			func(tag []string) bool { return slices.ContainsFunc(called(tag[1]), isEverybody) })
	}
	if levels == 0 {
		return false
	}
	if content.IsObject() && isEverybody(content.Get("user_id").String()) {
		return true
	}
	content.ForEach(func(_, part gjson.Result) bool {
		all = (part.IsObject() || part.IsArray() || part.Type == gjson.String) && mentionsAllWithin(part, levels-1)
		return !all
	})
	return all
}

// isEverybody reports whether a mention with this ID addresses all members.
func isEverybody(id string) bool { return id == "all" || id == "all_members" || id == "@_all" }

// contentReader converts the content of one message to text, and collects its attachments.
type contentReader struct {
	id       string // of the message
	mentions []mention
	bot      string
	nameOf   func(id string) string // name by open_id; empty = unknown
	readBack bool                   // the content is not as it was sent: it comes from a call, or was edited

	files  []chat.File
	images int
}

// read returns a message's text, with a mark for each attachment. ok is false for content that cannot be read at all.
// The formats are those of the page "Receive message content" (im/v1/message/events/message_content).
func (r *contentReader) read(form string, content gjson.Result) (text string, ok bool) {
	switch form {
	case "text":
		text = r.withoutEditTags(content.Get("text").String())
	case "post":
		text = r.flatten(content)
	default:
		if text, ok = r.readOther(form, content); !ok {
			return text, false
		}
	}
	return replaceMentions(text, r.mentions, r.bot), true
}

// replaceMentions replaces the keys in the text by names, and removes mentions of the bot itself.
func replaceMentions(text string, people []mention, bot string) string {
	people = slices.Clone(people)
	// Longer keys first: @_user_1 is a prefix of @_user_10.
	slices.SortStableFunc(people, func(a, b mention) int { return len(b.key) - len(a.key) })
	var pairs []string
	for _, m := range people {
		switch {
		case m.key == "":
		case m.id == bot && bot != "":
			// The key with its space first, so that no double space remains.
			pairs = append(pairs, m.key+" ", "", m.key, "")
		default:
			pairs = append(pairs, m.key, "@"+m.name)
		}
	}
	pairs = append(pairs, "@_all", "@all")
	return strings.TrimSpace(strings.NewReplacer(pairs...).Replace(text))
}

// flatten converts a rich text message to the most similar Markdown.
func (r *contentReader) flatten(content gjson.Result) string {
	if !content.Get("content").Exists() && !content.Get("content_v2").Exists() { // per language, as posts are sent
		content.ForEach(func(_, lang gjson.Result) bool {
			if lang.Get("content").Exists() || lang.Get("content_v2").Exists() {
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
	paragraphs := content.Get("content_v2")
	if !paragraphs.IsArray() || len(paragraphs.Array()) == 0 {
		paragraphs = content.Get("content")
	}
	for _, paragraph := range paragraphs.Array() {
		var b strings.Builder
		for _, e := range paragraph.Array() {
			b.WriteString(r.inline(e, maxNested))
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n")
}

// inline converts one element of a rich text line to Markdown. Attachments become marks.
func (r *contentReader) inline(e gjson.Result, levels int) string {
	words := e.Get("text").String()
	switch e.Get("tag").String() {
	case "a":
		return link(words, e.Get("href").String())
	case "at":
		return mentionKey(e.Get("user_id").String(), e.Get("user_name").String())
	case "img":
		return r.picture(e.Get("image_key").String())
	case "media":
		return r.video(e)
	case "file":
		return r.file(e)
	case "emotion":
		return "[" + e.Get("emoji_type").String() + "]"
	case "code_block":
		words = strings.TrimRight(words, "\n")
		fence := text.Fence(words)
		return fence + strings.ToLower(e.Get("language").String()) + "\n" + words + "\n" + fence
	case "hr":
		return "---"
	case "md", "markdown":
		return r.markdown(cmp.Or(words, e.Get("content").String()))
	case "text":
		return styled(words, e.Get("style"))
	default:
		return r.unknown(e, levels)
	}
}

// unknown converts an element that the documentation does not have: what it says, with the address that it leads to,
// and the elements in it.
func (r *contentReader) unknown(e gjson.Result, levels int) string {
	if levels == 0 {
		return ""
	}
	var words, within string
	for _, name := range []string{"text", "content", "title", "name", "elements", "children"} {
		switch part := e.Get(name); {
		case part.IsArray():
			for _, child := range part.Array() {
				within += r.inline(child, levels-1)
			}
		case part.IsObject():
			within += r.unknown(part, levels-1)
		case words == "":
			words = part.String()
		}
	}
	return link(styled(words, e.Get("style")), addressIn(e, words)) + within
}

var address = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://\S+$`)

// addressIn is the address that an element leads to, whatever its name: a string, or the member url of an object.
func addressIn(e gjson.Result, words string) (found string) {
	e.ForEach(func(_, value gjson.Result) bool {
		if value.IsObject() {
			value = value.Get("url")
		}
		if s := value.String(); s != words && address.MatchString(s) {
			found = s
		}
		return found == ""
	})
	return found
}

// attribute is an attribute of a tag.
const attribute = `[a-z_]+\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+?)`

var (
	atTag      = regexp.MustCompile(`<at((?:\s+` + attribute + `)+)\s*(?:/>|>(?:([^<\n]*)</at>)?)( ?)`)
	atValue    = regexp.MustCompile(`=\s*["']?([^\s"']*)`)
	pictureTag = regexp.MustCompile(`!\[[^\]\n]*\]\((img_[A-Za-z0-9_-]+)\)`)
)

// markdown converts the platform's own Markdown, in which people are tags and pictures have keys: in content_v2 of a
// post, and in an edited text.
func (r *contentReader) markdown(s string) string {
	return outsideCode(s, func(prose string) string {
		return pictureTag.ReplaceAllStringFunc(r.people(prose), func(tag string) string {
			return r.picture(pictureTag.FindStringSubmatch(tag)[1])
		})
	})
}

// outsideCode converts the prose of a Markdown text. Code stays as it is: what is between two runs of equally many
// backquotes, or of a block's longer end. Inline code is on one line.
func outsideCode(s string, convert func(prose string) string) string {
	var b strings.Builder
	open := map[int]bool{} // lengths of runs that nothing closes
	prose := 0
	for at := strings.IndexByte(s, '`'); at >= 0 && at < len(s); {
		ticks := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		end := -1
		if !open[ticks] {
			end = codeEnd(s, at+ticks, ticks)
			open[ticks] = end < 0 && ticks >= 3
		}
		if end >= 0 {
			b.WriteString(convert(s[prose:at]) + s[at:end])
			prose, ticks = end, end-at
		}
		if next := strings.IndexByte(s[at+ticks:], '`'); next >= 0 {
			at += ticks + next
		} else {
			break
		}
	}
	return b.String() + convert(s[prose:])
}

// codeEnd is where the code ends that that many backquotes before from have opened; -1 = nowhere.
func codeEnd(s string, from, ticks int) int {
	for at := from; at < len(s) && (s[at] != '\n' || ticks >= 3); {
		if s[at] != '`' {
			at++
			continue
		}
		run := len(s[at:]) - len(strings.TrimLeft(s[at:], "`"))
		if at += run; run == ticks || run > ticks && ticks >= 3 {
			return at
		}
	}
	return -1
}

// people replaces the tags of people by their names.
func (r *contentReader) people(prose string) string {
	return atTag.ReplaceAllStringFunc(prose, func(tag string) string {
		m := atTag.FindStringSubmatch(tag)
		if name := r.person(called(m[1]), m[2]); name != "" {
			return name + m[3]
		}
		return "" // with its space, so that no double space remains
	})
}

// called are the IDs and keys in the attributes of a mention: user_id in posts, id and mention_key in cards.
func called(attributes string) (ids []string) {
	for _, m := range atValue.FindAllStringSubmatch(attributes, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// person is a mention in the platform's Markdown as text; empty = a mention of the bot. It has an ID, or the key of one
// of the message's mentions, or both: then the ID is not the open_id.
func (r *contentReader) person(ids []string, name string) string {
	id := ids[0]
	for _, m := range r.mentions {
		if m.key != "" && slices.Contains(ids, m.key) {
			id, name = m.id, m.name
			break
		}
	}
	switch {
	case isEverybody(id):
		return "@all"
	case id == r.bot && r.bot != "":
		return ""
	}
	return "@" + strings.TrimPrefix(cmp.Or(name, r.userName(id), id), "@")
}

var paragraph = regexp.MustCompile(`(?s)<p>(.*?)</p>`)

// withoutEditTags removes the paragraph tags that the platform adds to a text when its author edits it, and that it
// also has when it is read back.
func (r *contentReader) withoutEditTags(text string) string {
	if !r.readBack || !strings.HasPrefix(text, "<p>") || !strings.HasSuffix(text, "</p>") {
		return text
	}
	var lines []string
	for _, m := range paragraph.FindAllStringSubmatch(text, -1) {
		lines = append(lines, m[1])
	}
	return r.markdown(strings.Join(lines, "\n"))
}

func link(words, href string) string {
	switch {
	case href == "":
		return words
	case words == "" || words == href:
		return href
	case strings.ContainsAny(href, "() "): // a parenthesis could end the target
		href = "<" + href + ">"
	}
	return "[" + words + "](" + href + ")"
}

// mentionKey keeps a key, which [replaceMentions] replaces by the name. An ID that is not a key is replaced here, if
// there is a name.
func mentionKey(id, name string) string {
	switch {
	case isEverybody(id):
		return "@all"
	case strings.HasPrefix(id, "@_") || name == "":
		return id
	}
	return "@" + name
}

func styled(words string, styles gjson.Result) string {
	if strings.TrimSpace(words) == "" {
		return words
	}
	for _, s := range styles.Array() {
		switch s.String() {
		case "bold":
			words = "**" + words + "**"
		case "italic":
			words = "*" + words + "*"
		case "lineThrough":
			words = "~~" + words + "~~"
		case "codeInline":
			words = inlineCode(words)
		}
	}
	return words
}

// inlineCode encloses code in more backquotes than any run in it. Spaces keep a backquote at an end apart.
func inlineCode(code string) string {
	marks := strings.Repeat("`", text.LongestRun(code, '`')+1)
	if strings.HasPrefix(code, "`") || strings.HasSuffix(code, "`") {
		code = " " + code + " "
	}
	return marks + code + marks
}
