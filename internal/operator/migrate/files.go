package migrate

import (
	"bytes"
	"encoding/json"
	"errors"

	"magpie/internal/i18n"
	"magpie/internal/safepath"
)

// The largest files that are read, in bytes.
const (
	largestConfig = 4 << 20
	largestStore  = 256 << 20
	largestSecret = 64 << 10
)

// readJSON reads a JSON file. Errors contain the position, but nothing of the file's content, which may be secret.
func readJSON(path string, largest int64, v any) error {
	data, err := safepath.ReadFile(path, largest)
	if err != nil {
		return err
	}
	err = json.Unmarshal(data, v)
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line := bytes.Count(data[:min(int(syntax.Offset), len(data))], []byte("\n")) + 1
		return i18n.Mistakef("第 %d 行：不是 JSON", "line %d: not JSON", line)
	case errors.As(err, &kind):
		return i18n.Mistakef("%s：应为 %s，而不是 %s", "%s: must be %s, not %s", kind.Field, jsonKind(kind), kind.Value)
	}
	return err
}

// jsonKind is JSON's name of the expected type.
func jsonKind(e *json.UnmarshalTypeError) string {
	switch kind := e.Type.Kind().String(); kind {
	case "struct", "map", "ptr":
		return "object"
	case "slice":
		return "array"
	default:
		return kind
	}
}

// stringsIn are the strings in a list of any values.
func stringsIn(list any) (found []string) {
	all, _ := list.([]any)
	for _, v := range all {
		if s, ok := v.(string); ok {
			found = append(found, s)
		}
	}
	return found
}
