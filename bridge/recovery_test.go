package bridge

import (
	"os"
	"testing"

	"github.com/google/uuid"

	"magpie/db"
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
