package cardjson

import (
	"fmt"

	"magpie/internal/chat"
)

// Limits of charts.
const (
	maxCharts   = 5 // per card
	maxBars     = 40
	maxBarLabel = 30 // bytes
)

// chart is a chart of the platform, which clients draw in their own colors, light or dark (page "Chart",
// feishu-cards/card-json-v2-components/content-components/chart). Spec is a definition of VChart.
type chart struct {
	Tag         string    `json:"tag"`
	ID          string    `json:"element_id"`
	AspectRatio string    `json:"aspect_ratio"`
	Spec        chartSpec `json:"chart_spec"`
}

// chartSpec is a bar chart (https://www.visactor.io/vchart/option/barChart).
type chartSpec struct {
	Type     string     `json:"type"`
	Title    chartTitle `json:"title"`
	Data     chartData  `json:"data"`
	XField   string     `json:"xField"`
	YField   string     `json:"yField"`
	MarkLine []markLine `json:"markLine,omitempty"`
}

type chartTitle struct {
	Text string `json:"text"`
}

type chartData struct {
	Values []barJSON `json:"values"`
}

type barJSON struct {
	Label string  `json:"label"`
	Value float64 `json:"value"`
}

// markLine is a line across the bars.
type markLine struct {
	Y     float64    `json:"y"`
	Label chartTitle `json:"label"`
}

// drawCharts are the charts of a card.
func drawCharts(c chat.Card) (es []any) {
	for i, one := range c.Charts[:min(len(c.Charts), maxCharts)] {
		id := chartID
		if i > 0 {
			id = fmt.Sprintf("%s_%d", chartID, i+1)
		}
		es = append(es, chart{Tag: "chart", ID: id, AspectRatio: "16:9", Spec: specOf(one)})
	}
	return es
}

func specOf(c chat.Chart) chartSpec {
	s := chartSpec{Type: "bar", XField: "label", YField: "value"}
	s.Title.Text = plainLabel(c.Title, maxTitle).Content
	for _, b := range c.Bars[:min(len(c.Bars), maxBars)] {
		s.Data.Values = append(s.Data.Values, barJSON{plainLabel(b.Label, maxBarLabel).Content, b.Value})
	}
	if l := c.Limit; l.Value > 0 {
		s.MarkLine = []markLine{{l.Value, chartTitle{plainLabel(l.Label, maxTitle).Content}}}
	}
	return s
}
