package bridge

import (
	"strings"
	"testing"
	"time"

	"magpie/bridge/i18n"
	"magpie/bridge/turncard"
	"magpie/db"
	"magpie/internal/claude"
)

// Where the model is simulated, nobody takes the cost below an answer for a real one.
func TestACostThatNobodyPaysIsMarked(t *testing.T) {
	for simulated, want := range map[bool]string{true: " · $0.02 (simulated, not charged)", false: " · $0.02"} {
		turn := newTurn(&Config{Simulated: simulated, Lang: string(i18n.English)}, &db.DB{}, db.Claim{})
		card := turn.view.Apply(claude.Result{CostUSD: 0.02}, time.Now()).
			Finish(turncard.Outcome{State: db.Done}).Card(time.Now())
		if !strings.HasSuffix(card.Footer, want) {
			t.Errorf("simulated %t: %q", simulated, card.Footer)
		}
	}
}
