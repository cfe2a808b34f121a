package openapi

import (
	"errors"
	"testing"

	"magpie/internal/chat"
)

func TestGone(t *testing.T) {
	for code, want := range map[int]bool{
		230011: true, 231003: true, 230110: true, 99992354: true, 230001: false, 0: false,
	} {
		err := errors.Join(errors.New("x"), &Error{Op: "send", Code: code})
		if errors.Is(err, chat.ErrGone) != want {
			t.Errorf("code %d: gone %v, want %v", code, !want, want)
		}
	}
}
