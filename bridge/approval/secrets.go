package approval

import (
	"bytes"
	"encoding/json"

	"magpie/contextmgr/redact"
)

// HoldsSecret reports whether the input of a tool holds a secret, in whichever way JSON writes it.
func HoldsSecret(input json.RawMessage, secrets redact.Known) bool {
	if secrets.In(input) {
		return true
	}
	for d := json.NewDecoder(bytes.NewReader(input)); ; {
		token, err := d.Token()
		if err != nil { // there are no more
			return false
		}
		if text, ok := token.(string); ok && secrets.In([]byte(text)) {
			return true
		}
	}
}
