package approval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"magpie/contextmgr/redact"
	"magpie/internal/claude"
	"magpie/internal/text"
)

// toolInput are the input fields of tools that have a layout of their own.
type toolInput struct {
	Command     string `json:"command"`
	Description string `json:"description"`
	Background  bool   `json:"run_in_background"`

	File       string `json:"file_path"`
	Notebook   string `json:"notebook_path"`
	Content    string `json:"content"`
	Old        string `json:"old_string"`
	New        string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`

	Path    string `json:"path"`
	Pattern string `json:"pattern"`

	URL    string `json:"url"`
	Prompt string `json:"prompt"`
	Query  string `json:"query"`

	Plan string `json:"plan"`
}

// inputKeys are the fields of a toolInput that each tool uses.
var inputKeys = map[string][]string{
	"Bash":              {"command", "description", "run_in_background"},
	"Write":             {"file_path", "content"},
	"Edit":              {"file_path", "old_string", "new_string", "replace_all"},
	"NotebookEdit":      {"notebook_path"},
	"Read":              {"file_path"},
	"Grep":              {"path"},
	"Glob":              {"path", "pattern"},
	"WebFetch":          {"url", "prompt"},
	"WebSearch":         {"query"},
	claude.PlanTool:     {"plan"},
	claude.QuestionTool: {"questions"},
	claude.FormTool:     {"server", "message", "url", "schema"},
}

// plainKeys are other input fields of a tool, which do not affect the decision.
var plainKeys = map[string][]string{
	"Bash":          {"timeout"},
	claude.PlanTool: {"planFilePath"},
}

// readInput parses the input of a tool as the tool does: keys are case-sensitive. A key that differs only in case, such
// as File_Path, is an error. Go's decoder would take it for file_path, and the card would not show what the tool does.
func readInput(tool string, input json.RawMessage) (in toolInput, err error) {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(input, &all); err != nil {
		return toolInput{}, err
	}
	own := map[string]json.RawMessage{}
	for name, value := range all {
		i := slices.IndexFunc(inputKeys[tool], func(key string) bool { return strings.EqualFold(key, name) })
		switch {
		case i < 0:
		case inputKeys[tool][i] != name:
			return toolInput{}, fmt.Errorf("%s has the key %q", tool, name)
		default:
			own[name] = value
		}
	}
	data, err := json.Marshal(own)
	if err != nil {
		return toolInput{}, err
	}
	err = json.Unmarshal(data, &in)
	return in, err
}

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

// LongestRecorded limits a tool's input, and its output, in the History, in characters.
const LongestRecorded = 2000

// ShortInput is a tool's input for the History; kept redacts a text. Strings in it are shortened, so that it remains
// valid JSON.
func ShortInput(input json.RawMessage, redact func(string) string) string {
	var v any
	in := json.NewDecoder(bytes.NewReader(input))
	in.UseNumber()
	if in.Decode(&v) != nil {
		return redact(string(input))
	}
	most := LongestRecorded
	if len(input) > LongestRecorded {
		members, _ := v.(map[string]any)
		most = LongestRecorded / 2 / max(len(members), 1)
	}
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(withTexts(v, func(s string) string { return text.Shorten(redact(s), most) })); err != nil {
		return redact(string(input))
	}
	return text.Shorten(string(bytes.TrimSpace(b.Bytes())), LongestRecorded)
}

// withTexts applies change to all strings in a JSON value, including member names. A number that is changed, such as a
// phone number, becomes a string.
func withTexts(v any, change func(string) string) any {
	switch v := v.(type) {
	case string:
		return change(v)
	case json.Number:
		if s := change(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i, e := range v {
			v[i] = withTexts(e, change)
		}
	case map[string]any:
		changed := make(map[string]any, len(v))
		for name, e := range v {
			changed[change(name)] = withTexts(e, change)
		}
		return changed
	}
	return v
}
