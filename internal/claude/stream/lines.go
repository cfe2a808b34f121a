package stream

import "bytes"

// MaxLine is the longest line that is read completely, in bytes; the rest of a longer one is skipped.
const MaxLine = 16 << 20

// LineWriter passes every line written to it to emit, without the newline. A line longer than maxLine is dropped: the
// rest of the turn is worth more than one line.
type LineWriter struct {
	Emit    func(line []byte)
	Partial []byte
	skip    bool // inside a line that is too long
}

// Write never fails, so that the process is never blocked by its output.
func (w *LineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.append(p)
			return n, nil
		}
		w.append(p[:i])
		if !w.skip && len(w.Partial) > 0 {
			w.Emit(w.Partial)
		}
		w.Partial, w.skip = nil, false // emit may have kept the slice
		p = p[i+1:]
	}
}

// append drops a line that is too long, up to its end: no event comes near 16 MB, and memory must stay bounded.
func (w *LineWriter) append(p []byte) {
	if w.skip || len(w.Partial)+len(p) > MaxLine {
		w.Partial, w.skip = nil, true
		return
	}
	w.Partial = append(w.Partial, p...)
}

// TailBuffer keeps the end of what is written to it.
type TailBuffer struct{ buf []byte }

// maxTail limits how much of an output is kept, in bytes.
const maxTail = 8 << 10

// Write keeps the end of the output: errors are explained in the last lines.
func (t *TailBuffer) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *TailBuffer) String() string { return string(bytes.TrimSpace(bytes.ToValidUTF8(t.buf, nil))) }
