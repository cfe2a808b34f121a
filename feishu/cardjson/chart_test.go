package cardjson

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/chat"
)

func TestAChart(t *testing.T) {
	c := chat.Card{Body: "sum", Charts: []chat.Chart{{
		Title: "Cost (USD)", Bars: []chat.Bar{{Label: "08:00", Value: 0.5}, {Label: `<at id="all"></at>`, Value: 2}},
		Limit: chat.Bar{Label: "limit", Value: 5},
	}}}
	json := Card(c, false)
	chart := gjson.Get(json, `body.elements.#(tag=="chart")`)
	for path, want := range map[string]string{
		"chart_spec.type": "bar", "chart_spec.title.text": "Cost (USD)", "chart_spec.data.values.#": "2",
		"chart_spec.data.values.0.label": "08:00", "chart_spec.data.values.0.value": "0.5",
		"chart_spec.markLine.0.y": "5", "chart_spec.markLine.0.label.text": "limit",
	} {
		if got := chart.Get(path).String(); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	if strings.Contains(json, "<at") {
		t.Errorf("a label mentions people: %s", json)
	}
	c.Charts[0].Limit = chat.Bar{}
	if gjson.Get(Card(c, false), `body.elements.#(tag=="chart").chart_spec.markLine`).Exists() {
		t.Error("there is a line without a limit")
	}
	c.Charts[0].Bars = make([]chat.Bar, 1000)
	if n := gjson.Get(Card(c, false), `body.elements.#(tag=="chart").chart_spec.data.values.#`).Int(); n != maxBars {
		t.Errorf("%d bars", n)
	}
	c.Charts = append(c.Charts, make([]chat.Chart, 9)...)
	ids := gjson.Get(Card(c, false), `body.elements.#(tag=="chart")#.element_id`).String()
	if ids != `["chart","chart_2","chart_3","chart_4","chart_5"]` {
		t.Errorf("charts %s", ids)
	}
}
