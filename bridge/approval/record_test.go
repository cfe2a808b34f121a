package approval

import (
	"encoding/json"
	"testing"

	"magpie/contextmgr/redact"
)

// The input of a tool in the History is redacted in all parts and stays valid.
func TestAShortInputIsRedacted(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{
		`{"to":"bob@example.com"}`:                `{"to":"[REDACTED_EMAIL]"}`,
		`{"phone":13812345678,"n":3}`:             `{"n":3,"phone":"[REDACTED_PHONE]"}`,
		`{"list":[{"bob@example.com":[1.50]}]}`:   `{"list":[{"[REDACTED_EMAIL]":[1.50]}]}`,
		`{"id":12345678901234567890123,"x":null}`: `{"id":12345678901234567890123,"x":null}`,
		`bob@example.com`:                         `[REDACTED_EMAIL]`,
	} {
		kept := func(s string) string { return redact.Text(s, redact.All()) }
		if got := ShortInput(json.RawMessage(input), kept); got != want {
			t.Errorf("%s: %s, want %s", input, got, want)
		}
	}
}
