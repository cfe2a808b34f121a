package transcript

import (
	"bytes"
	"strings"
	"testing"

	"magpie/internal/claude/stream"
	"magpie/internal/racetest"
)

// A line of brackets in a transcript must not overflow the stack: no caller could recover from that.
func TestDeepLinesInTranscripts(t *testing.T) {
	racetest.Skip(t)
	const deepest = 10_000
	deep := `{"type":"user","uuid":"x","message":` + strings.Repeat("[", deepest) + strings.Repeat("]", deepest) + "}"
	for name, line := range map[string][]byte{
		"lists":       bytes.Repeat([]byte("["), stream.MaxLine-1),
		"objects":     bytes.Repeat([]byte(`{"user":`), stream.MaxLine/8-1),
		"a deep list": []byte(deep),
	} {
		if got, err := readOutcome(bytes.NewReader(line), "x"); got.Known || err != nil {
			t.Errorf("%s in a transcript: %+v, %v", name, got, err)
		}
		if _, err := verify(bytes.NewReader(line), int64(len(line)), []string{"x"}); err != nil {
			t.Errorf("%s at the end of a transcript: %v", name, err)
		}
		if err := checkLines(bytes.NewReader(line), "x"); err == nil {
			t.Errorf("%s make a session that can be resumed", name)
		}
		if got, err := readUnasked(bytes.NewReader(line), nil); got.Known || err != nil {
			t.Errorf("%s in unasked turns: %+v, %v", name, got, err)
		}
		if got, err := readTalk(bytes.NewReader(line)); len(got) > 0 || err != nil {
			t.Errorf("%s in a conversation: %+v, %v", name, got, err)
		}
	}
}
