package safepath

import (
	"path"
	"strings"
	"unicode"

	"magpie/internal/text"
)

// FileName is a name that can name a file in a folder with something before it, whatever its sender called it. It is
// of bounded length, and empty when nothing is left of the name.
func FileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>:\"|?*/$", r) {
			return '_'
		}
		return r
	}, path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/")))
	return strings.Trim(text.Line(name), ". ")
}

// Slug is s as part of a file's name on any system: letters, digits and underscores, with dashes for what stood between
// them, of at most that many bytes. It is empty when s has none of those.
func Slug(s string, most int) string {
	var b strings.Builder
	gap := false
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' {
			gap = true
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		if b.Len()+len(string(r)) > most {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), "-")
}
