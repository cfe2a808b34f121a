package redact

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// talk generates other text: ordinary words, text that matters to the code under test, and noise.
func talk() *rapid.Generator[string] {
	pieces := []string{
		" ", " ", "\n", "，", "。", "：", ": ", "=", "-", " - ", "+", "(", ")", "（", "）", "\"", "'", "`", "```", "\n```\n",
		"/", "://", "@", ".", "...", "::", "_", "\\", "¥", "$", "&", ";", "|",
		"你好", "密码", "密码是", "password", "password: ", "token=", "手机", "电话：", "身份证", "护照", "passport ", "version ",
		"ssn ", "tel ", "Bearer ", "is ",
		"0", "1", "86", "0086 ", "12", "138", "1234", "2024", "4111", "11010119", "１２", "abc", "x", "X", "id", "om_",
		"v", "0x", "\x1a", "\xff", "\u3000", "[REDACTED_", "[REDACTED_CC]", "[REDACTED_IP]", "ffff", "deadbeef1",
	}
	for _, list := range goes {
		for _, marked := range list {
			pieces = append(pieces, strings.NewReplacer("〈", "", "〉", "").Replace(marked))
		}
	}
	pieces = append(pieces, stays...)
	slices.Sort(pieces)
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.OneOf(rapid.SampledFrom(pieces), rapid.StringN(0, 8, -1)), 0, 8).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func TestRedactingTwiceChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := talk().Draw(t, "text")
		p := rapid.SampledFrom([]Policy{All(), All(), Phone | IP, Secret | Email, CNID | CreditCard | BankCard}).Draw(t,
			"policy")
		check(t, text, p)
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// check tests what holds for every text.
func check(t fataler, text string, p Policy) {
	t.Helper()
	once := Text(text, p)
	if twice := Text(once, p); twice != once {
		t.Fatalf("%q became %q, and then %q", text, once, twice)
	}
	if utf8.ValidString(text) && !utf8.ValidString(once) {
		t.Fatalf("%q was cut inside a character: %q", text, once)
	}
	rest := text
	for part := range strings.SplitSeq(unmarked(once), "\x00") {
		_, after, ok := strings.Cut(rest, part)
		if !ok {
			t.Fatalf("%q became %q, with %q in the wrong place", text, once, part)
		}
		rest = after
	}
}

// unmarked is a text with each mark replaced by a zero byte.
func unmarked(text string) string {
	for kind := Policy(1); kind < end; kind <<= 1 {
		text = strings.ReplaceAll(text, kind.mark(), "\x00")
	}
	return text
}

// spell formats a number in one of the usual ways.
func spell(t *rapid.T, d string, groups ...int) string {
	var b strings.Builder
	sep := rapid.SampledFrom([]string{"", " ", "-", "  ", " - ", "\u00a0", "\u3000", "－", "–"}).Draw(t, "between")
	full := rapid.Bool().Draw(t, "full width")
	next := 0
	for i := range len(d) {
		if len(groups) > 0 && i == next {
			if i > 0 {
				b.WriteString(sep)
			}
			next += groups[0]
			groups = groups[1:]
		}
		if full {
			b.WriteString(wide(d[i : i+1]))
		} else {
			b.WriteByte(d[i])
		}
	}
	return b.String()
}

// put inserts a number into other text. Adjacent letters or digits would make it another word.
func put(t *rapid.T, number string) string {
	left, right := talk().Draw(t, "left"), talk().Draw(t, "right")
	if last, _ := utf8.DecodeLastRuneInString(left); wordy(last) || strings.ContainsRune("_.．", last) {
		left += "\n"
	}
	if first, _ := utf8.DecodeRuneInString(right); wordy(first) {
		right = "\n" + right
	}
	return left + number + right
}

// wordy reports whether r may be part of a Western word or a number.
func wordy(r rune) bool {
	return unicode.IsDigit(r) || unicode.In(r, unicode.Latin) ||
		r >= 0xFF10 && r <= 0xFF5A && unicode.In(r, unicode.Nd, unicode.Latin)
}

func digits(n int) *rapid.Generator[string] {
	return rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), n, n, -1)
}

// withCheck appends the check digit of a number, found by trying. It is independent of the code under test.
func withCheck(d string) string {
	for c := '0'; ; c++ {
		n := d + string(c)
		sum := 0
		for i := range len(n) {
			v := int(n[len(n)-1-i] - '0')
			if i%2 == 1 {
				v = v*2/10 + v*2%10
			}
			sum += v
		}
		if sum%10 == 0 {
			return n
		}
	}
}

func TestNoCardSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		brand := rapid.SampledFrom([]struct {
			lead   string
			length int
			groups []int
		}{
			{"4", 16, []int{4, 4, 4, 4}}, {"4", 13, []int{4, 4, 5}}, {"53", 16, []int{4, 4, 4, 4}},
			{"2221", 16, []int{4, 4, 4, 4}}, {"34", 15, []int{4, 6, 5}}, {"37", 15, []int{4, 6, 5}},
			{"6011", 16, []int{4, 4, 4, 4}}, {"645", 16, []int{6, 10}}, {"65", 16, []int{4, 4, 4, 4}},
			{"3560", 16, []int{4, 4, 4, 4}}, {"36", 14, []int{4, 6, 4}}, {"6759", 16, []int{4, 4, 4, 4}},
			{"62", 16, []int{4, 4, 4, 4}}, {"62", 17, []int{4, 4, 4, 5}}, {"62", 18, []int{6, 12}},
			{"62", 19, []int{4, 4, 4, 4, 3}}, {"62", 19, []int{6, 13}}, {"9558", 19, []int{4, 4, 4, 4, 3}},
			{"81", 16, []int{4, 4, 4, 4}},
		}).Draw(t, "brand")
		number := withCheck(brand.lead + digits(brand.length-1-len(brand.lead)).Draw(t, "digits"))
		spelt := spell(t, number, brand.groups...)
		text := put(t, spelt)
		if got := Text(text, All()); strings.Contains(unmarked(got), spelt) {
			t.Fatalf("%q survived in %q", spelt, got)
		}
	})
}

func TestNoIdentityNumberSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]string{"11", "15", "21", "31", "44", "51", "65", "71", "81"}).Draw(t, "province") +
			digits(4).Draw(t, "place") +
			rapid.SampledFrom([]string{"19900307", "20000229", "19491001", "20241231"}).Draw(t, "birth") +
			digits(3).Draw(t, "order")
		weight, sum := 1, 0
		for i := len(d) - 1; i >= 0; i-- { // ISO 7064, MOD 11-2
			weight = weight * 2 % 11
			sum += int(d[i]-'0') * weight
		}
		for check := range 11 {
			if (sum+check)%11 == 1 {
				d += string("0123456789X"[check])
			}
		}
		groups := rapid.SampledFrom([][]int{{18}, {6, 8, 4}, {6, 4, 4, 4}, {3, 3, 4, 4, 4}, {6, 12}, {14, 4},
			{2, 2, 2, 4, 2, 2, 4}, {17, 1}}).Draw(t, "groups")
		spelt := spell(t, d, groups...)
		if rapid.Bool().Draw(t, "small") {
			spelt = strings.ToLower(spelt)
		}
		text := put(t, spelt)
		if got := Text(text, All()); strings.Contains(unmarked(got), spelt) {
			t.Fatalf("%q survived in %q", spelt, got)
		}
	})
}

// Hashes and UUIDs are not redacted, whatever digits they contain.
func TestHashesAndUUIDsSurvive(t *testing.T) {
	hexadecimal := rapid.RuneFrom([]rune("0123456789012345678901234567890123456789abcdef"))
	rapid.Check(t, func(t *rapid.T) {
		h := rapid.StringOfN(hexadecimal, 7, 64,
			-1).Filter(func(s string) bool { return strings.ContainsAny(s, "abcdef") }).Draw(t, "hash")
		u := strings.Join([]string{
			rapid.StringOfN(hexadecimal, 8, 8, -1).Draw(t, "a"), rapid.StringOfN(hexadecimal, 4, 4, -1).Draw(t, "b"),
			rapid.StringOfN(hexadecimal, 4, 4, -1).Draw(t, "c"),
			rapid.StringOfN(hexadecimal, 4, 4, -1).Draw(t, "d"), rapid.StringOfN(hexadecimal, 12, 12, -1).Draw(t, "e"),
		}, "-")
		around := rapid.SampledFrom([]string{" ", "", "\n", "，", ": ", "\"", "(", "/", "-"})
		for _, word := range []string{h, u, strings.ToUpper(h), strings.ToUpper(u)} {
			text := "提交" + around.Draw(t, "left") + word + around.Draw(t, "right") + "已合并"
			if got := Text(text, All()); got != text {
				t.Fatalf("%q became %q", text, got)
			}
		}
	})
}

// Text without digits, addresses and keywords for secrets is not changed.
func TestPlainWordsAreNotRedacted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("abc xyz，。你好吗_-.()/\n"), unicode.Han,
			unicode.Latin)).Filter(func(s string) bool { return !announces(s) }).Draw(t, "text")
		if got := Text(text, All()); got != text {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func announces(s string) bool {
	for i := range len(s) {
		if keywordAt(s, i) != nil {
			return true
		}
	}
	return false
}

func FuzzText(f *testing.F) {
	for _, list := range goes {
		for _, marked := range list {
			f.Add(strings.NewReplacer("〈", "", "〉", "").Replace(marked), uint16(All()))
		}
	}
	for _, text := range stays {
		f.Add(text, uint16(All()))
	}
	f.Fuzz(func(t *testing.T, text string, p uint16) {
		check(t, text, All())
		check(t, text, Policy(p)&All())
	})
}
