package configtype_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"magpie/internal/configtype"
)

// An error is said in Chinese as far as it can be, however it was wrapped; in English it stays an error as any other.
func TestMistakesInBothLanguages(t *testing.T) {
	t.Parallel()
	port := configtype.Mistakef("端口 %d 无效", "port %d is wrong", 7)
	file := configtype.Mistakef("文件 %q：%v", "file %q: %v", "x", fs.ErrNotExist)
	nested := configtype.Mistakef("第 %d 行：%v", "line %d: %v", 3, port)
	for _, tc := range []struct {
		err    error
		en, zh string
	}{
		{port, "port 7 is wrong", "端口 7 无效"},
		{nested, "line 3: port 7 is wrong", "第 3 行：端口 7 无效"},
		{fmt.Errorf("[http] listen: %w", port), "[http] listen: port 7 is wrong", "[http] listen: 端口 7 无效"},
		{
			errors.Join(port, errors.New("other"), fmt.Errorf("a: %w", nested)),
			"port 7 is wrong\nother\na: line 3: port 7 is wrong", "端口 7 无效\nother\na: 第 3 行：端口 7 无效",
		},
		{file, `file "x": file does not exist`, `文件 "x"：file does not exist`},
	} {
		if tc.err.Error() != tc.en || configtype.Chinese(tc.err) != tc.zh {
			t.Errorf("%q, %q; want %q, %q", tc.err, configtype.Chinese(tc.err), tc.en, tc.zh)
		}
	}
	if !errors.Is(fmt.Errorf("x: %w", file), fs.ErrNotExist) || errors.Is(port, fs.ErrNotExist) {
		t.Error("what a mistake is about is not found in it")
	}
}
