package approval

import (
	"bytes"
	"encoding/json"

	"magpie/contextmgr/redact"
)

// HoldsSecret reports whether the input of a tool contains a secret, in any JSON encoding.
func HoldsSecret(input json.RawMessage, secrets redact.Known) bool {
	if secrets.FoundIn(input) {
		return true
	}
	for d := json.NewDecoder(bytes.NewReader(input)); ; {
		token, err := d.Token()
		if err != nil { // the end of the input
			return false
		}
		if text, ok := token.(string); ok && secrets.FoundIn([]byte(text)) {
			return true
		}
	}
}
