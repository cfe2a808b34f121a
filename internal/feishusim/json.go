package feishusim

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
)

// mustJSON encodes v without HTML escapes: limits count bytes, and < as \u003c would take six.
func mustJSON(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("feishusim: encode: " + err.Error()) // only values of this package or decoded JSON come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// millis is the platform's usual time: milliseconds since 1970 in a string.
func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }
