//go:build !linux

package wall

import "os/exec"

// Gate is where a process waits until its wall is built.
type Gate struct{}

// Apply needs Linux.
func (*Plan) Apply(*exec.Cmd) (*Gate, error) { return nil, ErrUnsupported }

// Start needs Linux.
func (*Gate) Start() error { return ErrUnsupported }

// Open needs Linux.
func (*Gate) Open() error { return ErrUnsupported }

// Close needs Linux.
func (*Gate) Close() {}

func try() error { return ErrUnsupported }
