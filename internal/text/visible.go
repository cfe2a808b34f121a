package text

import (
	"fmt"
	"path"
	"strings"
	"unicode"
)

// brailleBlank is a Braille cell without dots: Unicode counts it as a symbol, and it looks like a space.
const brailleBlank = '\u2800'

// IsInvisible reports whether r shows as nothing or changes the direction of what follows: controls, formats, fillers,
// and code points without an agreed shape. Such runes can hide words in a name, or make a line look different from its
// content. Spaces are not included, nor accents and variation selectors, which shape the character before them.
func IsInvisible(r rune) bool {
	return r == brailleBlank || !unicode.IsGraphic(r) || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// IsBlank reports whether r is without visible effect in a line: invisible characters, spaces, and accents, which have
// no base character there.
func IsBlank(r rune) bool {
	// ASCII and the common Chinese characters first: nearly all text is one of them, and the Unicode
	// tables are slow.
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

// IsLineBreak reports whether any reader starts a new line at r. Terminals, browsers, Unicode and
// Python's splitlines disagree, so this is the union of all.
func IsLineBreak(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1C, 0x1D, 0x1E, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// Visible returns s on one line, with one space for each gap, and without invisible characters.
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

// ForTerminal returns an untrusted text that a terminal only shows: a control character could set the window's title,
// write to the clipboard, or hide what was shown before. Such characters are replaced by their code points, and so are
// those that change the direction of what follows.
func ForTerminal(s string) string {
	risky := func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
	}
	if !strings.ContainsFunc(s, risky) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if risky(r) {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// lineLength is the length in bytes of the longest name that stays whole. File systems allow 255 for a file name; the
// rest is for the prefix that a caller adds.
const lineLength = 120

// SafeLine makes an untrusted name safe for a line of text: of limited length, without brackets, backquotes or
// invisible characters. It may be empty.
func SafeLine(s string) string {
	s = Visible(strings.NewReplacer("[", "_", "]", "_", "`", "_").Replace(strings.ToValidUTF8(s, "_")))
	if len(s) <= lineLength {
		return s
	}
	// The extension is kept, because it tells people and programs what the file is; a very long one is
	// not an extension.
	end := path.Ext(s)
	if len(end) > 16 {
		end = ""
	}
	return strings.TrimRight(Prefix(s, lineLength-len(end)-len("…")), ". ") + "…" + end
}
