package i18n

import (
	"fmt"
	"strings"
	"unicode"

	"magpie/internal/text"
)

// PersonName is a user's name, or the ID if the name is unknown.
func PersonName(name, id string) string {
	if name = SafeName(name); name != "" {
		return name
	}
	return id
}

// SafeName formats a name for Markdown. Users choose the names of themselves and their groups, so a name that could be
// markup or a link becomes inline code.
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

// Visible is a name on one line, without invisible characters and those that change the text direction.
func Visible(name string) string { return text.Visible(name) }

// ticks is the longest run of backquotes that a code block shows as it is. The fence around it has to be longer, and
// cards accept no fence of any length.
var ticks = strings.Repeat("`", 31)

// CodeBlock formats a text as a code block in which nothing is markup and nothing is hidden.
func CodeBlock(language, code string) string {
	code = strings.ReplaceAll(revealInvisible(strings.TrimSuffix(code, "\n")), ticks, ticks+"\u200b")
	fence := text.Fence(code)
	return fence + language + "\n" + code + "\n" + fence + "\n"
}

// revealInvisible replaces characters that are invisible, or change how others look, by their code points: a person who
// approves a command must see all of it.
func revealInvisible(s string) string {
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

// PlainText formats an agent's text as one line of Markdown without any effect: no emphasis, link, heading, mention or
// tag. Text that could be more than words becomes inline code.
func PlainText(text string) string {
	text = Visible(text)
	runes := []rune(text)
	for i, r := range runes {
		ends := i == len(runes)-1 || runes[i+1] == ' '
		switch {
		case unicode.In(r, unicode.L, unicode.M, unicode.N), strings.ContainsRune(" ,;?'\"()/，。？！；：、（）“”‘’《》…—·", r):
		case strings.ContainsRune(".:!", r) && ends: // otherwise it may be a URL or a picture
		case r == '-' && i > 0 && runes[i-1] != ' ' && !ends:
		default:
			return InlineCode(text)
		}
	}
	if strings.HasPrefix(strings.TrimLeftFunc(text, unicode.IsNumber), ". ") { // it would start a list
		return InlineCode(text)
	}
	return text
}

// InlineCode formats a short text as inline code.
func InlineCode(text string) string { return "`" + strings.ReplaceAll(Visible(text), "`", "'") + "`" }
