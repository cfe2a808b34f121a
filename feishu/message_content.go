package feishu

import "strings"

// postContent is a rich text message of an agent's Markdown (page "Message content", tag md).
func postContent(md string) string {
	type node struct {
		Tag  string `json:"tag"`
		Text string `json:"text"`
	}
	type post struct {
		Content [][]node `json:"content"`
	}
	return toJSON(map[string]post{"zh_cn": {Content: [][]node{{{Tag: "md", Text: safe(md, maxTables)}}}}})
}

// textContent is a plain text message; the only markup it knows are tags, the one that calls people among them.
func textContent(text string) string {
	return toJSON(struct {
		Text string `json:"text"`
	}{strings.ReplaceAll(clean(text), "<", "<"+zwsp)})
}

// pictureContent is a rich text message of an agent's Markdown and an uploaded picture below it.
func pictureContent(md, key string) string {
	type node struct {
		Tag  string `json:"tag"`
		Text string `json:"text,omitempty"`
		Key  string `json:"image_key,omitempty"`
	}
	type post struct {
		Content [][]node `json:"content"`
	}
	return toJSON(map[string]post{"zh_cn": {Content: [][]node{{{Tag: "md", Text: safe(md, maxTables)}}, {{Tag: "img", Key: key}}}}})
}

// imageContent is a message that shows an uploaded picture.
func imageContent(key string) string { return toJSON(map[string]string{"image_key": key}) }

// fileContent is a message that shows an uploaded file or video.
func fileContent(key string) string { return toJSON(map[string]string{"file_key": key}) }

// entityContent is a message that shows a card of CardKit.
func entityContent(cardID string) string {
	return toJSON(map[string]any{"type": "card", "data": map[string]string{"card_id": cardID}})
}
