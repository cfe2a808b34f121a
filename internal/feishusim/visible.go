package feishusim

import (
	"encoding/json"
	"regexp"
	"strings"
)

// cardTexts are the members of a card that contain visible text, in the order in which it is shown.
var cardTexts = []string{"header", "title", "subtitle", "text_tag_list", "text", "content", "placeholder",
	"body", "elements", "i18n_elements", "columns", "actions", "fields", "options", "rows", "extra"}

// visibleCard returns all text that a card shows, one line or more per element.
func visibleCard(card any) string {
	var lines []string
	collectText(card, &lines)
	return strings.Join(lines, "\n")
}

func collectText(node any, lines *[]string) {
	switch n := node.(type) {
	case string:
		if n != "" {
			*lines = append(*lines, n)
		}
	case []any:
		for _, x := range n {
			if _, plain := x.(string); !plain {
				collectText(x, lines)
			}
		}
	case map[string]any:
		for _, k := range cardTexts {
			collectText(n[k], lines)
		}
	}
}

// visibleContent returns the text that a message of any type but a card shows.
func visibleContent(msgType, content string, mentions []mention) string {
	var text string
	switch msgType {
	case "text":
		var c struct{ Text string }
		if json.Unmarshal([]byte(content), &c) == nil {
			text = atTag.ReplaceAllString(c.Text, "@$1")
		}
	case "post":
		text = visiblePost(content)
	default:
		return "[" + msgType + "]"
	}
	for _, m := range mentions {
		text = strings.ReplaceAll(text, m.key, "@"+m.user.Name)
	}
	return strings.ReplaceAll(text, "@_all", "@all")
}

// atTag is a mention in a sent text.
var atTag = regexp.MustCompile(`<at [^>]*>([^<]*)</at>`)

// visiblePost handles both forms: with languages, as sent, and without, as received.
func visiblePost(content string) string {
	p, ok := parsePost(content)
	if !ok {
		return content
	}
	lines := make([]string, 0, len(p.Content)+1)
	if p.Title != "" {
		lines = append(lines, p.Title)
	}
	for _, line := range p.shown() {
		var b strings.Builder
		for _, node := range line {
			if node["tag"] == "md" {
				b.WriteString(atTag.ReplaceAllString(text(node["text"]), "@$1"))
				continue
			}
			for _, k := range []string{"text", "user_name", "emoji_type", "user_id"} {
				if s, ok := node[k].(string); ok {
					b.WriteString(map[bool]string{true: "@"}[k == "user_id"] + s)
					break
				}
			}
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n")
}

// post is rich text of one language.
type post struct {
	Title     string             `json:"title,omitempty"`
	Content   [][]map[string]any `json:"content,omitempty"`
	ContentV2 [][]map[string]any `json:"content_v2,omitempty"` // received: Markdown, besides or instead of Content
}

// shown is what clients show: Markdown if there is any (oapi-sdk-go channel/normalize/converters.go).
func (p post) shown() [][]map[string]any {
	if len(p.ContentV2) > 0 {
		return p.ContentV2
	}
	return p.Content
}

// parsePost returns the first language of a post, in the order of postLanguages, or the only one of a
// received post.
func parsePost(content string) (post, bool) {
	var p post
	if json.Unmarshal([]byte(content), &p) == nil && p.shown() != nil {
		return p, true
	}
	var langs map[string]post
	if json.Unmarshal([]byte(content), &langs) != nil {
		return post{}, false
	}
	for _, l := range postLanguages {
		if p, ok := langs[l]; ok {
			return p, true
		}
	}
	return post{}, false
}

var postLanguages = []string{"zh_cn", "en_us", "ja_jp", "zh_hk", "zh_tw"}
