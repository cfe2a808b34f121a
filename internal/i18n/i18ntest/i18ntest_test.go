package i18ntest

import (
	"slices"
	"testing"
)

func TestVerbs(t *testing.T) {
	for text, want := range map[string][]string{
		"%s and %d": {"s", "d"}, "%[2]d of %[1]s": {"s", "d"}, "100%% of %.2f": {"f"}, "%-10q": {"q"}, "none": nil,
	} {
		if got := Verbs(text); !slices.Equal(got, want) {
			t.Errorf("Verbs(%q) = %q, want %q", text, got, want)
		}
	}
}
