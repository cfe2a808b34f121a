package claude

import "bytes"

// lineWriter hands every line written to it to emit, without its newline. A line over maxLine is dropped whole: the
// rest of the turn is worth more than one line.
type lineWriter struct {
	emit    func(line []byte)
	partial []byte
	skip    bool // inside a line that is too long
}

// Write never fails, so that the process is never blocked by what it says.
func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.keep(p)
			return n, nil
		}
		w.keep(p[:i])
		if !w.skip && len(w.partial) > 0 {
			w.emit(w.partial)
		}
		w.partial, w.skip = nil, false // emit may have kept the slice
		p = p[i+1:]
	}
}

func (w *lineWriter) keep(p []byte) {
	if w.skip || len(w.partial)+len(p) > maxLine {
		w.partial, w.skip = nil, true
		return
	}
	w.partial = append(w.partial, p...)
}

// tail keeps the last bytes written to it.
type tail struct {
	max int
	buf []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(bytes.TrimSpace(bytes.ToValidUTF8(t.buf, nil))) }
