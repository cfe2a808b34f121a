// Package redact removes personal data and credentials from text: addresses, numbers of people and cards, keys and
// passwords. It does not know where the text comes from, and looks nothing up.
//
// Checksums are verified, so that order numbers, timestamps and constants stay. UUIDs, hashes, version numbers and the
// platform's IDs stay, too. An ambiguous number is treated as personal.
//
// Callers decide which texts are redacted, and by which policy.
package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// Policy is the set of kinds that are replaced, such as Email|Phone, or [All]. The zero Policy replaces nothing.
type Policy uint16

// The kinds, in the order in which they are searched. Later kinds do not see what an earlier one has found.
const (
	APIKey     Policy = 1 << iota // keys and tokens of well-known services, private keys
	Secret                        // passwords, and values after the word for a secret
	Email                         // email addresses
	Passport                      // passport numbers after their keyword
	IP                            // IPv4 and IPv6, see [Text] for exceptions
	CNID                          // resident identity numbers of China
	BankCard                      // bank cards of China
	CreditCard                    // cards of the international brands
	SSN                           // social security numbers of the USA
	Phone                         // telephone numbers
	end

	// Runnable leaves everything in code blocks readable that could be a command by itself, for those who decide
	// whether it is run: words that only may be passwords stay, and a find ends where a shell would begin a command.
	Runnable Policy = 1 << 14
	// LocalIP keeps the addresses of private networks, too, for people who run a network.
	LocalIP Policy = 1 << 15
)

// Keys are the kinds that open something for whoever reads them.
const Keys = APIKey | Secret

// All is the set of all kinds.
func All() Policy { return end - 1 }

func (p Policy) has(kind Policy) bool { return p&kind != 0 }

// mark replaces a find of a kind.
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

// rounds limits how often a text is searched. A second round finds what the first has uncovered, which is nearly always
// nothing.
const rounds = 6

// Text returns s with all finds of the policy's kinds replaced by a mark such as [REDACTED_EMAIL]. Everything else is
// returned byte for byte. Numbers are found with spaces or hyphens in them and in full-width digits. Redacting is
// idempotent, and its time is linear in the length of s.
//
// Addresses that every machine has (127.0.0.1, 0.0.0.0, ::1, 169.254.169.254, multicast, netmasks, large networks)
// always stay: they say nothing about a person. Private networks are redacted unless the policy has [LocalIP]: inside a
// company they identify somebody's machine. In code blocks all addresses stay.
func Text(s string, p Policy) string {
	if p == 0 || !mayMatch(s, p) {
		return s
	}
	sc := newScan(s, p)
	sc.search()
	return sc.write(0, len(sc.text))
}

// blanked overwrites finds, so that nothing else is found in them or across them.
const blanked = 0x1A

// span is a find: its position in the folded text and its kind.
type span struct {
	start, end int
	kind       Policy
}

// scan is the state of one pass over a text.
type scan struct {
	policy Policy
	source string
	text   []byte // folded
	origin []int  // the position in source of each byte of text, and of its end; nil = the same
	plain  []byte // text without words such as IDs, whose digits are not personal
	found  []span
	code   [][2]int // the code blocks, if the policy is Runnable
	open   int      // where a find may begin that the text does not hold wholly; see [Growing]
}

func newScan(s string, p Policy) *scan {
	t, origin := fold(s)
	sc := &scan{policy: p, source: s, text: t, origin: origin, open: len(t)}
	if p.has(Runnable) {
		sc.code = codeBlocks(t)
	}
	return sc
}

// search searches the whole text.
func (s *scan) search() {
	s.hideMarks()
	for range rounds {
		before := len(s.found)
		s.findAll()
		if len(s.found) == before {
			break
		}
	}
	slices.SortFunc(s.found, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.kind, b.kind))
	})
}

// hold records that a find may begin at position i, and that more of it may come.
func (s *scan) hold(i int) { s.open = min(s.open, i) }

// findAll searches all kinds of the policy once. Kinds with reliable formats come first: what they find is hidden from
// the kinds that guess.
func (s *scan) findAll() {
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
	// Masked only now: what the kinds above have found is already hidden and cannot be part of an ID.
	s.plain = maskIDs(s.text)
	if s.policy.has(IP) {
		s.addresses()
	}
	s.numbers()
}

// recordMatch records a find.
func (s *scan) recordMatch(kind Policy, start, end int) {
	if runs(s.code, start) {
		if end = start + inert(s.text[start:end]); end == start {
			return
		}
	}
	s.found = append(s.found, span{start, end, kind})
	hide(s.text[start:end])
	if s.plain != nil {
		hide(s.plain[start:end])
	}
}

// runs reports whether what stands at position i, in one of these code blocks, may be run; see [Runnable].
func runs(code [][2]int, i int) bool {
	_, inside := slices.BinarySearchFunc(code, i, func(block [2]int, i int) int {
		switch {
		case block[1] <= i:
			return -1
		case block[0] > i:
			return 1
		}
		return 0
	})
	return inside
}

// inert is the length of the beginning of a find that means nothing to a shell. That of a private key is all of it: it
// holds nothing but base64 then.
func inert(find []byte) int {
	if bytes.HasPrefix(find, []byte("-----BEGIN ")) {
		return len(find)
	}
	if n := bytes.IndexAny(find, " \t\r\n;|&$()<>{}`'\"\\"); n >= 0 {
		return n
	}
	return len(find)
}

// hide overwrites bytes. The length does not change, so positions stay valid.
func hide(b []byte) {
	for i := range b {
		b[i] = blanked
	}
}

// hideMarks hides the marks that the text contains already.
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

// sourceAt is the position in the source of position i of the text.
func (s *scan) sourceAt(i int) int {
	if s.origin == nil {
		return i
	}
	return s.origin[i]
}

// write returns a part of the text with the marks of the finds that begin in it. The part does not end within a find.
func (s *scan) write(start, end int) string {
	at := s.sourceAt
	i, _ := slices.BinarySearchFunc(s.found, start, func(f span, i int) int { return cmp.Compare(f.start, i) })
	if i == len(s.found) || s.found[i].start >= end {
		return s.source[at(start):at(end)]
	}
	var b strings.Builder
	b.Grow(at(end) - at(start))
	done := start
	for i < len(s.found) && s.found[i].start < end {
		f := s.found[i]
		// Overlapping finds become one, so that no rest of either remains.
		for i++; i < len(s.found) && s.found[i].start < f.end; i++ {
			f.end = max(f.end, s.found[i].end)
		}
		b.WriteString(s.source[at(done):at(f.start)])
		b.WriteString(f.kind.mark())
		done = f.end
	}
	b.WriteString(s.source[at(done):at(max(done, end))])
	return b.String()
}
