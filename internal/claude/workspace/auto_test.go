package workspace

import "testing"

func TestCountsAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]AutoCount{"auto": Auto, "1": 1, "64": 64} {
		var n AutoCount
		if err := n.UnmarshalText([]byte(text)); err != nil || n != want || n.String() != text {
			t.Errorf("%s: %v, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "four", "1.5", "Auto"} {
		if err := new(AutoCount).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
