//go:build !linux

package claude

// Other systems have no /proc: there the tools of a killed CLI end when they notice.

type descendant struct{ session int }

func descendants(int) []descendant { return nil }
func sessionOf(int) int            { return 0 }
func killAll([]descendant)         {}
