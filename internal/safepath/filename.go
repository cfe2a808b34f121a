package safepath

import (
	"path"
	"strings"
	"unicode"

	"magpie/internal/text"
)

// FileName converts a name chosen by a sender to a safe file name of limited length, to be used after a prefix of ours.
// It is empty if nothing of the name is left.
func FileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune("<>:\"|?*/$", r) {
			return '_'
		}
		return r
	}, path.Base(strings.ReplaceAll(strings.ToValidUTF8(name, "_"), `\`, "/")))
	return strings.Trim(text.SafeLine(name), ". ")
}

// Slug converts s to a part of a file name for any system: letters, digits and underscores, with dashes for everything
// in between, of at most that many bytes. It is empty if s has none of those.
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
