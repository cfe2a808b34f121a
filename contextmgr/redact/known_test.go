package redact

import (
	"strings"
	"testing"
)

func TestKnownSecretsAreTakenOut(t *testing.T) {
	k := NewKnown([]string{
		"canary-0123456789", "canary-0123456789-and-more", "short", "", "密码是很长的密码", "canary-0123456789",
	})
	for in, want := range map[string]string{
		"":                                    "",
		"nothing to see":                      "nothing to see",
		"canary-0123456789":                   "[REDACTED_SECRET]",
		"a canary-0123456789, b":              "a [REDACTED_SECRET], b",
		"canary-0123456789canary-0123456789":  "[REDACTED_SECRET][REDACTED_SECRET]",
		"canary-0123456789-and-more":          "[REDACTED_SECRET]",
		"cut: canary-01234…":                  "cut: [REDACTED_SECRET]…",
		"canary- is a bird":                   "canary- is a bird",
		"short":                               "short",
		"他说密码是很长的密码。":                         "他说[REDACTED_SECRET]。",
		"密码是很错":                               "[REDACTED_SECRET]错",
		"canary-0123456789-and":               "[REDACTED_SECRET]",
		"canary-012345678 canary-0123456789x": "[REDACTED_SECRET] [REDACTED_SECRET]x",
	} {
		if got := k.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// Short passwords begin like words, and addresses begin alike: such a beginning alone is not redacted.
func TestTheBeginningsOfSomeSecretsAreNotRedacted(t *testing.T) {
	k := NewKnown([]string{"password123", "https://github.com/hooks/0123456789abcdef"})
	for in, want := range map[string]string{
		"the password is asked for":                  "the password is asked for",
		"password123":                                "[REDACTED_SECRET]",
		"clone https://github.com/hooks/of-others":   "clone https://github.com/hooks/of-others",
		"https://github.com/hooks/0123456789abcdef!": "[REDACTED_SECRET]!",
	} {
		if got := k.Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
		if in := []byte(in); k.FoundIn(in) != (want != string(in)) {
			t.Errorf("In(%q) = %v", in, k.FoundIn(in))
		}
	}
}

// However a text is split, no part that is shown ends within a secret.
func TestNoPieceOfASecretIsShownWhileItGrows(t *testing.T) {
	const secret = "canary-0123456789"
	k := NewKnown([]string{secret, "another-secret"})
	whole := "it is " + secret + ", and canary birds, and c"
	for n := range len(whole) + 1 {
		shown := k.PartialText(whole[:n])
		for cut := 1; cut <= len(secret); cut++ {
			if strings.HasSuffix(shown, secret[:cut]) {
				t.Fatalf("%q shows a piece of the secret", shown)
			}
		}
	}
	if got := k.Text(whole); got != "it is [REDACTED_SECRET], and canary birds, and c" {
		t.Errorf("at the end %q", got)
	}
	if got := (Known{}).PartialText("as it is c"); got != "as it is c" {
		t.Errorf("without known secrets, %q remains", got)
	}
}
