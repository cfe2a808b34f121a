package bridge

import (
	"regexp"
	"testing"
	"time"

	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/claude"
	"magpie/internal/convo"
	"magpie/internal/i18n"
)

// Where the model is simulated, nobody takes the cost below an answer for a real one, also if the turn began twice.
func TestACostThatNobodyPaysIsMarked(t *testing.T) {
	t.Cleanup(func() { i18n.SimulateCosts(false) })
	for simulated, want := range map[bool]string{true: ` · \$0\.02 \(simulated\)$`, false: ` · \$0\.02$`} {
		i18n.SimulateCosts(simulated)
		turn := newTurn(&Config{Lang: string(i18n.English)}, &db.DB{}, db.Claim{})
		for _, v := range []turncard.State{turn.view, turn.view.Restarted(time.Now())} {
			card := v.Apply(claude.Result{CostUSD: 0.02}, time.Now()).
				Finish(turncard.Outcome{State: convo.Done}).Card(time.Now())
			if !regexp.MustCompile(want).MatchString(card.Footer) {
				t.Errorf("simulated %t: %q", simulated, card.Footer)
			}
		}
	}
}
