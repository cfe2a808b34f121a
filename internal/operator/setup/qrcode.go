package setup

import (
	"strings"

	"rsc.io/qr"
)

// margin is the light frame that a reader needs around a code. Four modules are the rule; two suffice on a screen.
const margin = 2

// qrCode draws text as a code that phones can read: two modules per character, dark on light whatever the terminal's
// colors. It is empty if the terminal has fewer rows or columns than the code needs, which are returned as well: a code
// that has partly scrolled away cannot be read.
func qrCode(text string, columns, rows int) (drawn string, wide, high int) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", 0, 0
	}
	if wide, high = code.Size+2*margin, (code.Size+2*margin+1)/2; wide > columns || high > rows {
		return "", wide, high
	}
	var b strings.Builder
	for y := -margin; y < code.Size+margin; y += 2 {
		// Black on white explicitly: phones do not read inverted codes reliably.
		b.WriteString("\x1b[30;47m")
		for x := -margin; x < code.Size+margin; x++ {
			switch upper, lower := code.Black(x, y), code.Black(x, y+1); {
			case upper && lower:
				b.WriteString("█")
			case upper:
				b.WriteString("▀")
			case lower:
				b.WriteString("▄")
			default:
				b.WriteString(" ")
			}
		}
		b.WriteString("\x1b[0m\n")
	}
	return b.String(), wide, high
}
