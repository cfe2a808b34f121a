package approval

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"magpie/internal/claude"
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
