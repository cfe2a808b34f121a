package feishu

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"magpie/internal/chat"
)

// Cards are JSON 2.0 (page "Card JSON 2.0 structure", feishu-cards/card-json-v2-structure). The ids name the
// elements that are drawn again on their own.
const (
	statusID  = "status"
	bodyID    = "body"
	footerID  = "footer"
	buttonsID = "buttons"
)

// What one card takes of each, in bytes; with [pageSize] they keep a card below the platform's 30 KB.
const (
	maxStatus  = 400
	maxFooter  = 800
	maxSummary = 200
	maxLabel   = 60
	maxButtons = 8
)

type cardJSON struct {
	Schema string     `json:"schema"`
	Config cardConfig `json:"config"`
	Body   struct {
		Elements []element `json:"elements"`
	} `json:"body"`
}

type cardConfig struct {
	StreamingMode bool       `json:"streaming_mode"`
	UpdateMulti   bool       `json:"update_multi"`
	Summary       *plain     `json:"summary,omitempty"`
	Streaming     *streaming `json:"streaming_config,omitempty"`
}

type plain struct {
	Tag     string `json:"tag,omitempty"`
	Content string `json:"content"`
}

type streaming struct {
	Frequency byDefault `json:"print_frequency_ms"`
	Step      byDefault `json:"print_step"`
	Strategy  string    `json:"print_strategy"`
}

type byDefault struct {
	Default int `json:"default"`
}

type element struct {
	Tag       string     `json:"tag"`
	ID        string     `json:"element_id,omitempty"`
	Content   string     `json:"content,omitempty"`
	TextSize  string     `json:"text_size,omitempty"`
	FlexMode  string     `json:"flex_mode,omitempty"`
	Width     string     `json:"width,omitempty"`
	Columns   []element  `json:"columns,omitempty"`
	Elements  []element  `json:"elements,omitempty"`
	Text      *plain     `json:"text,omitempty"`
	Type      string     `json:"type,omitempty"`
	Behaviors []behavior `json:"behaviors,omitempty"`
}

type behavior struct {
	Type  string      `json:"type"`
	Value chat.Action `json:"value"`
}

// typing makes the client print what arrives at 160 letters a second, and at once when more arrives.
var typing = streaming{Frequency: byDefault{50}, Step: byDefault{8}, Strategy: "fast"}

// drawCard is the card for one page. Streaming mode is only for card entities.
func drawCard(c chat.Card, stream bool) string {
	var card cardJSON
	card.Schema = "2.0"
	card.Config = cardConfig{StreamingMode: stream && c.Live, UpdateMulti: true}
	if c.Summary != "" {
		card.Config.Summary = &plain{Content: clip(oneLine(c.Summary), maxSummary)}
	}
	if card.Config.StreamingMode {
		card.Config.Streaming = &typing
	}
	var es []element
	if c.Status != "" {
		es = append(es, element{Tag: "markdown", ID: statusID, Content: small(c.Status, maxStatus), TextSize: "notation"})
	}
	es = append(es, element{Tag: "markdown", ID: bodyID, Content: bodyText(c)})
	if c.Footer != "" {
		es = append(es, element{Tag: "markdown", ID: footerID, Content: small(c.Footer, maxFooter), TextSize: "notation"})
	}
	if len(c.Buttons) > 0 {
		es = append(es, buttonRow(c.Buttons))
	}
	card.Body.Elements = es
	return toJSON(card)
}

// bodyText is the body's content; the platform refuses an empty one.
func bodyText(c chat.Card) string {
	switch {
	case strings.TrimSpace(c.Body) != "":
		return safe(c.Body, maxTables)
	case c.Status == "" && c.Live:
		return "…"
	default:
		return zwsp
	}
}

func small(s string, most int) string {
	return "<font color='grey'>" + clip(prose(oneLine(clean(s))), most) + "</font>"
}

func buttonRow(buttons []chat.Button) element {
	row := element{Tag: "column_set", ID: buttonsID, FlexMode: "flow"}
	for i, b := range buttons[:min(len(buttons), maxButtons)] {
		kind := "default"
		if b.Danger {
			kind = "danger"
		}
		label := clip(oneLine(clean(b.Label)), maxLabel)
		if label == "" {
			label = "…"
		}
		row.Columns = append(row.Columns, element{Tag: "column", Width: "auto", Elements: []element{{
			Tag: "button", ID: fmt.Sprintf("button_%d", i), Type: kind,
			Text:      &plain{Tag: "plain_text", Content: label},
			Behaviors: []behavior{{Type: "callback", Value: b.Action}},
		}}})
	}
	return row
}

// postContent is a rich text message of one Markdown paragraph (page "Message content", tag md).
func postContent(md string) string {
	type node struct {
		Tag  string `json:"tag"`
		Text string `json:"text"`
	}
	type post struct {
		Content [][]node `json:"content"`
	}
	return toJSON(map[string]post{"zh_cn": {Content: [][]node{{{Tag: "md", Text: md}}}}})
}

// textContent is a plain text message; the only markup it knows are tags, the one that calls people among them.
func textContent(text string) string {
	return toJSON(struct {
		Text string `json:"text"`
	}{strings.ReplaceAll(clean(text), "<", "<"+zwsp)})
}

// step is one call that brings a drawn page closer to what it shall be: the content of one element, or all of it.
type step struct {
	element string // empty: the whole card
	content string
}

// steps is the cheapest way from what a streaming card shows to what it shall show.
func steps(shown, want chat.Card) []step {
	whole := shown.Live != want.Live || !want.Live || shown.Footer != want.Footer ||
		(shown.Status == "") != (want.Status == "") || !slices.Equal(shown.Buttons, want.Buttons)
	if whole {
		return []step{{}}
	}
	var ss []step
	if shown.Body != want.Body {
		ss = append(ss, step{bodyID, bodyText(want)})
	}
	if shown.Status != want.Status {
		ss = append(ss, step{statusID, small(want.Status, maxStatus)})
	}
	return ss
}

func same(a, b chat.Card) bool {
	return a.Status == b.Status && a.Body == b.Body && a.Footer == b.Footer && a.Summary == b.Summary &&
		a.Live == b.Live && slices.Equal(a.Buttons, b.Buttons)
}

// toJSON writes < and & as they are: it is never read by a browser, and what is sent is counted.
func toJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // our own plain types
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip shortens a text to so many bytes, at a rune.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most - len("…")
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
