package stream

import (
	"strings"

	"github.com/tidwall/gjson"

	"magpie/internal/text"
)

// hook is a hook of the CLI's settings that has kept a prompt from the model.
type hook struct{ words string } // what it said; empty = nothing

// longestWords limits what is kept of a hook's words, in characters.
const longestWords = 500

// hookOfNote is the hook that a note of the CLI is about; nil = it is about something else. Without a reason (2.1.197)
// its words are in the note, between the CLI's and the prompt, which nobody may see: it has more than the question.
func hookOfNote(v gjson.Result) *hook {
	if !v.Get("prevent_continuation").Bool() && !v.Get("preventContinuation").Bool() { // in the transcript
		return nil
	}
	for _, path := range []string{"prompt_submit_outcome.reason", "promptSubmitEnding.ending.reason"} {
		if reason := v.Get(path); reason.Exists() {
			return newHook(reason.String())
		}
	}
	words, _, _ := strings.Cut(v.Get("content").String(), "\nOriginal prompt: ")
	words, blocked := strings.CutPrefix(words, "UserPromptSubmit operation blocked by hook:\n")
	if !blocked {
		words = strings.TrimPrefix(words, "Operation stopped by hook: ")
	} else if i := strings.LastIndex(words, "]: "); strings.HasPrefix(words, "[") && i > 0 { // the hook's command
		words = words[i+len("]: "):]
	}
	return newHook(words)
}

// IsHookNote reports whether a line of the CLI says that a hook has kept a prompt from the model, or has ended the turn.
func IsHookNote(v gjson.Result) bool { return hookOfNote(v) != nil }

func newHook(words string) *hook {
	return &hook{words: text.Shorten(strings.TrimSpace(words), longestWords)}
}

// firstLine is the first line of a text, for operators.
func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return text.Shorten(line, longestWords)
}
