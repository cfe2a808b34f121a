package doctor

import "testing"

// What others have named must not control the operator's terminal.
func TestFindingsAreShownAsTheyAre(t *testing.T) {
	got := Finding{Warn, "servers: \x1b[2Jx,\n y", "approve \u009bx"}.String()
	if want := "warn  servers: ⟨U+001B⟩[2Jx, y - approve ⟨U+009B⟩x"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
