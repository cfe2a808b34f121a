package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Known is a set of literal secrets, such as the program's own. The zero Known finds nothing.
type Known struct{ secrets []string } // the longest first

// Lengths in bytes.
const (
	shortest = 8  // minimum length of a secret: a shorter one could be any word
	telling  = 12 // minimum length of a truncated secret that is found: a shorter one could be any word
)

// NewKnown returns a Known of these secrets. Those that are too short are ignored.
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

// telltale is the beginning of a secret that gives it away: half of it, but all of a URL, since many begin alike.
func telltale(secret string) string {
	if strings.Contains(secret, "://") {
		return secret
	}
	return secret[:min(len(secret), max(telling, len(secret)/2))]
}

// Text returns s without the secrets, complete or truncated after their telltale beginning.
func (k Known) Text(s string) string {
	for _, secret := range k.secrets {
		sign := telltale(secret)
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
			// Only the part that matches the secret is removed, so a truncated one is covered as well.
			s = s[i+commonPrefix(s[i:], secret):]
		}
		b.WriteString(s)
		s = b.String()
	}
	return s
}

// FoundIn reports whether data contains one of the secrets, complete or truncated.
func (k Known) FoundIn(data []byte) bool {
	return slices.ContainsFunc(k.secrets, func(s string) bool { return bytes.Contains(data, []byte(telltale(s))) })
}

// PartialText is Text for a text that is still growing: it holds back an end that may be the beginning of a secret.
func (k Known) PartialText(s string) string {
	s = k.Text(s)
	// The longest end of s that is a beginning of any secret.
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

// commonPrefix is the length of the common prefix of two texts, in whole characters.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}
