package bridge

import (
	"strings"
	"unicode"
)

// plainText is a text of the agent's in one line of Markdown of ours, in which nothing of it takes effect: no
// emphasis, link, heading, mention or tag. What could be more than words stands there as code.
func plainText(text string) string {
	text = visible(text)
	runes := []rune(text)
	for i, r := range runes {
		ends := i == len(runes)-1 || runes[i+1] == ' '
		switch {
		case unicode.In(r, unicode.L, unicode.M, unicode.N), strings.ContainsRune(" ,;?'\"()/，。？！；：、（）“”‘’《》…—·", r):
		case strings.ContainsRune(".:!", r) && ends: // else it may be an address, or a picture
		case r == '-' && i > 0 && runes[i-1] != ' ' && !ends:
		default:
			return inCode(text)
		}
	}
	if strings.HasPrefix(strings.TrimLeftFunc(text, unicode.IsNumber), ". ") { // it would begin a list
		return inCode(text)
	}
	return text
}
