package stream

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"magpie/internal/text"
)

// The CLI puts its own words between tags into prompts and tool results, and reads some of them back: what stands in
// <system-reminder> is from the program, not from people. People must not be able to write such tags. So the tags are
// broken where text for the agent goes to the CLI, see [BreakMarkup].

// markupTags are the names of these tags, in 2.1.197 and later, and of those that surround calls of tools. Names that
// many other programs use (summary, status, result) mean something only within one of these.
const markupTags = `system-reminder system-note system-message
command-name command-message command-args command-contents local-command
bash-input bash-stdout bash-stderr repl-output
task-notification task-id task-type task-status tool-use-id output-file coordinator-task background-task
user-prompt-submit-hook session-start-hook post-tool-use-hook stop-hook user-memory-input
tool-use-error tool-call tool-result function-calls function-results
persisted-output truncated-output interrupted-output partial-response sandbox-violations
teammate-message agent-message cross-session-message earlier-message user-message non-user-message
subagent-hand-back fork-boilerplate previous-conversation retrieval-status
ide-selection ide-opened-file new-diagnostics pasted-content webhook-payload
mcp-server-note mcp-resource mcp-polling-update guidance-loaded current-skill-md skill-format responsive-mode
claude-md user-claude-md cc-memory memory-listing memory-updates channel-memory-listing
total-tokens tool-uses subagent-tokens duration-ms routine-summary remote-review
claude-last-answer classifier-system-prompt settings-deny-rules permissions-template cc-automode session-metadata antml:`

// markupWords are those with names that are common words. They count only if nothing continues the word.
const markupWords = `channel functions invoke system tick wake`

// asideWords are those between which the CLI puts a conversation when it asks the model about it, as for a title.
const asideWords = ` conversation session`

var (
	tagNames      = strings.Fields(strings.ReplaceAll(markupTags, "-", "")) // as tagName reads them
	tagWords      = strings.Fields(markupWords)
	tagWordsAside = strings.Fields(markupWords + asideWords)
)

// tagOpeners are characters that look like the beginning of a tag.
const tagOpeners = "＜﹤‹❮〈〈⟨˂ᐸ⪡≺"

// tagEntity is the beginning of a tag as HTML escapes it, also several times.
var tagEntity = regexp.MustCompile(`^&(?:(?i:amp|#38|#x26);){0,8}(?i:lt|#0*60|#x0*3c);?`)

// BreakMarkup puts a backslash into each tag in s that the CLI could take for one of its own, or the model for one of
// the CLI's: also in another case, with spaces, invisible or similar characters, and as HTML escapes it. All other text
// stays as it is, so it can be applied again.
func BreakMarkup(s string) string { return breakMarkup(s, tagWords) }

// breakMarkup is BreakMarkup with these words for [markupWords].
func breakMarkup(s string, words []string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '<':
		case r == '&':
			size = max(size, len(tagEntity.FindString(s[i:min(len(s), i+longestTag)])))
		case r < utf8.RuneSelf, r >= 0x4E00 && r <= 0x9FFF, !strings.ContainsRune(tagOpeners, r):
			i += size
			continue
		}
		i += size
		if (size > 1 || r == '<') && isMarkup(s[i:], words) {
			b.WriteString(s[done:i] + `\`)
			done = i
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

// longestTag is how many characters of a possible tag are read.
const longestTag = 120

// isMarkup reports whether what follows a "<" is a tag of the CLI.
func isMarkup(s string, words []string) bool {
	name, ends := tagName(s)
	for _, tag := range tagNames {
		if strings.HasPrefix(name, tag) {
			return true
		}
	}
	for _, word := range words {
		if strings.HasPrefix(name, word) && ends[len(word)] {
			return true
		}
	}
	return false
}

// tagName reads the name of a tag, and what may belong to it: letters and digits as they look, without dashes, slashes
// and what cannot be seen. ends tells by the length of the name where a word may end.
func tagName(s string) (name string, ends [longestTag + 1]bool) {
	read := 0
	for _, r := range s {
		if read++; read > longestTag {
			break
		}
		folded := text.Fold(r)
		switch {
		case folded >= 'a' && folded <= 'z', folded >= '0' && folded <= '9', folded == ':':
			name += string(folded)
		case folded == '-', folded == '_':
		case text.IsBlank(r), strings.ContainsRune("/∕⁄", folded):
			ends[len(name)] = true
		default:
			ends[len(name)] = true
			return name, ends
		}
	}
	ends[len(name)] = true
	return name, ends
}
