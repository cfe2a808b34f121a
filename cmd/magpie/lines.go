package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// longestLine is the longest line that is read, in bytes.
const longestLine = 16 << 20

// line is one line of a file, without its end.
type line struct {
	number int
	text   []byte // valid until the next line is read
	long   bool   // longer than longestLine; the text is empty
}

// lineReader reads lines that end with \n or \r\n. A byte order mark before the first is dropped.
type lineReader struct {
	in   *bufio.Reader
	read int64 // bytes
	n    int
	buf  []byte
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, 256<<10)}
}

// byteOrderMark is at the start of files that Windows programs save as UTF-8.
var byteOrderMark = []byte("\xef\xbb\xbf")

// next returns the next line that is not blank, or [io.EOF].
func (r *lineReader) next() (line, error) {
	for {
		l, err := r.line()
		if err != nil || l.long || len(l.text) > 0 {
			return l, err
		}
	}
}

// line skips to the end of a line that is too long, so that the next one begins in the right place.
func (r *lineReader) line() (line, error) {
	r.buf = r.buf[:0]
	r.n++
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		r.read += int64(len(part))
		if long = long || len(r.buf)+len(part) > longestLine; !long {
			r.buf = append(r.buf, part...)
		}
		switch {
		case err == nil:
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(r.buf) > 0 || long): // the last line has no line end
		default:
			return line{}, err
		}
		text := r.buf
		if r.n == 1 {
			text = bytes.TrimPrefix(text, byteOrderMark)
		}
		return line{number: r.n, text: bytes.TrimSpace(text), long: long}, nil
	}
}
