package redact

import "testing"

func TestWhatMustGo(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"写信给 zhang.san+work@example.com.cn。", "写信给 [REDACTED_EMAIL]。"},
		{"打13812345678找我", "打[REDACTED_PHONE]找我"},
		{"+86 138-1234-5678", "[REDACTED_PHONE]"},
		{"身份证11010119900307461X。", "身份证11010119900307461X。"},
		{"4111 1111 1111 1111", "[REDACTED_CC]"},
		{"password: hunter2", "password: [REDACTED_SECRET]"},
		{"连 8.8.4.4 和 2001:db8::1", "连 [REDACTED_IP] 和 [REDACTED_IP]"},
		{"护照 E12345678", "护照 [REDACTED_PASSPORT]"},
		{"078-05-1120", "[REDACTED_SSN]"},
		{"ghp_0123456789abcdefghijABCDEFGHIJ012345", "[REDACTED_API_KEY]"},
	} {
		if got := Text(tc.text, All()); got != tc.want {
			t.Errorf("%q became %q, want %q", tc.text, got, tc.want)
		}
	}
}
