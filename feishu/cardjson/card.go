// Package cardjson writes the JSON of cards and message contents. It converts a [chat.Card], sanitizes an agent's
// Markdown, splits long text into pages, and reads the values of a form. All functions are pure.
//
// Calls, retries and the state of cards being drawn are in feishu and its openapi. The content of a card is decided by
// the creator of the chat.Card.
package cardjson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"magpie/internal/chat"
	"magpie/internal/text"
)

// Cards use JSON 2.0 (page "Card JSON 2.0 structure", feishu-cards/card-json-v2-structure). Elements with these ids can
// be updated one by one.
const (
	statusID = "status"
	bodyID   = "body"
	footerID = "footer"
	chartID  = "chart"
)

// ButtonsID is the element with the buttons of a card.
const ButtonsID = "buttons"

// Limits per card, in bytes. Together with [pageSize] and [panelRoom] they keep a card below the platform's 30 KB.
const (
	maxStatus  = 400
	maxFooter  = 600
	maxSummary = 200
	maxLabel   = 60
	maxButtons = 8
)

type cardJSON struct {
	Schema string      `json:"schema"`
	Config cardConfig  `json:"config"`
	Header *headerJSON `json:"header,omitempty"`
	Body   struct {
		Elements []any `json:"elements"`
	} `json:"body"`
}

// cardConfig is the config of a card. Summary is the line in the list of chats; without it the platform shows
// "[生成中...]" there while the card streams.
type cardConfig struct {
	StreamingMode bool             `json:"streaming_mode"`
	UpdateMulti   bool             `json:"update_multi"`
	Summary       *plainText       `json:"summary,omitempty"`
	Streaming     *streamingConfig `json:"streaming_config,omitempty"`
}

// headerJSON is the header of a card (page "Title", feishu-cards/card-json-v2-components/content-components/title). Its
// template is a color.
type headerJSON struct {
	Title    *plainText `json:"title"`
	Template string     `json:"template"`
}

// templates are the colors of headers. In any other state the header is grey.
var templates = map[chat.CardState]string{
	chat.CardRunning: "blue", chat.CardDone: "green", chat.CardFailed: "red", chat.CardNeedsYou: "orange",
}

// plainText is a text without markup. The summary of a card has no tag, hence omitempty.
type plainText struct {
	Tag     string `json:"tag,omitempty"`
	Content string `json:"content"`
}

// streamingConfig is streaming_config: how the client types out new text. It needs clients of 7.20 or newer.
type streamingConfig struct {
	Frequency defaultValue `json:"print_frequency_ms"`
	Step      defaultValue `json:"print_step"`
	Strategy  string       `json:"print_strategy"`
}

type defaultValue struct {
	Default int `json:"default"`
}

// element is any element of a card, with the members that this package uses; empty ones are left out.
type element struct {
	Tag       string     `json:"tag"`
	ID        string     `json:"element_id,omitempty"`
	Content   string     `json:"content,omitempty"`
	TextSize  string     `json:"text_size,omitempty"`
	FlexMode  string     `json:"flex_mode,omitempty"`
	Width     string     `json:"width,omitempty"`
	Columns   []element  `json:"columns,omitempty"`
	Elements  []element  `json:"elements,omitempty"`
	Name      string     `json:"name,omitempty"`
	Text      *plainText `json:"text,omitempty"`
	Type      string     `json:"type,omitempty"`
	Submits   string     `json:"form_action_type,omitempty"`
	Behaviors []behavior `json:"behaviors,omitempty"`
}

// behavior is a callback. Its value must be an object: for a string the SDK's event parser fails and the user sees an
// error (feishu-cards/card-callback-communication).
type behavior struct {
	Type  string      `json:"type"`
	Value chat.Action `json:"value"`
}

// typingSpeed makes the client type out new text at 160 letters per second, and show it at once when more text arrives.
// The platform's default of 14 letters per second falls behind a long answer.
var typingSpeed = streamingConfig{Frequency: defaultValue{50}, Step: defaultValue{8}, Strategy: "fast"}

// Card is the JSON of a card for one page of a body. A live card gets streaming mode if stream is true, which only card
// entities support.
func Card(c chat.Card, stream bool) string {
	var card cardJSON
	card.Schema = "2.0"
	// Schema 2.0 refuses update_multi false (code 300302).
	card.Config = cardConfig{StreamingMode: stream && c.Live, UpdateMulti: true}
	if c.Summary != "" {
		card.Config.Summary = &plainText{Content: text.Clip(withoutMentions(text.OneLine(c.Summary)), maxSummary)}
	}
	if card.Config.StreamingMode {
		card.Config.Streaming = &typingSpeed
	}
	if c.Title != "" {
		card.Header = &headerJSON{Title: plainLabel(c.Title, maxTitle), Template: cmp.Or(templates[c.State], "grey")}
	}
	card.Body.Elements = elements(c)
	return toJSON(card)
}

// TablesAsCode returns the card with its tables as code, for when the platform refuses their number.
func TablesAsCode(c chat.Card) chat.Card {
	c.Body = sanitize(c.Body, 0)
	return c
}

// Prose is the JSON of a card that shows its text without any markup, for when the platform refuses the layout of
// [Card]. It has the same buttons and the same form, and no panels.
func Prose(c chat.Card) string {
	words := c.Body
	if strings.TrimSpace(words) == "" {
		words = cmp.Or(c.Status, c.Summary, zwsp)
	}
	var card cardJSON
	card.Schema, card.Config.UpdateMulti = "2.0", true
	card.Body.Elements = append(card.Body.Elements, element{
		Tag: "div", ID: bodyID, Text: &plainText{Tag: "plain_text", Content: withoutMentions(stripControl(words))},
	})
	card.Body.Elements = append(card.Body.Elements, drawInputs(c, nil, nil)...)
	return toJSON(card)
}

// StreamingMode is the settings JSON that turns a card's streaming mode on or off (page cardkit-v1/card/settings).
func StreamingMode(on bool) string {
	return toJSON(struct {
		Config any `json:"config"`
	}{struct {
		StreamingMode bool `json:"streaming_mode"`
	}{on}})
}

// elements are the parts of a card from top to bottom. The status line is on top, where readers see it first.
func elements(c chat.Card) []any {
	var es []any
	if c.Status != "" {
		es = append(es, element{
			Tag: "markdown", ID: statusID, Content: smallText(c.Status, maxStatus), TextSize: "notation",
		})
	}
	es = append(es, drawPanels(c, false)...)
	// The body is there even when it is empty: elements that are updated one by one must exist from the beginning.
	es = append(es, element{Tag: "markdown", ID: bodyID, Content: bodyText(c)})
	es = append(es, drawCharts(c)...)
	var footer []any
	if c.Footer != "" {
		footer = append(footer, element{
			Tag: "markdown", ID: footerID, Content: smallText(c.Footer, maxFooter), TextSize: "notation",
		})
	}
	return append(es, drawInputs(c, footer, drawPanels(c, true))...)
}

// drawInputs are the interactive parts of a card, with the elements above and below its buttons.
func drawInputs(c chat.Card, above, below []any) (es []any) {
	if c.Form != nil && !c.Form.Last {
		es = append(es, drawForm(*c.Form))
	}
	es = slices.Concat(es, above, drawButtons(c), below)
	if c.Form != nil && c.Form.Last {
		es = append(es, drawForm(*c.Form))
	}
	return es
}

// drawButtons is the row of a card's buttons, if it has any.
func drawButtons(c chat.Card) (es []any) {
	if len(c.Buttons) > 0 {
		columns := buttonColumns("button", c.Buttons)
		es = append(es, element{Tag: "column_set", ID: ButtonsID, FlexMode: "flow", Columns: columns})
	}
	return es
}

// bodyText is the content of the body element; the platform refuses an empty one.
func bodyText(c chat.Card) string {
	switch {
	case strings.TrimSpace(c.Body) != "":
		return sanitize(c.Body, maxTables)
	case c.Status == "" && c.Live:
		return "…"
	default:
		return zwsp
	}
}

// smallText is one line of small grey print.
func smallText(s string, most int) string {
	return "<font color='grey'>" + text.Clip(new(prose).line(text.OneLine(stripControl(s))), most) + "</font>"
}

// buttonColumns puts as many buttons side by side as fit. Their IDs begin with name.
func buttonColumns(name string, buttons []chat.Button) []element {
	var columns []element
	for i, b := range buttons[:min(len(buttons), maxButtons)] {
		kind := "default"
		switch {
		case b.Primary:
			kind = "primary_filled"
		case b.Danger:
			kind = "danger"
		case b.Quiet:
			kind = "text"
		}
		columns = append(columns, element{Tag: "column", Width: "auto", Elements: []element{{
			Tag: "button", ID: fmt.Sprintf("%s_%d", name, i), Type: kind, Text: plainLabel(b.Label, maxLabel),
			Behaviors: []behavior{{Type: "callback", Value: b.Action}},
		}}})
	}
	return columns
}

// plainLabel is a one-line text without markup; the platform refuses an empty one.
func plainLabel(s string, most int) *plainText {
	s = shortenToCost(withoutMentions(text.OneLine(stripControl(s))), most)
	return &plainText{Tag: "plain_text", Content: cmp.Or(s, "…")}
}

// Step is one update of a drawn page: the text of an element, some members of an element, or the whole card.
type Step struct {
	Element string // the element's id; empty: replace the whole card
	Text    string // the element's new text; empty: Partial holds the change
	Partial string // the changed members of the element, in JSON
}

// changesJSON is the JSON of the element's changes.
func (s Step) changesJSON() string {
	if s.Text == "" {
		return s.Partial
	}
	return toJSON(struct {
		Content string `json:"content"`
	}{s.Text})
}

// ActionsJSON is the actions JSON of one call with all these steps (page cardkit-v1/card/batch_update).
func ActionsJSON(steps []Step) string {
	type params struct {
		Element string          `json:"element_id"`
		Partial json.RawMessage `json:"partial_element"`
	}
	type action struct {
		Action string `json:"action"`
		Params params `json:"params"`
	}
	var actions []action
	for _, s := range steps {
		actions = append(actions, action{"partial_update_element", params{s.Element, json.RawMessage(s.changesJSON())}})
	}
	return toJSON(actions)
}

// GroupCalls groups steps into calls. The body gets its own call, because only then does the client type out its new
// text.
func GroupCalls(steps []Step) [][]Step {
	if len(steps) > 1 && steps[0].Element == bodyID {
		return [][]Step{steps[:1], steps[1:]}
	}
	return [][]Step{steps}
}

// Steps returns the cheapest updates from the shown to the wanted state of a streaming card. Replacing the whole card
// would collapse the panels that a reader has opened, and clear a form that somebody is filling in.
func Steps(shown, want chat.Card) []Step {
	if !want.Live || !sameOutline(shown, want) {
		return []Step{{}}
	}
	var ss []Step
	// The body must come first: GroupCalls looks for it there.
	if shown.Body != want.Body {
		ss = append(ss, Step{Element: bodyID, Text: bodyText(want)})
	}
	if shown.Status != want.Status {
		ss = append(ss, Step{Element: statusID, Text: smallText(want.Status, maxStatus)})
	}
	if shown.Footer != want.Footer {
		ss = append(ss, Step{Element: footerID, Text: smallText(want.Footer, maxFooter)})
	}
	return append(ss, panelSteps(shown, want)...)
}

// sameOutline reports whether two cards differ only in the text of elements that both have. A header is not an element.
func sameOutline(a, b chat.Card) bool {
	opens := func(a, b chat.Panel) bool { return a.Open == b.Open && a.Last == b.Last }
	return a.Live == b.Live && a.Title == b.Title && a.State == b.State &&
		(a.Status == "") == (b.Status == "") && (a.Footer == "") == (b.Footer == "") &&
		slices.EqualFunc(a.Panels, b.Panels, opens) && slices.Equal(a.Buttons, b.Buttons) &&
		reflect.DeepEqual(a.Form, b.Form)
}

// toJSON does not escape < and &: no browser reads the JSON, and its size is limited.
func toJSON(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // only for our own plain types
	}
	return strings.TrimSuffix(b.String(), "\n")
}
