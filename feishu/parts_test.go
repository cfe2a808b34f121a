package feishu

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"magpie/feishu/feishutest"
	"magpie/internal/chat"
	"magpie/internal/feishusim"
)

func TestFormReportsItsValues(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	r := newRecorder()
	p.run(r)
	_, err := p.Client.Post(p.ctx(), ask, feishutest.AskingCard(), "seed")
	p.must(err)
	shown, tom := p.answers(ask.Key.ID)[0], p.Users()[0]
	value := map[string]any{"do": "answer", "turn": 7, "id": "q1"}
	_, err = p.Submit(p.ctx(), shown.ID, tom, value, map[string][]string{
		"color": {"1"}, "more": {"0", "1"}, "why": {"so"},
	})
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

func TestPanelsChangeWithoutANewCard(t *testing.T) {
	p, ask := newQuestion(t, feishusim.Config{})
	card := feishutest.AskingCard()
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
