package redact

import (
	"bytes"
	"net/netip"
	"regexp"
	"slices"
)

// emails finds email addresses, but not Git remotes (git@host:path) and image names (icon@2x.png).
func (s *scan) emails() {
	for i := 0; ; i++ {
		n := bytes.IndexByte(s.text[i:], '@')
		if n < 0 {
			return
		}
		// Search for the @ and then in both directions: it is the only rare character.
		i += n
		start, stop := i, i+1
		for start > 0 && localChar(s.text[start-1]) {
			start--
		}
		for stop < len(s.text) && domainChar(s.text[stop]) {
			stop++
		}
		// Punctuation at the edges belongs to the sentence.
		for start < i && bytes.IndexByte([]byte(".-'%"), s.text[start]) >= 0 {
			start++
		}
		for stop > i+1 && !isAlnum(s.text[stop-1]) {
			stop--
		}
		local, domain := s.text[start:i], s.text[i+1:stop]
		if len(local) == 0 || !isEmailDomain(domain) || string(local) == "git" && at(s.text, stop) == ':' {
			continue
		}
		s.recordMatch(Email, start, stop)
		i = stop - 1
	}
}

func localChar(c byte) bool  { return isAlnum(c) || bytes.IndexByte([]byte("._%+-'"), c) >= 0 }
func domainChar(c byte) bool { return isAlnum(c) || c == '.' || c == '-' }

// retina matches the end of an image name such as icon@2x.png.
var retina = regexp.MustCompile(`^[1-9]x\.[a-z]{3,4}$`)

// isEmailDomain reports whether a domain can receive email: it has a dot, and a top level of letters.
func isEmailDomain(domain []byte) bool {
	dot := bytes.LastIndexByte(domain, '.')
	if dot <= 0 || bytes.Contains(domain, []byte("..")) || retina.Match(domain) {
		return false
	}
	top := domain[dot+1:]
	if len(top) < 2 || len(top) > 3 && top[0] < 'a' && top[1] >= 'a' { // m.Path@m.Version
		return false
	}
	for _, c := range top {
		if !isLetter(c) && !bytes.HasPrefix(top, []byte("xn--")) {
			return false
		}
	}
	return true
}

// addresses finds IP addresses, except in code blocks.
func (s *scan) addresses() {
	// Addresses in code blocks are usually examples and configuration, which the agent needs.
	var stay [][2]int
	if bytes.Contains(s.text, []byte("```")) || bytes.Contains(s.text, []byte("~~~")) {
		stay = codeBlocks(s.text)
	}
	for i := 0; i < len(s.plain); {
		if len(stay) > 0 && i >= stay[0][0] {
			i = max(i, stay[0][1])
			stay = stay[1:]
			continue
		}
		if !addressChar(s.plain[i]) {
			i++
			continue
		}
		j := i
		for j < len(s.plain) && addressChar(s.plain[j]) {
			j++
		}
		s.address(i, j)
		i = j
	}
}

func addressChar(c byte) bool { return isHex(c) || c == ':' || c == '.' }

// longestAddress is the length of an IPv6 address whose end is written like IPv4.
const longestAddress = 45

// address checks a run of characters that can form addresses.
func (s *scan) address(i, j int) {
	// Punctuation before and after is not part of the address: "IP:2001:db8::1."
	for i < j && (s.plain[i] == '.' || s.plain[i] == ':' && at(s.plain, i+1) != ':') {
		i++
	}
	for i < j && (s.plain[j-1] == '.' || s.plain[j-1] == ':' && before(s.plain, j-1) != ':') {
		j--
	}
	row := s.plain[i:j]
	if bytes.Count(row, []byte(":")) >= 2 {
		s.ipv6(i, j)
		return
	}
	// A port may follow, and a word may come before: "db:10.0.0.5:5432"
	if n := bytes.IndexByte(row, ':'); n >= 0 {
		s.ipv4(i, i+n)
		i += n + 1
	}
	s.ipv4(i, j)
}

// versionWords precede a version number or a chapter that looks like an address.
var versionWords = []string{
	"version", "ver", "v", "release", "revision", "build", "rev", "section", "chapter", "upgrade to", "upgraded to",
	"版本", "升到", "升级到", "升级至", "降级到", "回退到", "第", "§",
}

// versionFollows matches the words that may follow a version number.
var versionFollows = regexp.MustCompile(`^ ?(?:版|[Vv]ersion)`)

// keepsAddress reports whether the policy does not hide an address.
func (s *scan) keepsAddress(ip netip.Addr) bool {
	return isGeneric(ip) || s.policy.has(LocalIP) && ip.IsPrivate()
}

// ipv4 adds an IPv4 address, unless its context says that it is a version number.
func (s *scan) ipv4(i, j int) {
	ip, err := netip.ParseAddr(string(s.plain[i:j]))
	if err != nil || !ip.Is4() || s.keepsAddress(ip) {
		return
	}
	c, cc := before(s.plain, i), before(s.plain, i-1)
	d, dd := at(s.plain, j), at(s.plain, j+1)
	switch {
	case isAlnum(c), c == '_', isAlnum(d), d == '_', d == '.' && isAlnum(dd): // v1.2.3.4, 1.2.3.4.tar
	case (c == '-' || c == '/' && d != ':') && isLetter(cc), d == '-' && isLetter(dd):
		// go-1.2.3.4, Chrome/1.2.3.4, 1.2.3.4-rc1
	case c == '^', c == '~', c == '=' && bytes.IndexByte([]byte("=<>~!"), cc) >= 0: // requirements: ==1.2.3.4
	case precededBy(s.plain, i, versionWords), versionFollows.Match(s.plain[j:]):
	default:
		s.recordMatch(IP, i, j)
	}
}

// ipv6 adds an IPv6 address, if a machine can have it.
func (s *scan) ipv6(i, j int) {
	if j-i > longestAddress || isAlnum(before(s.plain, i)) || before(s.plain, i) == '_' || isAlnum(at(s.plain, j)) ||
		at(s.plain, j) == '_' {
		return
	}
	row := string(s.plain[i:j])
	ip, err := netip.ParseAddr(row)
	if err != nil {
		return
	}
	if ip = ip.Unmap(); s.keepsAddress(ip) || ip.Is6() && !assignable(ip, row) {
		return
	}
	s.recordMatch(IP, i, j)
}

// isGeneric reports whether an address is the same on every machine, or never identifies a single one, such as that of
// a large network.
func isGeneric(ip netip.Addr) bool {
	if ip.Is4() {
		b := ip.As4()
		return b[0] == 0 || b[0] == 127 || b[0] >= 224 || ip.IsLinkLocalUnicast() || b[1] == 0 && b[2] == 0 && b[3] == 0
	}
	return ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast()
}

// inUse are the ranges of IPv6 from which machines get addresses.
var inUse = []netip.Prefix{
	netip.MustParsePrefix("2000::/3"), netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("64:ff9b::/96"),
}

// assignable reports whether a machine may have the address. Much in programs parses as IPv6: a::b, e2e::add.
func assignable(ip netip.Addr, row string) bool {
	if slices.ContainsFunc(inUse, func(p netip.Prefix) bool { return p.Contains(ip) }) {
		return true
	}
	const world = len("00:11:22:33:44:55:66:77") // a World Wide Name of hardware
	return !bytes.Contains([]byte(row), []byte("::")) && len(row) != world
}
