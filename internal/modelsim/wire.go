package modelsim

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// apiError is an error in the API's form.
type apiError struct {
	status  int
	kind    string
	message string
}

func (e *apiError) object(id string) object {
	return object{"type": "error", "error": object{"type": e.kind, "message": e.message}, "request_id": id}
}

// writeError answers a request with an HTTP error.
func writeError(w http.ResponseWriter, id string, e *apiError) {
	body, err := json.Marshal(e.object(id))
	if err != nil {
		panic(err) // strings always marshal
	}
	setHeaders(w.Header(), id, "application/json")
	w.WriteHeader(e.status)
	_, _ = w.Write(body) // the client may have left
}

func requestID(id int) string { return fmt.Sprintf("req_sim_%06d", id) }

// setHeaders sets what every response has.
func setHeaders(h http.Header, id string, contentType string) {
	h.Set("Content-Type", contentType)
	h.Set("Request-Id", id)
	h.Set("Anthropic-Organization-Id", "00000000-0000-4000-8000-000000000000")
	reset := time.Now().Add(time.Minute).UTC().Format(time.RFC3339)
	for name, limit := range map[string]string{"Requests": "4000", "Tokens": "2000000"} {
		h.Set("Anthropic-Ratelimit-"+name+"-Limit", limit)
		h.Set("Anthropic-Ratelimit-"+name+"-Remaining", limit)
		h.Set("Anthropic-Ratelimit-"+name+"-Reset", reset)
	}
}

// usage is how many tokens a request has, split as a prompt cache would.
type usage struct {
	input      int // not cached
	cacheRead  int
	cacheWrite int
}

// newUsage splits a number of tokens: most of a request of the CLI repeats the previous one.
func newUsage(n int) usage {
	u := usage{cacheRead: n * 8 / 10, cacheWrite: n / 10}
	u.input = n - u.cacheRead - u.cacheWrite
	return u
}

func (u usage) object(output int) object {
	return object{
		"input_tokens": u.input, "cache_read_input_tokens": u.cacheRead, "cache_creation_input_tokens": u.cacheWrite,
		"cache_creation": object{"ephemeral_5m_input_tokens": u.cacheWrite, "ephemeral_1h_input_tokens": 0},
		"output_tokens":  output, "service_tier": "standard",
	}
}

// estimateTokens is about right for JSON, English and Chinese: one token per four ASCII characters, or two per three
// others.
func estimateTokens(text []byte) int {
	ascii, wide := 0, 0
	for _, r := range string(text) {
		if r < 0x80 {
			ascii++
		} else {
			wide++
		}
	}
	return max((ascii+3)/4+wide*2/3, 1)
}
