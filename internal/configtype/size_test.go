package configtype

import "testing"

func TestSizesAreRead(t *testing.T) {
	for text, want := range map[string]Size{
		"30MB": 30 << 20, "500 kb": 500 << 10, "7": 7, "0": 0, "12B": 12, "1GB": 1 << 30, "1.5MB": 3 << 19,
	} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%q is %d, %v", text, s, err)
		}
		var back Size
		if written, err := want.MarshalText(); err != nil || back.UnmarshalText(written) != nil || back != want {
			t.Errorf("%d is written as %s, %v", want, written, err)
		}
	}
	for _, text := range []string{"", "MB", "-1MB", "1XB", "2000000GB", "a lot", "99999999999999999999"} {
		if err := new(Size).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
