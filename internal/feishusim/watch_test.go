package feishusim

import (
	"testing"
)

func TestChangesAreLatestWins(t *testing.T) {
	s := start(t, Config{})
	tom := s.AddUser("Tom")
	p := s.PrivateChat(tom)
	n := 0
	for v := range s.Changes(t.Context()) {
		n++
		switch n {
		case 1:
			for range 100 {
				s.Say(p, tom, "x")
			}
		case 2:
			if got := len(v.Messages(p)); got != 100 {
				t.Errorf("%d messages", got)
			}
			return
		}
	}
}
