package text

import (
	"path"
	"strings"
	"unicode"
)

// brailleBlank is a Braille cell without dots: Unicode counts it as a symbol, and it looks like a space.
const brailleBlank = '\u2800'

// IsInvisible reports whether r shows as nothing, or turns the direction of what follows: controls, formats, fillers,
// and what has no agreed shape at all. Spaces are not among them, nor accents and variation selectors, which shape what
// stands before them.
func IsInvisible(r rune) bool {
	return r == brailleBlank || !unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// IsBlank reports whether r can stand in a line without changing what the line looks like: what is invisible, spaces,
// and accents, which have nothing to stand on there.
func IsBlank(r rune) bool {
	switch {
	case r > ' ' && r < 0x7F, r >= 0x4E00 && r <= 0x9FFF:
		return false
	case r <= ' ':
		return true
	}
	return unicode.IsSpace(r) || unicode.Is(unicode.M, r) || IsInvisible(r)
}

// IsSpace reports whether r shows as a gap.
func IsSpace(r rune) bool { return unicode.IsSpace(r) || r == brailleBlank }

// IsLineBreak reports whether some reader starts a new line at r.
func IsLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// Visible returns s in one line, with one space where s has gaps, and without what is invisible.
func Visible(s string) string {
	seen := strings.Map(func(r rune) rune {
		switch {
		case IsSpace(r):
			return ' '
		case IsInvisible(r):
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(seen), " ")
}

// lineLength is the length of the longest name that stays whole, in bytes. Systems take 255 for a file's; the rest is
// for what is put before it.
const lineLength = 120

// Line is an untrusted name as it can stand in a line of text: of bounded length, without brackets or anything that is
// not seen. It may be empty.
func Line(s string) string {
	s = Visible(strings.NewReplacer("[", "_", "]", "_", "`", "_").Replace(strings.ToValidUTF8(s, "_")))
	if len(s) <= lineLength {
		return s
	}
	end := path.Ext(s)
	if len(end) > 16 {
		end = ""
	}
	return strings.TrimRight(Prefix(s, lineLength-len(end)-len("…")), ". ") + "…" + end
}
