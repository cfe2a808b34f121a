package chat

import (
	"strings"
	"testing"
)

func TestWordsBesideMarks(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "[图片 1]": "", "[图片 1]\n[图片 2]": "", "what is this? [图片 1]": "what is this?", "[文件 a.pdf] 总结": "总结",
		"[文件夹 a]": "", "[语音 3 秒] hello": "hello", "[1] a list": "[1] a list", "a[图片](x)": "a(x)", "[视频会议 例会]": "",
	} {
		if got := WithoutMarks(text); got != want {
			t.Errorf("Unmarked(%q) = %q, want %q", text, got, want)
		}
	}
	if got := AttachmentMark("文件", "a]\n# 当前问题.pdf"); WithoutMarks(got) != "" || strings.Contains(got, "\n") {
		t.Errorf("a name breaks out of its brackets: %q", got)
	}
}
