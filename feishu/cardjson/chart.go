package cardjson

import "magpie/internal/chat"

// Limits of a chart.
const (
	maxBars     = 40
	maxBarLabel = 30 // bytes
)

// chart is a chart of the platform, which clients draw in their own colours, light or dark (page "Chart",
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

// drawChart is the chart of a card, if it has one.
func drawChart(c chat.Card) (es []any) {
	if c.Chart == nil {
		return nil
	}
	s := chartSpec{Type: "bar", XField: "label", YField: "value"}
	s.Title.Text = label(c.Chart.Title, maxTitle).Content
	for _, b := range c.Chart.Bars[:min(len(c.Chart.Bars), maxBars)] {
		s.Data.Values = append(s.Data.Values, barJSON{label(b.Label, maxBarLabel).Content, b.Value})
	}
	if l := c.Chart.Limit; l.Value > 0 {
		s.MarkLine = []markLine{{l.Value, chartTitle{label(l.Label, maxTitle).Content}}}
	}
	return []any{chart{Tag: "chart", ID: chartID, AspectRatio: "16:9", Spec: s}}
}
