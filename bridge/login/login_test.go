package login

import "testing"

func TestTextsWithoutCodes(t *testing.T) {
	t.Parallel()
	const likeOne = "canary-not-this-one-please#canary-nor-this-part"
	const a, b = "Ab0_defghijklmnopqrst", "-bcdefghijklmnopqrstu"
	for text, want := range map[string]string{
		a + "#" + b:                            codeTaken,
		"\t" + likeOne + "\n":                  codeTaken,
		"code=" + a + "#" + b + ", see":        "code=" + codeTaken + ", see",
		"“" + a + "#" + b + "”和" + a + "#" + b: "“" + codeTaken + "”和" + codeTaken,
		"小红: " + a + "#" + b + " " + a + "#" + b + "\n小明: 好": "小红: " + codeTaken + " " + codeTaken + "\n小明: 好",
		"see https://example.com/" + a + "#" + b:             "see https://example.com/" + a + "#" + b,
		"see " + likeOne:                                     "see " + likeOne, // no digit and no capital letter
		"see configuration-reference#environment-variables":  "see configuration-reference#environment-variables",
		"issue #12": "issue #12",
		"":          "",
	} {
		if got := WithoutCodes(text); got != want {
			t.Errorf("WithoutCodes(%q) = %q, want %q", text, got, want)
		}
	}
}
