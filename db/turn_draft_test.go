package db_test

import (
	"slices"
	"testing"
)

// An answer keeps the division into messages that people have seen, even if it was completed or changed since.
func TestTheAnswerOfATurnKeepsItsParts(t *testing.T) {
	t.Parallel()
	d := fresh(t)
	accept(t, d, say("om_1", "a question"))
	turn := claim(t, d, "s").Turn.ID
	for _, tt := range []struct {
		parts  []string
		answer string
		want   []string
	}{
		{[]string{"one"}, "one and more", []string{"one and more"}},
		{[]string{"one", "two"}, "one\n\ntwo and more", []string{"one", "two and more"}},
		{[]string{"", "一", ""}, "一\n\n二", []string{"", "一", "二"}},
		{[]string{"one", "two"}, "一二三", []string{"一", "二三"}},
		{[]string{"one", "two"}, "", []string{"", ""}},
	} {
		must(t, d.Turns().SetDraft(t.Context(), turn, tt.parts...))
		if got, err := d.Turns().Parts(t.Context(), turn, tt.answer); err != nil ||
			!slices.Equal(got, tt.want) {
			t.Errorf("%q divided as %q: %q, %v", tt.answer, tt.parts, got, err)
		}
	}
}
