//go:build unix

package main

import (
	"bufio"
	"errors"
	"sync"
	"syscall"
)

type object = map[string]any

// output is the stream of output lines.
type output struct {
	session string
	mu      sync.Mutex
	w       *bufio.Writer
}

// say writes and flushes lines. It is not an error if nobody reads them any more.
func (o *output) say(lines ...object) error {
	if err := o.write(lines); !errors.Is(err, syscall.EPIPE) {
		return err
	}
	return nil
}

func (o *output) write(lines []object) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range lines {
		line["session_id"] = o.session
		if _, err := o.w.Write(append(encode(line), '\n')); err != nil {
			return err
		}
	}
	return o.w.Flush()
}

// raw writes bytes as they are.
func (o *output) raw(s string) error {
	if _, err := o.w.WriteString(s); err != nil {
		return err
	}
	return o.w.Flush()
}
