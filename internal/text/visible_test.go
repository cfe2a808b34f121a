package text

import "testing"

// Characters that cannot be seen, including those that only some checks used to know, such as the Braille blank.
func TestInvisibleCharacters(t *testing.T) {
	const invisible = "\x00\x1b\x7f\u0085\u00ad\u034f\u115f\u1160\u180e\u200b\u200d\u200e\u202e\u2028\u2060\u2066" +
		"\u2800\u3164\ufeff\uffa0\ufff9\U000e0041\U0001d173\ue000"
	for _, r := range invisible {
		if !IsInvisible(r) || !IsBlank(r) {
			t.Errorf("%U can be seen", r)
		}
	}
	for _, r := range " \t\n\u00a0\u2003\u3000\u0301\u20dd\ufe0f" { // blanks and combining marks
		if !IsBlank(r) {
			t.Errorf("%U changes a line", r)
		}
	}
	for _, r := range "a字😀é\u0301\ufe0f \u3000\ufffd" {
		if IsInvisible(r) {
			t.Errorf("%U cannot be seen", r)
		}
	}
	for _, r := range "\n\r\v\f\x1c\x1d\x1e\u0085\u2028\u2029" {
		if !IsLineBreak(r) {
			t.Errorf("%U begins no line", r)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"": "", " a \n\t b\u3000c ": "a b c", "a\u200b\u202eb": "ab", "\u2800": "", "a\u2800b": "a b",
		"❤\ufe0f é": "❤\ufe0f é",
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestTerminalsOnlyShowTexts(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "a\n\tb 字 👩‍💻": "a\n\tb 字 👩‍💻", "\x1b]52;c;eA==\a": "⟨U+001B⟩]52;c;eA==⟨U+0007⟩", "a\rb": "a⟨U+000D⟩b",
		"\u009b2J": "⟨U+009B⟩2J", "\u202ex": "⟨U+202E⟩x", "bad\xff": "bad\xff",
	} {
		if got := ForTerminal(s); got != want {
			t.Errorf("ForTerminal(%q) = %q, want %q", s, got, want)
		}
	}
}
