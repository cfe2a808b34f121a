package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
)

// FoundInReader reports whether r contains one of the secrets, complete or truncated after its telltale beginning: as
// it is, in UTF-16, and each of these also in base64 or hexadecimal, with any other characters in between. It reads r
// once, in pieces.
func (k Known) FoundInReader(r io.Reader) (bool, error) {
	if len(k.secrets) == 0 {
		return false, nil
	}
	views := k.views()
	piece := make([]byte, 64<<10)
	for {
		n, err := r.Read(piece)
		for _, v := range views {
			if v.holds(piece[:n]) {
				return true, nil
			}
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		} else if err != nil {
			return false, err
		}
	}
}

// view is one decoding of the input.
type view struct {
	keep func(v *view, piece []byte) // appends the relevant characters of the next piece to text
	text []byte                      // relevant characters of this piece, after the end of the previous one
	last byte                        // the last byte read
	skip bool                        // the next byte belongs to an escape such as \n

	tails   map[uint64][][]byte // search patterns, by their last 8 bytes
	maybe   [1 << 16]bool       // hash filter of the tails: most positions fail it
	longest int
}

const tail = 8 // bytes; shorter patterns are not searched

// views are the decodings in which the secrets are searched.
func (k Known) views() []*view {
	raw, in64, inHex := newView(keepAll), newView(keepBase64), newView(keepHex)
	for _, secret := range k.secrets {
		for _, form := range utfForms(telltale(secret)) {
			raw.addPattern(form)
			inHex.addPattern(fmt.Appendf(nil, "%x", form))
			for before := range 3 {
				in64.addPattern(base64At(form, before))
			}
		}
	}
	return []*view{raw, in64, inHex}
}

func newView(keep func(*view, []byte)) *view { return &view{keep: keep, tails: map[uint64][][]byte{}} }

// utfForms are the bytes of a text in UTF-8 and in UTF-16 of both orders.
func utfForms(text string) [][]byte {
	var little, big []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		little, big = binary.LittleEndian.AppendUint16(little, unit), binary.BigEndian.AppendUint16(big, unit)
	}
	return [][]byte{[]byte(text), little, big}
}

// base64At is the part of data's base64 form that does not depend on its surroundings, if that many bytes of a group of
// three precede it.
func base64At(data []byte, before int) []byte {
	all := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), data...))
	bits := 8 * (before + len(data))
	return []byte(all[(8*before+5)/6 : bits/6])
}

// addPattern registers a search pattern.
func (v *view) addPattern(sought []byte) {
	if len(sought) < tail {
		return
	}
	end := binary.BigEndian.Uint64(sought[len(sought)-tail:])
	v.tails[end] = append(v.tails[end], sought)
	v.maybe[hash16(end)] = true
	v.longest = max(v.longest, len(sought))
}

// hash16 is Fibonacci hashing to 16 bits.
func hash16(n uint64) uint16 { return uint16(n * 0x9E3779B97F4A7C15 >> 48) }

// holds reports whether a search pattern ends in the next piece.
func (v *view) holds(piece []byte) bool {
	rest := min(len(v.text), v.longest)
	// The end of the previous piece is kept, because a secret may span two reads.
	v.text = append(v.text[:0], v.text[len(v.text)-rest:]...)
	v.keep(v, piece)
	var window uint64
	for i, c := range v.text {
		window = window<<8 | uint64(c)
		// The hash excludes nearly all positions with one table lookup.
		if i < tail-1 || !v.maybe[hash16(window)] {
			continue
		}
		for _, sought := range v.tails[window] {
			if bytes.HasSuffix(v.text[:i+1], sought) {
				return true
			}
		}
	}
	return false
}

func keepAll(v *view, piece []byte) { v.text = append(v.text, piece...) }

// keepBase64 keeps base64 characters, converted to the standard alphabet.
func keepBase64(v *view, piece []byte) {
	for _, c := range piece {
		switch {
		case v.skip:
			v.skip = false
		case isAlnum(c), c == '+', c == '/':
			v.text = append(v.text, c)
		case c == '-':
			v.text = append(v.text, '+')
		case c == '_':
			v.text = append(v.text, '/')
		case c == '\\':
			v.skip = true
		}
	}
}

// keepHex keeps hexadecimal digits in lower case, but not the 0 of 0x.
func keepHex(v *view, piece []byte) {
	for _, c := range piece {
		switch n := len(v.text); {
		case isDigit(c), c >= 'a' && c <= 'f':
			v.text = append(v.text, c)
		case c >= 'A' && c <= 'F':
			v.text = append(v.text, c|0x20)
		case c|0x20 == 'x' && v.last == '0' && n > 0:
			v.text = v.text[:n-1]
		}
		v.last = c
	}
}
