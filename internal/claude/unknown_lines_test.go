package claude

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/claude/stream"
)

// sink collects what is written to a process.
type sink struct {
	bytes.Buffer
	closed chan struct{}
}

func (s *sink) Close() error {
	close(s.closed)
	return nil
}

// A control request that nobody here would answer gets an error at once, whether a turn runs or not; without it the CLI
// waits for ever. Other unknown lines are reported and passed over.
func TestUnknownLines(t *testing.T) {
	t.Parallel()
	ask := func(request string) string {
		return `{"type":"control_request","request_id":"r1","request":` + request + `}`
	}
	for line, want := range map[string]string{
		ask(`{"subtype":"request_user_dialog","dialog_kind":"x"}`): "control_request/request_user_dialog",
		ask(`{"subtype":"of_tomorrow"}`):                           "control_request/of_tomorrow",
		`{"type":"control_request","request_id":"r1"}`:             "control_request/",
		`{"type":"of_tomorrow"}`:                                   "of_tomorrow",
		`{"type":"system","subtype":"of_tomorrow"}`:                "system/of_tomorrow",
		`{"type":"system","subtype":"status"}`:                     "",
		`{"type":"stream_event"}`:                                  "",
		ask(`{"subtype":"elicitation","message":"m"}`):             "",
		`no JSON`: "",
	} {
		to := &sink{closed: make(chan struct{})}
		h := newOutputRouter(stream.NewInput(to))
		var got []string
		h.unknown = func(kind string) { got = append(got, kind) }
		handled := h.handleUnknown([]byte(line))
		h.in.Close()
		<-to.closed
		if strings.Join(got, " ") != want || handled != strings.HasPrefix(want, "control_request") {
			t.Errorf("%s: reported %q, handled %v", line, got, handled)
		}
		r := gjson.Get(to.String(), "response")
		if answered := r.Get("subtype").String() == "error" && r.Get("request_id").String() == "r1"; answered != handled {
			t.Errorf("%s: answered with %q", line, to.String())
		}
	}
}
