//go:build unix && !linux

package proctree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
)

// group is the process group of a CLI, by its leader. Tools that lead a group of their own are not in it.
type group struct{ leader int }

func groupOf(p *os.Process) group { return group{p.Pid} }

// kill kills all processes in the group, which fails only if there are none.
func (g group) kill() { _ = syscall.Kill(-g.leader, syscall.SIGKILL) }

func (group) close() {}

// Sweep needs Linux or Windows; on other systems it returns an error.
func Sweep(context.Context, string, []string, ...uint32) (killed int, err error) {
	return 0, fmt.Errorf("sweep: %w", errors.ErrUnsupported)
}

// AdoptOrphans needs Linux or Windows; on other systems it returns an error.
func AdoptOrphans() (stop func(), err error) {
	return nil, fmt.Errorf("adopt orphans: %w", errors.ErrUnsupported)
}
