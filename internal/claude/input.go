package claude

import (
	"encoding/json"
	"io"
	"sync"
)

// input is a process's standard input. A goroutine writes the lines, so that a process that does not read blocks
// nobody.
type input struct {
	w      io.WriteCloser
	wake   chan struct{} // a line was queued, or the input was closed
	failed chan struct{} // closed when a line could not be written
	done   chan struct{} // closed when the writer has ended

	mu     sync.Mutex
	queue  [][]byte
	closed bool
}

func newInput(w io.WriteCloser) *input {
	in := &input{w: w, wake: make(chan struct{}, 1), failed: make(chan struct{}), done: make(chan struct{})}
	go in.write()
	return in
}

// send queues one line. All lines are encoded here, because a malformed line would kill the process.
func (in *input) send(v object) {
	line, err := json.Marshal(v)
	if err != nil {
		panic(err) // only strings, and JSON that the process itself has sent
	}
	in.mu.Lock()
	in.queue = append(in.queue, append(line, '\n'))
	in.mu.Unlock()
	in.wakeWriter()
}

// close closes the input after the queued lines were written.
func (in *input) close() {
	in.mu.Lock()
	in.closed = true
	in.mu.Unlock()
	in.wakeWriter()
}

func (in *input) wakeWriter() {
	select {
	case in.wake <- struct{}{}:
	default: // the writer is already awake
	}
}

// write ends when the input is closed, or when the process has ended and writing fails.
func (in *input) write() {
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
