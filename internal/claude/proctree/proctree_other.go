//go:build !linux

package proctree

// Other systems have no /proc: there the tools of a killed CLI end with its group, or by themselves.

type (
	identity   struct{}
	Descendant struct{ Session int }
)

func descendantsOf(identity, string) []Descendant { return nil }
func identify(int) identity                       { return identity{} }
func sessionOf(int) int                           { return 0 }
func Kill([]Descendant)                           {}
func childless(int) bool                          { return true }

// Stray is a CLI that an earlier run of the program has left behind.
type Stray struct{}

// Strays finds none.
func Strays(string, ...uint32) map[string]Stray { return nil }

// Alive reports whether it still runs.
func (Stray) Alive() bool { return false }

func (h *processTree) reapFor(*Child) (none bool) { return false }
