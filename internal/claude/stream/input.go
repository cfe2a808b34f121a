package stream

import (
	"encoding/json"
	"io"
	"sync"
)

// Input is a process's standard input. A goroutine writes the lines, so that a process that does not read blocks
// nobody.
type Input struct {
	w      io.WriteCloser
	wake   chan struct{} // a line was queued, or the input was closed
	failed chan struct{} // closed when a line could not be written
	done   chan struct{} // closed when the writer has ended

	mu     sync.Mutex
	queue  [][]byte
	closed bool
}

func NewInput(w io.WriteCloser) *Input {
	in := &Input{w: w, wake: make(chan struct{}, 1), failed: make(chan struct{}), done: make(chan struct{})}
	go in.write()
	return in
}

// send queues one line. All lines are encoded here, because a malformed line would kill the process.
func (in *Input) send(v object) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings, and JSON that the process itself has sent
	}
	in.mu.Lock()
	in.queue = append(in.queue, append(line, '\n'))
	in.mu.Unlock()
	in.wakeWriter()
}

// Close closes the input after the queued lines were written.
func (in *Input) Close() {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.wakeWriter()
}

func (in *Input) wakeWriter() {
	select {
	case in.wake <- struct{}{}:
	default: // the writer is already awake
	}
}

// Failed is closed when a line could not be written, usually because the process has ended.
func (in *Input) Failed() <-chan struct{} { return in.failed }

// Done is closed when the input is closed and all that was queued before is written, or could not be.
func (in *Input) Done() <-chan struct{} { return in.done }

// write ends when the input is closed, or when the process has ended and writing fails.
func (in *Input) write() {
	defer close(in.done)
	defer in.w.Close() //nolint:errcheck // it fails only when the process has closed it before
	for range in.wake {
		in.mu.Lock()
		lines, closed := in.queue, in.closed
		in.queue = nil
		in.mu.Unlock()
		for _, line := range lines {
			if _, err := in.w.Write(line); err != nil {
				close(in.failed)
				return
			}
		}
		if closed {
			return
		}
	}
}
