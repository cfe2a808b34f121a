package console

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"magpie/internal/console/consoletest"
)

// draw makes the page draw a card beside its own content.
func draw(b *consoletest.Browser, card string) {
	b.Eval(`import('./card.js').then(m => {
		const box = document.querySelector('#drawn') || document.body.appendChild(Object.assign(document.createElement('div'),
			{ id: 'drawn', className: 'card' }));
		box.replaceChildren();
		m.paintCard(box, { id: 'drawn', card: ` + card + ` });
	})`)
}

// Headers have the colours of their templates, and charts are drawn, in both themes, as on the platform.
func TestHeadersAndChartsAreDrawn(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	b := consoletest.Browse(t, s.url)
	b.Until(`document.querySelector('#chat-1[aria-current=true]')`)
	var seen []string
	for _, theme := range []string{"light", "dark"} {
		b.Screen(1440, 900, theme)
		colours := map[string]string{}
		for _, template := range []string{"grey", "blue", "green", "red", "orange"} {
			draw(b, fmt.Sprintf(`{ header: { template: %q, title: { content: 'x' } }, body: { elements: [] } }`, template))
			colour := b.Eval(`getComputedStyle(document.querySelector('#drawn .card-head')).backgroundColor`)
			for other, same := range colours {
				if colour == same {
					t.Errorf("%s: %s and %s are both %s", theme, template, other, colour)
				}
			}
			colours[template] = colour
		}
		draw(b, chartCard)
		seen = append(seen, checkChart(t, b))
		b.RefuteBarriers("chart " + theme)
	}
	if seen[0] == seen[1] {
		t.Errorf("the bars are %s in both themes", seen[0])
	}
	b.RefuteComplaints()
}

// chartCard is a card with a chart of three bars, of which the highest exceeds the limit.
const chartCard = `{ body: { elements: [{ tag: 'chart', chart_spec: { type: 'bar', title: { text: 'Cost' }, xField: 'x', yField: 'y',
	data: { values: [{ x: 'Mon', y: 1 }, { x: 'Tue', y: 4 }, { x: 'Wed', y: 0 }] },
	markLine: [{ y: 2, label: { text: 'Limit $2' } }] } }] } }`

// checkChart returns the colour of the bars.
func checkChart(t *testing.T, b *consoletest.Browser) string {
	t.Helper()
	for expression, want := range map[string]string{
		`[...document.querySelectorAll('#drawn .bar span')].map(s => s.style.height)`: "25%,100%,0%",
		// The heights are visible, and the limit is as high as a bar with its value would be.
		`(h => Math.round(100 * h[0] / h[1]))([...document.querySelectorAll('#drawn .bar span')].map(s => s.offsetHeight))`: "25",
		`document.querySelector('#drawn .limit').style.bottom + ' ' + document.querySelector('#drawn .limit').textContent`:  "50% Limit $2",
		`[...document.querySelectorAll('#drawn .bar-labels span')].map(s => s.textContent)`:                                 "Mon,Tue,Wed",
		`document.querySelector('#drawn .chart').getAttribute('aria-label')`:                                                "Cost: Mon 1.00, Tue 4.00, Wed 0.00",
		`document.querySelector('#drawn figcaption').textContent`:                                                           "Cost",
	} {
		if got := b.Eval(expression); got != want {
			t.Errorf("%s = %q, want %q", expression, got, want)
		}
	}
	colour := b.Eval(`getComputedStyle(document.querySelector('#drawn .bar span')).backgroundColor`)
	if transparent := "rgba(0, 0, 0, 0)"; slices.Contains([]string{"", transparent}, strings.TrimSpace(colour)) {
		t.Errorf("the bars are %q", colour)
	}
	return colour
}
