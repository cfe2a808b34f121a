package cardjson

import (
	"strings"
	"testing"

	"magpie/internal/chat"
)

func TestPanelsHaveNoTablesAndShareTheirRoom(t *testing.T) {
	long := strings.Repeat("Some words in a row.\n", 1000)
	c := chat.Card{
		Panels: []chat.Panel{
			{Body: "short"}, {Body: long}, {Body: strings.Repeat(table+"\n", 9)}, {Body: "```go\n" + long},
			{Body: "one too many"},
		},
	}
	texts := panelTexts(c)
	if len(texts) != maxPanels {
		t.Fatalf("%d panels", len(texts))
	}
	total := 0
	for i, text := range texts {
		total += cost(text)
		if strings.Count(text, "```")%2 != 0 {
			t.Errorf("panel %d: an open fence: %q", i, text)
		}
	}
	if total > panelRoom+300 || len(texts[1]) < panelRoom/3-10 {
		t.Errorf("%d bytes, of them the second %d", total, len(texts[1]))
	}
	if !strings.HasPrefix(texts[2], "```") {
		t.Errorf("a table: %q", texts[2])
	}
}
