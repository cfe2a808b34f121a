package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Known are secrets that are known word for word, such as the program's own. The zero Known finds nothing.
type Known struct{ secrets []string } // the longest first

// Lengths in bytes.
const (
	shortest = 8  // from which on a secret is looked for: a shorter one could be any word
	telling  = 12 // of the beginning of a secret that is looked for when it is cut off: a shorter one could be any word
)

// NewKnown makes a Known of these secrets. Those that are too short are left out.
func NewKnown(secrets []string) Known {
	var k Known
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= shortest && !slices.Contains(k.secrets, s) {
			k.secrets = append(k.secrets, s)
		}
	}
	slices.SortFunc(k.secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return k
}

// beginning is what of a secret gives it away: half of it. An address begins like many others.
func beginning(secret string) string {
	if strings.Contains(secret, "://") {
		return secret
	}
	return secret[:min(len(secret), max(telling, len(secret)/2))]
}

// Text returns s without the secrets, whole or cut off after half of them.
func (k Known) Text(s string) string {
	for _, secret := range k.secrets {
		sign := beginning(secret)
		if !strings.Contains(s, sign) {
			continue
		}
		var b strings.Builder
		for {
			i := strings.Index(s, sign)
			if i < 0 {
				break
			}
			b.WriteString(s[:i])
			b.WriteString(Secret.mark())
			s = s[i+common(s[i:], secret):]
		}
		b.WriteString(s)
		s = b.String()
	}
	return s
}

// In reports whether data holds one of the secrets, whole or cut off after half of it.
func (k Known) In(data []byte) bool {
	return slices.ContainsFunc(k.secrets, func(s string) bool { return bytes.Contains(data, []byte(beginning(s))) })
}

// Growing is Text for a text of which more is to come: what could be the beginning of a secret is held back.
func (k Known) Growing(s string) string {
	s = k.Text(s)
	held := 0
	for _, secret := range k.secrets {
		for n := min(len(s), len(secret)-1); n > held; n-- {
			if strings.HasSuffix(s, secret[:n]) {
				held = n
			}
		}
	}
	return s[:len(s)-held]
}

// common is the length of what two texts begin with both, in whole characters.
func common(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}
