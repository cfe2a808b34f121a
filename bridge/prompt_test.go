package bridge

import (
	"testing"

	"github.com/rs/zerolog"

	"magpie/contextmgr"
	"magpie/db"
	"magpie/internal/claude"
)

// What a model needs for a prompt and its answer corrects the estimates, if the session grew by nothing else.
func TestEstimatesAreCorrectedByWhatTheModelReports(t *testing.T) {
	text := "one two three four five six seven eight nine ten "
	for len(text) < 4000 {
		text += text
	}
	said := contextmgr.EstimateTokens(text)
	grown := claude.Result{Text: text, Held: 5000 + int64(3*said)}
	failed := grown
	failed.Failure = claude.FailAuth
	for name, tc := range map[string]struct {
		course turnProgress
		before int64
		result claude.Result
		higher bool
	}{
		"a prompt and its answer":      {turnProgress{promptTokens: said}, 5000, grown, true},
		"a tool besides":               {turnProgress{promptTokens: said, acted: true}, 5000, grown, false},
		"thoughts, or a new process":   {turnProgress{}, 5000, grown, false},
		"nothing known of the session": {turnProgress{promptTokens: said}, 0, grown, false},
		"a failure":                    {turnProgress{promptTokens: said}, 5000, failed, false},
	} {
		m := contextmgr.New(nil, contextmgr.Defaults(), zerolog.Nop())
		turn := &turn{Claim: db.Claim{Chat: db.Chat{Session: db.Session{Tokens: tc.before}}}, turnProgress: tc.course}
		(&turnRunner{context: m}).calibrateTokens(turn, tc.result)
		if got := m.Tokens("", 1000); (got > 1000) != tc.higher {
			t.Errorf("%s: 1000 estimated tokens are %d", name, got)
		}
	}
}
