//go:build !linux

package proctree

import (
	"context"
	"errors"
	"fmt"
)

// Other systems have no /proc: there the tools of a killed CLI end by themselves.

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

// Sweep needs Linux; elsewhere it does nothing and says so.
func Sweep(context.Context, string, ...uint32) (killed int, err error) {
	return 0, fmt.Errorf("sweep: %w", errors.ErrUnsupported)
}

// AdoptOrphans needs Linux; elsewhere it does nothing and says so.
func AdoptOrphans() (stop func(), err error) {
	return nil, fmt.Errorf("adopt orphans: %w", errors.ErrUnsupported)
}
