package openapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"magpie/internal/chat"
)

func TestPersist(t *testing.T) {
	tests := []struct {
		err   error
		calls int
	}{
		{&Error{Code: 230001, Status: 400}, 1},
		{&Error{Code: 230002, Status: 400}, 1},
		{&Error{Status: 502}, 4},
		{&Error{Code: 99991400, Status: 429}, 4},
		{&Error{Code: 200810, Status: 400}, 4},
		{context.Canceled, 1},
		{nil, 1},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			err := Persist(t.Context(), 4, func() error { calls++; return tt.err })
			if calls != tt.calls || !errors.Is(err, tt.err) {
				t.Errorf("%v: %d calls, want %d; %v", tt.err, calls, tt.calls, err)
			}
		})
	}
}

func TestGone(t *testing.T) {
	for code, want := range map[int]bool{230011: true, 231003: true, 230110: true, 99992354: true, 230001: false, 0: false} {
		err := errors.Join(errors.New("x"), &Error{Op: "send", Code: code})
		if errors.Is(err, chat.ErrGone) != want {
			t.Errorf("code %d: gone %v, want %v", code, !want, want)
		}
	}
}
