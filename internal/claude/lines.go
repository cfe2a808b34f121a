package claude

import "bytes"

// lineWriter passes every line written to it to emit, without the newline. A line longer than maxLine is dropped: the
// rest of the turn is worth more than one line.
type lineWriter struct {
	emit    func(line []byte)
	partial []byte
	skip    bool // inside a line that is too long
}

// Write never fails, so that the process is never blocked by its output.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.append(p)
			return n, nil
		}
		w.append(p[:i])
		if !w.skip && len(w.partial) > 0 {
			w.emit(w.partial)
		}
		w.partial, w.skip = nil, false // emit may have kept the slice
		p = p[i+1:]
	}
}

// append drops a line that is too long, up to its end: no event comes near 16 MB, and memory must stay bounded.
func (w *lineWriter) append(p []byte) {
	if w.skip || len(w.partial)+len(p) > maxLine {
		w.partial, w.skip = nil, true
		return
	}
	w.partial = append(w.partial, p...)
}

// tailBuffer keeps the last bytes written to it.
type tailBuffer struct {
	max int
	buf []byte
}

// Write keeps the end of the output: errors are explained in the last lines.
func (t *tailBuffer) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tailBuffer) String() string { return string(bytes.TrimSpace(bytes.ToValidUTF8(t.buf, nil))) }
