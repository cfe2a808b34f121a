package claude

import (
	"bytes"
	"encoding/json"

	"github.com/tidwall/gjson"
)

// deepest is how deep a line may be nested. encoding/json has the same limit.
const deepest = 10_000

// validJSON reports whether a line is JSON that is not nested too deep. The fast validation calls itself for each level,
// and a line of brackets would overflow the stack, which ends the whole program. Such a line does not come from the CLI,
// but whatever runs as its user can write to its output and to its transcripts.
func validJSON(line []byte) bool {
	if bytes.Count(line, []byte("["))+bytes.Count(line, []byte("{")) > deepest {
		return json.Valid(line)
	}
	return gjson.ValidBytes(line)
}
