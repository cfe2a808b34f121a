package cardjson

import (
	"cmp"
	"fmt"
	"slices"

	"magpie/internal/chat"
)

// Limits of the panels of one card.
const (
	maxPanels = 3
	maxTitle  = 120     // bytes
	panelRoom = 6 << 10 // bytes of all panel texts and the form
	leastRoom = 1 << 10 // bytes left for the panels beside a form
)

// panel is a part of a card that readers can fold (page "Collapsible panel",
// feishu-cards/card-json-v2-components/containers/collapsible-panel).
type panel struct {
	Tag      string      `json:"tag"`
	ID       string      `json:"element_id"`
	Expanded bool        `json:"expanded"`
	Header   panelHeader `json:"header"`
	Elements []element   `json:"elements"`
}

type panelHeader struct {
	Title        *plainText `json:"title"`
	Align        string     `json:"vertical_align"`
	Icon         panelIcon  `json:"icon"`
	IconPosition string     `json:"icon_position"`
	IconAngle    int        `json:"icon_expanded_angle"` // the rotation when the panel is open
}

// panelIcon is an icon of the platform, by its name there.
type panelIcon struct {
	Tag   string `json:"tag"`
	Token string `json:"token"`
	Size  string `json:"size"`
}

// drawPanels draws the panels of a card that are at its end, or those above its body.
func drawPanels(c chat.Card, last bool) (es []any) {
	for i, text := range panelTexts(c) {
		if c.Panels[i].Last != last {
			continue
		}
		es = append(es, panel{
			Tag: "collapsible_panel", ID: panelID(i), Expanded: c.Panels[i].Open, Header: headOf(c.Panels[i]),
			Elements: []element{{Tag: "markdown", ID: panelTextID(i), Content: text, TextSize: "notation"}},
		})
	}
	return es
}

func headOf(p chat.Panel) panelHeader {
	return panelHeader{
		Title: plainLabel(p.Title, maxTitle), Align: "center", IconPosition: "follow_text", IconAngle: -180,
		Icon: panelIcon{Tag: "standard_icon", Token: "down-small-ccm_outlined", Size: "16px 16px"},
	}
}

// panelTexts are the texts of a card's panels. Unused room of short ones goes to the others. Tables are drawn as code:
// a card may have only a few, and those are for the answer.
func panelTexts(c chat.Card) []string {
	list := c.Panels[:min(len(c.Panels), maxPanels)]
	left := panelRoom
	if c.Form != nil {
		left = max(leastRoom, left-cost(toJSON(drawForm(*c.Form))))
	}
	shortFirst := make([]int, len(list))
	for i := range list {
		shortFirst[i] = i
	}
	slices.SortStableFunc(shortFirst, func(a, b int) int { return cmp.Compare(len(list[a].Body), len(list[b].Body)) })
	texts := make([]string, len(list))
	for n, i := range shortFirst {
		text := fittingPrefix(list[i].Body, left/(len(list)-n))
		left -= cost(text)
		texts[i] = cmp.Or(sanitize(text, 0), zwsp)
	}
	return texts
}

// panelSteps are the steps from the shown panels to the wanted ones; both have the same number.
func panelSteps(shown, want chat.Card) []Step {
	var ss []Step
	was, is := panelTexts(shown), panelTexts(want)
	for i := range is {
		if shown.Panels[i].Title != want.Panels[i].Title {
			ss = append(ss, Step{Element: panelID(i), Partial: toJSON(struct {
				Header panelHeader `json:"header"`
			}{headOf(want.Panels[i])})})
		}
		if was[i] != is[i] {
			ss = append(ss, Step{Element: panelTextID(i), Text: is[i]})
		}
	}
	return ss
}

func panelID(i int) string     { return fmt.Sprintf("panel_%d", i) }
func panelTextID(i int) string { return fmt.Sprintf("panel_%d_text", i) }
