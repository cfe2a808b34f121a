package cardjson

import (
	"strings"

	"magpie/internal/text"
)

// Post is a rich text message with an agent's Markdown (page "Message content", tag md). A sent post
// must name a language, although a received one names none.
func Post(md string) string {
	type node struct {
		Tag  string `json:"tag"`
		Text string `json:"text"`
	}
	type post struct {
		Content [][]node `json:"content"`
	}
	return toJSON(map[string]post{"zh_cn": {Content: [][]node{{{Tag: "md", Text: sanitize(md, maxTables)}}}}})
}

// Mention is a rich text message that mentions users before a text without markup (page "Message content", tags at and
// text).
func Mention(users []string, said string) string {
	type node struct {
		Tag  string `json:"tag"`
		User string `json:"user_id,omitempty"`
		Text string `json:"text,omitempty"`
	}
	type post struct {
		Content [][]node `json:"content"`
	}
	var line []node
	for _, user := range users {
		line = append(line, node{Tag: "at", User: user}, node{Tag: "text", Text: " "})
	}
	line = append(line, node{Tag: "text", Text: withoutMentions(text.OneLine(stripControl(said)))})
	return toJSON(map[string]post{"zh_cn": {Content: [][]node{line}}})
}

// Text is a plain text message. Its only markup are tags, among them the one that mentions people, so tags are broken.
func Text(text string) string {
	return toJSON(struct {
		Text string `json:"text"`
	}{strings.ReplaceAll(stripControl(text), "<", "<"+zwsp)})
}

// PostWithImage is a rich text message with an agent's Markdown and an uploaded image below it.
func PostWithImage(md, key string) string {
	type node struct {
		Tag  string `json:"tag"`
		Text string `json:"text,omitempty"`
		Key  string `json:"image_key,omitempty"`
	}
	type post struct {
		Content [][]node `json:"content"`
	}
	content := [][]node{{{Tag: "md", Text: sanitize(md, maxTables)}}, {{Tag: "img", Key: key}}}
	return toJSON(map[string]post{"zh_cn": {Content: content}})
}

// Image is a message that shows an uploaded image.
func Image(key string) string { return toJSON(map[string]string{"image_key": key}) }

// File is a message that shows an uploaded file or video.
func File(key string) string { return toJSON(map[string]string{"file_key": key}) }

// Entity is a message that shows a CardKit card.
func Entity(cardID string) string {
	return toJSON(map[string]any{"type": "card", "data": map[string]string{"card_id": cardID}})
}
