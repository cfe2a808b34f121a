// Package redact takes out of a text what tells who somebody is or opens a door: addresses, numbers of people and
// cards, keys and passwords. It knows nothing of where the text comes from, and looks nothing up.
//
// What has a checksum is checked, so that order numbers, timestamps and constants stay. UUIDs, hashes, version numbers
// and the ids of the platform stay too. Where a text could be either, a number of a person is taken for one.
package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Policy is the set of kinds that are replaced, such as Email|Phone, or [All]. The zero Policy replaces nothing.
type Policy uint16

// The kinds, in the order in which they are looked for: what one has found, the later ones do not see.
const (
	APIKey     Policy = 1 << iota // keys and tokens of well-known services, private keys
	Secret                        // passwords, and what stands where a secret is announced
	Email                         // addresses of mail
	Passport                      // passport numbers, announced as such
	IP                            // IPv4 and IPv6, see [Text] for those that stay
	CNID                          // resident identity numbers of China
	BankCard                      // bank cards of China
	CreditCard                    // cards of the international brands
	SSN                           // social security numbers of the USA
	Phone                         // telephone numbers
	end
)

// All is every kind there is.
func All() Policy { return end - 1 }

func (p Policy) has(kind Policy) bool { return p&kind != 0 }

// mark is what stands in the place of a kind.
func (p Policy) mark() string {
	switch p {
	case APIKey:
		return "[REDACTED_API_KEY]"
	case Secret:
		return "[REDACTED_SECRET]"
	case Email:
		return "[REDACTED_EMAIL]"
	case Passport:
		return "[REDACTED_PASSPORT]"
	case IP:
		return "[REDACTED_IP]"
	case CNID:
		return "[REDACTED_CN_ID]"
	case BankCard:
		return "[REDACTED_BANK_CARD]"
	case CreditCard:
		return "[REDACTED_CC]"
	case SSN:
		return "[REDACTED_SSN]"
	}
	return "[REDACTED_PHONE]"
}

// rounds bounds how often a text is looked through. A second look finds what the first has uncovered, and nearly always
// nothing.
const rounds = 6

// Text returns s with everything of the policy's kinds replaced by a mark such as [REDACTED_EMAIL]. All else comes back
// byte for byte. Numbers are found with spaces or hyphens in them and in full-width digits. A text that was redacted
// before comes back as it is. The time it takes grows with the length of s and no faster.
//
// Addresses that every machine has (127.0.0.1, 0.0.0.0, ::1, 169.254.169.254, multicast, netmasks, large networks)
// always stay: they tell nothing about a person. Those of private networks go: inside a company they name somebody's
// desk. In code blocks all addresses stay.
func Text(s string, p Policy) string {
	if p == 0 || !suspicious(s) {
		return s
	}
	t, origin := fold(s)
	sc := &scan{policy: p, text: t}
	sc.hideMarks()
	for range rounds {
		before := len(sc.found)
		sc.look()
		if len(sc.found) == before {
			break
		}
	}
	return sc.write(s, origin)
}

// gone overwrites what has been found, so that nothing else is found in it or across it.
const gone = 0x1A

type span struct {
	start, end int
	kind       Policy
}

// scan is one text on its way through the kinds.
type scan struct {
	policy Policy
	text   []byte // folded
	plain  []byte // text without the words in which numbers mean nothing
	found  []span
}

func (s *scan) look() {
	for _, f := range []struct {
		kind Policy
		find func()
	}{
		{APIKey, s.apiKeys}, {Secret, s.secrets}, {Email, s.emails}, {Passport, s.passports},
	} {
		if s.policy.has(f.kind) {
			f.find()
		}
	}
	if s.policy&(IP|CNID|BankCard|CreditCard|SSN|Phone) == 0 || !bytes.ContainsAny(s.text, "0123456789") {
		return
	}
	s.plain = shielded(s.text)
	if s.policy.has(IP) {
		s.addresses()
	}
	s.numbers()
}

// claim notes a find.
func (s *scan) claim(kind Policy, start, end int) {
	s.found = append(s.found, span{start, end, kind})
	hide(s.text[start:end])
	if s.plain != nil {
		hide(s.plain[start:end])
	}
}

func hide(b []byte) {
	for i := range b {
		b[i] = gone
	}
}

// hideMarks hides the marks that the text already has.
func (s *scan) hideMarks() {
	const lead = "[REDACTED_"
	for i := 0; ; {
		at := bytes.Index(s.text[i:], []byte(lead))
		if at < 0 {
			return
		}
		i += at
		for kind := Policy(1); kind < end; kind <<= 1 {
			if m := kind.mark(); bytes.HasPrefix(s.text[i:], []byte(m)) {
				hide(s.text[i : i+len(m)])
				break
			}
		}
		i++
	}
}

// write puts the marks in. The finds are places in the folded text; origin gives those in s, nil = the same.
func (s *scan) write(text string, origin []int) string {
	if len(s.found) == 0 {
		return text
	}
	slices.SortFunc(s.found, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.kind, b.kind))
	})
	at := func(i int) int {
		if origin == nil {
			return i
		}
		return origin[i]
	}
	var b strings.Builder
	b.Grow(len(text))
	done := 0
	for i := 0; i < len(s.found); {
		f := s.found[i]
		for i++; i < len(s.found) && s.found[i].start < f.end; i++ {
			f.end = max(f.end, s.found[i].end)
		}
		b.WriteString(text[at(done):at(f.start)])
		b.WriteString(f.kind.mark())
		done = f.end
	}
	b.WriteString(text[at(done):])
	return b.String()
}
