package approval

import (
	"encoding/json"
	"testing"

	"magpie/contextmgr/redact"
)

const canary = "canary-0123456789abcdef"

func TestASecretInAToolsInput(t *testing.T) {
	t.Parallel()
	known := redact.NewKnown([]string{canary, "pass\"word\\<0123>"})
	for input, want := range map[string]bool{
		`{"command":"echo canary is a bird"}`: false, `{"command":"echo ` + canary + `"}`: true,
		`{"a":[{"b":"` + canary + `"}]}`: true,
		`{"` + canary + `":1}`:           true, `{"command":"echo \u0063` + canary[1:] + `"}`: true,
		`{"command":"pass\"word\\<0123>"}`: true, `{"command":"pass\u0022word\\\u003c0123\u003e"}`: true,
		`{"command":"` + canary: true, `{"command":`: false, ``: false,
	} {
		if got := HoldsSecret(json.RawMessage(input), known); got != want {
			t.Errorf("%s: %v", input, got)
		}
	}
}
