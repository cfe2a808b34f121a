package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// suggests enables suggested questions.
func suggests(c *config.Config) { c.Claude.Suggestions = true }

// suggesting makes the model suggest a question, once.
func (r *rig) suggesting(question string) {
	r.model.Script(modelsim.Rule{Match: isSuggestion, Times: 1, Steps: []modelsim.Step{modelsim.Text(question)}})
}

func isSuggestion(q *modelsim.Request) bool {
	return strings.Contains(q.Messages[len(q.Messages)-1].Text, "SUGGESTION MODE")
}

// suggested waits until the card of an answer has the suggested question as a button.
func (r *rig) suggested(id string) feishusim.Message {
	r.Helper()
	r.await("the suggestion", func(v *feishusim.View) bool {
		list := replies(v, r.chat, id)
		return len(list) == 1 && offers(list[0], "ask")
	})
	return replies(r.sim.View(), r.chat, id)[0]
}

// A suggested question is a button on the answer. Pressing it asks the question, once; its cost is booked.
func TestASuggestedQuestionIsAskedOnce(t *testing.T) {
	r := newRig(t, suggests)
	r.ask("数到 2")
	r.suggesting("数到 4")
	id := r.sim.Say(r.chat, r.user, "数到 3")
	card := r.suggested(id)
	if visibleText(card) != "1 2 3" || !strings.Contains(string(card.Last().Card), `数到 4`) {
		t.Errorf("the card is %s", card.Last().Card)
	}
	r.until("its cost", func() bool {
		return r.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'suggestion' AND user_id <> ''
			AND cost_usd > 0`) == 1
	})
	for range 2 {
		r.press(card, "ask")
	}
	r.await("its answer", func(v *feishusim.View) bool {
		list := replies(v, r.chat, card.ID)
		return len(list) == 1 && visibleText(list[0]) == "1 2 3 4" && !running(list[0])
	})
	r.press(card, "ask")
	if n := r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user' AND content = '数到 4'`); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

// A chat whose first message was answered by a spare process gets suggestions like any other.
func TestASpareProcessSuggests(t *testing.T) {
	r := newRig(t, suggests, oneSpare)
	r.hasSpare()
	r.ask("数到 2")
	r.suggesting("数到 4")
	r.suggested(r.sim.Say(r.chat, r.user, "数到 3"))
	r.hasSpare()
	if n := r.started(); n != 2 {
		t.Errorf("%d processes were started, want only the next spare one", n)
	}
}

// A suggestion becomes void with the next question.
func TestASuggestionAfterANewerQuestion(t *testing.T) {
	r := newRig(t, suggests)
	r.ask("数到 2")
	r.suggesting("数到 4")
	card := r.suggested(r.sim.Say(r.chat, r.user, "数到 3"))
	r.ask("数到 5")
	if got := r.press(card, "ask"); !strings.Contains(got, "不再有效") {
		t.Errorf("told %s", got)
	}
	if n := r.count(`SELECT COUNT(*) FROM messages WHERE content = '数到 4'`); n != 0 {
		t.Error("it was asked")
	}
}

// A suggestion is a model's text: commands are not offered, nor texts that do not fit the button.
func TestWhatIsNoSuggestion(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a command": "/new", "the agent's command": "//compact", "long": strings.Repeat("长", 61),
		"a mention": "<at id=all></at> 你好", "nothing": " \u200b",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, suggests)
			r.ask("数到 2")
			r.suggesting(text)
			id := r.sim.Say(r.chat, r.user, "数到 3")
			r.until("its cost", func() bool {
				return r.count(`SELECT COUNT(*) FROM ledger WHERE purpose = 'suggestion'`) == 1
			})
			if card := r.answer(r.chat, id); offers(card, "ask") {
				t.Errorf("the card is %s", card.Last().Card)
			}
		})
	}
}

// In groups nothing is suggested, nor where suggestions are off, and the model gets no request.
func TestNoSuggestionsInGroups(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		group  bool
		change func(*config.Config)
	}{
		"in a group":   {true, suggests},
		"switched off": {false, func(c *config.Config) { c.Claude.Suggestions = false }},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, tc.change)
			place := r.chat
			if tc.group {
				place = r.sim.Group("group", r.user)
			}
			for _, question := range []string{"数到 2", "数到 3", "数到 4"} {
				r.answer(place, r.sim.Say(place, r.user, question, feishusim.Mention()))
			}
			if n := count(r.model.Requests(), isSuggestion); n != 0 || len(r.model.Requests()) != 3 {
				t.Errorf("%d requests for suggestions of %d", n, len(r.model.Requests()))
			}
		})
	}
}

// The playground shows suggested questions as long as they cost nothing.
func TestThePlaygroundSuggests(t *testing.T) {
	t.Parallel()
	for _, simulated := range []bool{true, false} {
		dir := t.TempDir()
		must(t, os.Mkdir(filepath.Join(dir, "project"), 0o700))
		b := &bridgeProcess{config: filepath.Join(dir, "magpie.toml"), simulated: simulated}
		must(t, b.writeConfig(claudetest.Scripted(t), dir, startSim(t)))
		c, err := config.Load(b.config, nil)
		must(t, err)
		if c.Claude.Suggestions != simulated {
			t.Errorf("simulated: %v, suggestions: %v", simulated, c.Claude.Suggestions)
		}
	}
}
