package claude

import (
	"slices"
	"testing"
)

// A suggestion may arrive before the turn has read its own result. A suggestion for an earlier turn is dropped.
func TestASuggestionMayComeEarly(t *testing.T) {
	const result, first, second = `{"type":"result"}`, `{"type":"prompt_suggestion","suggestion":"1"}`,
		`{"type":"prompt_suggestion","suggestion":"2"}`
	for name, tc := range map[string]struct {
		lines []string // "" = the turn has read its result
		want  []string
	}{
		"late":                {[]string{result, "", first}, []string{"1"}},
		"early":               {[]string{result, first, ""}, []string{"1"}},
		"of the earlier turn": {[]string{first, result, ""}, nil},
		"of both":             {[]string{first, result, second, ""}, []string{"2"}},
		"twice":               {[]string{result, "", first, second}, []string{"1"}},
	} {
		var s suggestions
		var got []string
		s.expectNext(func(text string) { got = append(got, text) })
		s.turnStarted()
		for _, line := range tc.lines {
			if line == "" {
				s.turnEnded()
			} else if taken := s.handleLine([]byte(line)); taken && line == result {
				t.Errorf("%s: the result was lost", name)
			}
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
