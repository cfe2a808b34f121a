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

func (h *processTree) reapFor(*Child) (none bool) { return false }
