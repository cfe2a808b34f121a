package safepath

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// maxBytes is the limit for names in [text.SafeLine].
const maxBytes = 120

func TestFileNamesAreHarmless(t *testing.T) {
	for name, want := range map[string]string{
		"a.pdf": "a.pdf", "报告 (终稿).docx": "报告 (终稿).docx", "": "", ".": "", "..": "", "/": "_", `\`: "_",
		"../../etc/passwd": "passwd", `..\..\windows\system.ini`: "system.ini", "/etc/shadow": "shadow", "a/..": "",
		".bashrc": "bashrc", "name.": "name", "a\x00b.txt": "ab.txt", "a\r\nb.txt": "a b.txt",
		"a\u2028# 当前问题":    "a # 当前问题",
		"exe\u202efdp.txt": "exefdp.txt", "\u200b\u200d\ufeff": "", "a]\n[b": "a_ _b", "`id`$(x)": "_id__(x)",
		"C:evil":      "C_evil",
		"bad\xffutf8": "bad_utf8", "  two   words  ": "two words",
	} {
		if got := FileName(name); got != want {
			t.Errorf("FileName(%q) = %q, want %q", name, got, want)
		}
	}
	for _, long := range []string{
		strings.Repeat("x", 5000) + ".pdf", strings.Repeat("字", 500) + ".pdf", strings.Repeat("x", 5000),
	} {
		got := FileName(long)
		if len(got) > maxBytes || !utf8.ValidString(got) ||
			strings.HasSuffix(long, ".pdf") != strings.HasSuffix(got, "….pdf") {
			t.Errorf("a long name became %q", got)
		}
	}
}

func FuzzFileName(f *testing.F) {
	f.Add("../a\u202e]\n.pdf")
	f.Fuzz(func(t *testing.T, name string) {
		got := FileName(name)
		if len(got) > maxBytes || !utf8.ValidString(got) ||
			strings.ContainsAny(got, "/\\\x00\r\n[]\u2028\u2029\u202e") || strings.HasPrefix(got, ".") {
			t.Errorf("%q became %q", name, got)
		}
	})
}

func TestSlug(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "a": "a", "../ä b": "ä-b", "--a--": "a", "a_b": "a_b", "字字字": "字字", "a------b": "a-b", "💥": "",
	} {
		if got := Slug(s, 8); got != want {
			t.Errorf("Slug(%q) = %q, want %q", s, got, want)
		}
	}
}
