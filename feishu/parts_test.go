package feishu

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/larksuite/oapi-sdk-go/v3/event/dispatcher/callback"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

// asking is a card that asks for something.
func asking() chat.Card {
	options := []chat.Option{{Value: "0", Label: "Red"}, {Value: "1", Label: "Green"}}
	return chat.Card{
		Status: "waiting", Body: "Which one?", Footer: "3 s", Live: true,
		Panels: []chat.Panel{{Title: "2 steps", Body: "- `ls`"}, {Title: "Thoughts", Body: "hm", Open: true}},
		Form: &chat.Form{
			Fields: []chat.Field{
				{Name: "color", Label: "A color", Hint: "choose", Kind: chat.One, Options: options, Required: true},
				{Name: "more", Label: "More", Kind: chat.Many, Options: options},
				{Name: "why", Label: "Why <at id=all></at>", Kind: chat.Words},
			},
			Buttons: []chat.Button{{Label: "Send", Action: chat.Action{Do: "answer", Turn: 7, ID: "q1"}}},
		},
		Buttons: []chat.Button{{Label: "Stop", Danger: true, Action: chat.Action{Do: "stop", Turn: 7}}},
	}
}

func TestFormTellsWhatWasFilledIn(t *testing.T) {
	p, ask := asked(t, feishusim.Config{})
	r := newRecorder()
	p.run(r)
	_, err := p.Client.Post(p.ctx(), ask, asking(), "seed")
	p.must(err)
	shown, tom := p.answers(ask.Key.ID)[0], p.Users()[0]
	value := map[string]any{"do": "answer", "turn": 7, "id": "q1"}
	_, err = p.Submit(p.ctx(), shown.ID, tom, value, map[string][]string{"color": {"1"}, "more": {"0", "1"}, "why": {"so"}})
	p.must(err)
	got := next(t, r.presses)
	want := chat.Action{Do: "answer", Turn: 7, ID: "q1"}
	values := map[string][]string{"color": {"1"}, "more": {"0", "1"}, "why": {"so"}}
	if diff := cmp.Diff(values, got.Values); got.Action != want || diff != "" {
		t.Errorf("action %+v, values %s", got.Action, diff)
	}
	_, err = p.Press(p.ctx(), shown.ID, tom, map[string]any{"do": "stop", "turn": 7})
	p.must(err)
	if got := next(t, r.presses); got.Values != nil || got.Action.Do != "stop" {
		t.Errorf("press %+v", got)
	}
	p.clean()
}

func TestFilledInIsBounded(t *testing.T) {
	a := &callback.CallBackAction{FormValue: map[string]any{"n": 1.0, "empty": "", "b": true, "long": strings.Repeat("x", 9000)}}
	var many []any
	for i := range 500 {
		a.FormValue[fmt.Sprint("f", i)] = "x"
		many = append(many, "y")
	}
	got := filledIn(a)
	for name, values := range got {
		if len(values) != 1 || len(values[0]) > 4*maxWords || values[0] == "" {
			t.Errorf("%s = %.20q", name, values)
		}
	}
	if len(got) == 0 || len(got) > maxFields+maxButtons {
		t.Errorf("%d fields", len(got))
	}
	if got := filledIn(&callback.CallBackAction{FormValue: map[string]any{"many": many}}); len(got["many"]) != maxOptions {
		t.Errorf("%d values", len(got["many"]))
	}
	alone := &callback.CallBackAction{Name: "pick", Option: "a"}
	if diff := cmp.Diff(map[string][]string{"pick": {"a"}}, filledIn(alone)); diff != "" {
		t.Error(diff)
	}
}

func TestPanelsChangeWithoutANewCard(t *testing.T) {
	p, ask := asked(t, feishusim.Config{})
	card := asking()
	id, err := p.Client.Post(p.ctx(), ask, card, "seed")
	p.must(err)
	card.Panels = []chat.Panel{{Title: "3 steps", Body: "- `ls`\n- `cat`"}, card.Panels[1]}
	card.Footer = "4 s"
	p.must(p.Edit(p.ctx(), id, card))
	shown := p.answers(ask.Key.ID)[0].Text()
	for _, want := range []string{"3 steps", "- `cat`", "4 s", "hm"} {
		if !strings.Contains(shown, want) {
			t.Errorf("not shown: %q in %q", want, shown)
		}
	}
	card.Panels = card.Panels[:1]
	p.must(p.Edit(p.ctx(), id, card))
	card.Live, card.Form = false, nil
	p.must(p.Client.Close(p.ctx(), id, card))
	if got := p.operations(ask); got != "create batch_update update update" {
		t.Errorf("operations: %s", got)
	}
	p.clean()
}

func TestPanelsHaveNoTablesAndShareTheirRoom(t *testing.T) {
	long := strings.Repeat("Some words in a row.\n", 1000)
	c := chat.Card{Panels: []chat.Panel{{Body: "short"}, {Body: long}, {Body: strings.Repeat(table+"\n", 9)}, {Body: "```go\n" + long}, {Body: "one too many"}}}
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
