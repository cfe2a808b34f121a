package bridge

import (
	"os"
	"strings"
	"testing"

	"github.com/google/uuid"

	"magpie/db"
	"magpie/internal/claude"
)

// left is a turn that a process which is dead had claimed.
func (l *line) left(id, text string) (transcript string) {
	l.Helper()
	l.say(id, text)
	names := db.Names{Session: uuid.NewString(), Prompt: uuid.NewString()}
	_, err := l.bridge.db.ClaimTurn(l.Context(), room, names, true)
	l.must(err)
	transcript, err = l.config.Transcript(l.config.Project, names.Session)
	l.must(err)
	return transcript
}

// What the agent did is not known when its transcript cannot be read: it may have used tools.
func TestATurnWhoseTranscriptCannotBeReadIsNotBegunAgain(t *testing.T) {
	out := &recorder{}
	l := newLine(t, out)
	l.must(os.MkdirAll(l.left("om_1", "hello"), 0o700)) // a folder cannot be read
	l.start()
	l.until("the end of the turn", func() bool {
		return l.count(`SELECT COUNT(*) FROM turns WHERE state NOT IN ('queued', 'running')`) == 1
	})
	if n := l.count(`SELECT COUNT(*) FROM turns WHERE state = 'interrupted' AND attempts = 1`); n != 1 {
		t.Error("the turn was begun again")
	}
}

// While the database fails, the use of a tool cannot be noted. It is made up for.
func TestTheUseOfAToolIsNotedInTheEnd(t *testing.T) {
	l := newLine(t, &recorder{})
	l.left("om_1", "hello")
	left, err := l.bridge.db.RunningTurns(t.Context())
	l.must(err)
	turn := &turn{b: l.bridge, painter: &painter{dirty: make(chan struct{}, 1)}}
	turn.claim.Turn = left[0]
	l.sql(`CREATE TRIGGER broken BEFORE UPDATE OF acted ON turns BEGIN SELECT RAISE(FAIL, 'broken'); END`)
	turn.take(t.Context(), claude.ToolCall{})
	l.sql(`DROP TRIGGER broken`)
	turn.take(t.Context(), claude.ToolResult{})
	if n := l.count(`SELECT acted FROM turns`); n != 1 {
		t.Error("after a crash the tool would be used again")
	}
}

// A disk that is full at the start does not keep the program from running: it takes up what was left as soon as it can.
func TestRecoveryWaitsForTheStore(t *testing.T) {
	l := newLine(t, &recorder{})
	l.left("om_1", "hello")
	l.sql(`CREATE TRIGGER broken BEFORE UPDATE OF state ON turns BEGIN SELECT RAISE(FAIL, 'broken'); END`)
	l.start()
	l.until("a try", func() bool { return strings.Contains(l.logs.String(), "turn was cut off") })
	l.sql(`DROP TRIGGER broken`)
	l.until("the answer", func() bool { return l.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 1 })
}
