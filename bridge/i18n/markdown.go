package i18n

import (
	"fmt"
	"strings"
	"unicode"

	"magpie/internal/text"
)

// PersonName is how somebody is called, or else his id.
func PersonName(name, id string) string {
	if name = SafeName(name); name != "" {
		return name
	}
	return id
}

// SafeName is a name within Markdown. People call themselves and their groups what they like, so one that could be
// taken for markup or for a link stands there as code.
func SafeName(name string) string {
	name = Visible(name)
	plain := func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.M, unicode.N) || strings.ContainsRune(" -()（）·'’", r)
	}
	if strings.HasPrefix(name, "-") || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) {
		return InlineCode(name)
	}
	return name
}

// Visible is a name in one line, without what turns the direction of writing or is not seen.
func Visible(name string) string { return text.Visible(name) }

// CodeBlock is a text as a block of code in which nothing is markup, and nothing is hidden.
func CodeBlock(language, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + revealed(strings.TrimSuffix(text, "\n")) + "\n" + fence + "\n"
}

// revealed replaces characters that are invisible, or change how others look, by their code point: a
// person who approves a command must see all of it.
func revealed(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '\n' || r == '\t' || r == ' ':
			b.WriteRune(r)
		case text.IsInvisible(r) || unicode.Is(unicode.Variation_Selector, r) || unicode.IsSpace(r):
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// PlainText is a text of the agent's in one line of Markdown of ours, in which nothing of it takes effect: no
// emphasis, link, heading, mention or tag. What could be more than words stands there as code.
func PlainText(text string) string {
	text = Visible(text)
	runes := []rune(text)
	for i, r := range runes {
		ends := i == len(runes)-1 || runes[i+1] == ' '
		switch {
		case unicode.In(r, unicode.L, unicode.M, unicode.N), strings.ContainsRune(" ,;?'\"()/，。？！；：、（）“”‘’《》…—·", r):
		case strings.ContainsRune(".:!", r) && ends: // else it may be an address, or a picture
		case r == '-' && i > 0 && runes[i-1] != ' ' && !ends:
		default:
			return InlineCode(text)
		}
	}
	if strings.HasPrefix(strings.TrimLeftFunc(text, unicode.IsNumber), ". ") { // it would begin a list
		return InlineCode(text)
	}
	return text
}

// InlineCode is a short text as code within a line.
func InlineCode(text string) string { return "`" + strings.ReplaceAll(Visible(text), "`", "'") + "`" }
