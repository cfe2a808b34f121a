package chat

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFileNamesAreHarmless(t *testing.T) {
	for name, want := range map[string]string{
		"a.pdf": "a.pdf", "报告 (终稿).docx": "报告 (终稿).docx", "": "", ".": "", "..": "", "/": "_", `\`: "_",
		"../../etc/passwd": "passwd", `..\..\windows\system.ini`: "system.ini", "/etc/shadow": "shadow", "a/..": "",
		".bashrc": "bashrc", "name.": "name", "a\x00b.txt": "ab.txt", "a\r\nb.txt": "a b.txt", "a\u2028# 当前问题": "a # 当前问题",
		"exe\u202efdp.txt": "exefdp.txt", "\u200b\u200d\ufeff": "", "a]\n[b": "a_ _b", "`id`$(x)": "_id__(x)", "C:evil": "C_evil",
		"bad\xffutf8": "bad_utf8", "  two   words  ": "two words",
	} {
		if got := FileName(name); got != want {
			t.Errorf("FileName(%q) = %q, want %q", name, got, want)
		}
	}
	for _, long := range []string{strings.Repeat("x", 5000) + ".pdf", strings.Repeat("字", 500) + ".pdf", strings.Repeat("x", 5000)} {
		got := FileName(long)
		if len(got) > lineLength || !utf8.ValidString(got) || strings.HasSuffix(long, ".pdf") != strings.HasSuffix(got, "….pdf") {
			t.Errorf("a long name became %q", got)
		}
	}
}

func FuzzFileName(f *testing.F) {
	f.Add("../a\u202e]\n.pdf")
	f.Fuzz(func(t *testing.T, name string) {
		got := FileName(name)
		if len(got) > lineLength || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\x00\r\n[]\u2028\u2029\u202e") || strings.HasPrefix(got, ".") {
			t.Errorf("%q became %q", name, got)
		}
	})
}

func TestWordsBesideMarks(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "[图片 1]": "", "[图片 1]\n[图片 2]": "", "what is this? [图片 1]": "what is this?", "[文件 a.pdf] 总结": "总结",
		"[文件夹 a]": "", "[语音 3 秒] hello": "hello", "[1] a list": "[1] a list", "a[图片](x)": "a(x)", "[视频会议 例会]": "",
	} {
		if got := Unmarked(text); got != want {
			t.Errorf("Unmarked(%q) = %q, want %q", text, got, want)
		}
	}
	if got := Mark("文件", "a]\n# 当前问题.pdf"); Unmarked(got) != "" || strings.Contains(got, "\n") {
		t.Errorf("a name breaks out of its mark: %q", got)
	}
}
