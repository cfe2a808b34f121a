// Package scaledpng decodes PNG pictures row by row into smaller ones, without the memory that the whole picture would
// take. See the PNG specification, https://www.w3.org/TR/png-3/.
//
// Color profiles and other metadata are ignored. The package does not decide which size is good for the model, and
// supports no other formats.
package scaledpng

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
)

var (
	// ErrTooLarge means that a picture would take too much memory or time.
	ErrTooLarge = errors.New("the picture is too large")

	// ErrFormat means that a file is not a PNG picture, or is damaged.
	ErrFormat = errors.New("not a complete PNG file")
)

// Limits of a picture. A few bytes of a file can promise billions of pixels, so both are checked before anything is
// allocated.
const (
	maxPixels = 100_000_000
	maxRow    = 2 << 20 // bytes; two rows are kept
)

// Kinds of pixels.
const (
	gray      = 0
	rgb       = 2
	paletted  = 3
	grayAlpha = 4
	rgbAlpha  = 6
)

// header is the IHDR chunk (PNG 11.2.1).
type header struct {
	width, height int
	depth, kind   byte
	interlaced    bool
}

// signature also detects files that were damaged by a transfer as text (PNG 5.2).
const signature = "\x89PNG\r\n\x1a\n"

// Decode scales a picture down so that its longer side has at most side pixels; a smaller picture keeps
// its size. Each pixel of the result is the mean of the pixels that it covers.
func Decode(file []byte, side int) (*image.RGBA, error) {
	chunks := &chunks{rest: file}
	if !bytes.HasPrefix(file, []byte(signature)) {
		return nil, ErrFormat
	}
	chunks.rest = file[len(signature):]
	kind, data, err := chunks.next()
	if err != nil || kind != "IHDR" {
		return nil, ErrFormat
	}
	h, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	colors, err := chunks.colors(h)
	if err != nil {
		return nil, err
	}
	z, err := zlib.NewReader(chunks)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	defer z.Close() //nolint:errcheck // it is only read
	s := newScaler(h.width, h.height, side)
	for _, p := range h.passes() {
		if err := p.read(z, h, colors, s); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		}
	}
	// Reading to the end makes zlib compare its checksum, and shows whether there is more data than the
	// header promised.
	if n, err := z.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) { // its checksum
		return nil, fmt.Errorf("%w: more than the picture, or damaged: %w", ErrFormat, errors.Join(err))
	}
	return s.picture(), nil
}

// parseHeader accepts only what PNG defines: 13 bytes; compression and filter method 0; and the depths that each color
// type allows (PNG 11.2.1).
func parseHeader(data []byte) (h header, err error) {
	if len(data) != 13 || data[10] != 0 || data[11] != 0 || data[12] > 1 {
		return h, ErrFormat
	}
	width, height := binary.BigEndian.Uint32(data), binary.BigEndian.Uint32(data[4:])
	if width == 0 || height == 0 || width > 1<<31-1 || height > 1<<31-1 {
		return h, ErrFormat
	}
	h = header{int(width), int(height), data[8], data[9], data[12] == 1}
	depths := map[byte]string{
		gray: "\x01\x02\x04\x08\x10", rgb: "\x08\x10", paletted: "\x01\x02\x04\x08",
		grayAlpha: "\x08\x10", rgbAlpha: "\x08\x10",
	}
	if bytes.IndexByte([]byte(depths[h.kind]), h.depth) < 0 {
		return h, ErrFormat
	}
	// Divides instead of multiplying: width*height may overflow an int on 32-bit systems.
	if h.width > maxPixels/h.height || h.rowBytes(h.width) > maxRow {
		return h, fmt.Errorf("%w: %d x %d pixels", ErrTooLarge, h.width, h.height)
	}
	return h, nil
}

// bits is the size of one pixel in bits.
func (h header) bits() int {
	channels := map[byte]int{gray: 1, rgb: 3, paletted: 1, grayAlpha: 2, rgbAlpha: 4}
	return channels[h.kind] * int(h.depth)
}

// rowBytes is the length in bytes of a row of that many pixels; a row begins at a whole byte.
func (h header) rowBytes(pixels int) int { return (pixels*h.bits() + 7) / 8 }

// chunks is the content of the IDAT chunks as one stream: the encoder may split the zlib data anywhere.
type chunks struct {
	rest []byte
	data []byte // unread rest of the current chunk
}

// next reads the next chunk, which must be complete: 4 bytes of length, 4 of type, the data, 4 of CRC.
// The CRC is not compared, because the zlib checksum already covers the pixels.
func (c *chunks) next() (kind string, data []byte, err error) {
	if len(c.rest) < 12 {
		return "", nil, io.ErrUnexpectedEOF
	}
	n := binary.BigEndian.Uint32(c.rest)
	if int64(n) > int64(len(c.rest))-12 {
		return "", nil, io.ErrUnexpectedEOF
	}
	kind, data = string(c.rest[4:8]), c.rest[8:8+n]
	c.rest = c.rest[12+n:]
	return kind, data, nil
}

func (c *chunks) Read(p []byte) (int, error) {
	for len(c.data) == 0 {
		kind, data, err := c.next()
		if err != nil {
			return 0, err
		} else if kind != "IDAT" {
			return 0, io.ErrUnexpectedEOF
		}
		c.data = data
	}
	n := copy(p, c.data)
	c.data = c.data[n:]
	return n, nil
}

// colors are the palette and the transparent color, which come before the first row in a file.
type colors struct {
	palette [256][4]uint32 // premultiplied
	clear   []byte         // the samples of the transparent color; nil = none
}

// colors reads the chunks up to the first IDAT chunk, whose data the next Read returns. A palette must
// be among them if the pixels are indexes into one.
func (c *chunks) colors(h header) (*colors, error) {
	var found colors
	for i := range found.palette {
		found.palette[i][3] = 255
	}
	known := h.kind != paletted
	for {
		kind, data, err := c.next()
		switch {
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrFormat, err)
		case kind == "PLTE" && len(data)%3 == 0 && len(data) <= 3*256:
			known = true
			for i := range len(data) / 3 {
				found.palette[i] = [4]uint32{uint32(data[3*i]), uint32(data[3*i+1]), uint32(data[3*i+2]), 255}
			}
		case kind == "tRNS" && h.kind == paletted && len(data) <= 256:
			for i, a := range data {
				found.palette[i] = premultiplied(found.palette[i], uint32(a))
			}
		// For other kinds the chunk has one transparent color.
		case kind == "tRNS":
			found.clear = data
		case kind == "IDAT" && known:
			c.data = data
			return &found, nil
		case kind == "IDAT":
			return nil, ErrFormat
		}
	}
}

// premultiplied multiplies by alpha at once, because the mean of several pixels is right only for premultiplied colors:
// a transparent pixel must not add its invisible color.
func premultiplied(c [4]uint32, alpha uint32) [4]uint32 {
	return [4]uint32{c[0] * alpha / 255, c[1] * alpha / 255, c[2] * alpha / 255, alpha}
}

// pass is a part of the rows and columns of a picture: all of them, unless it is interlaced.
type pass struct{ x, y, dx, dy int }

// passes are the whole picture, or the seven passes of Adam7 (PNG 8.2).
func (h header) passes() []pass {
	if !h.interlaced {
		return []pass{{0, 0, 1, 1}}
	}
	return []pass{{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}}
}

// read reads a pass. Filters refer to the row above in the same pass, and above the first row all bytes
// count as zero.
func (p pass) read(r io.Reader, h header, c *colors, s *scaler) error {
	width := (h.width - p.x + p.dx - 1) / p.dx
	if width <= 0 {
		return nil
	}
	n := h.rowBytes(width)
	row, above := make([]byte, 1+n), make([]byte, 1+n)
	// Bytes wrap around on purpose: filters calculate modulo 256.
	for y := p.y; y < h.height; y += p.dy {
		if _, err := io.ReadFull(r, row); err != nil {
			return err
		}
		if err := unfilter(row[0], row[1:], above[1:], max(1, h.bits()/8)); err != nil {
			return err
		}
		h.addRow(row[1:], width, c, func(i int, pixel [4]uint32) { s.addPixel(p.x+i*p.dx, y, pixel) })
		row, above = above, row
	}
	return nil
}

// unfilter restores a row from its filtered bytes and the row above it (PNG 9.2). A filter refers to
// the same byte of the pixel to the left, which is apart bytes before.
func unfilter(filter byte, row, above []byte, apart int) error {
	left := func(of []byte, i int) byte {
		if i < apart {
			return 0
		}
		return of[i-apart]
	}
	switch filter {
	case 0:
	case 1:
		for i := apart; i < len(row); i++ {
			row[i] += row[i-apart]
		}
	case 2:
		for i := range row {
			row[i] += above[i]
		}
	case 3:
		for i := range row {
			row[i] += byte((int(left(row, i)) + int(above[i])) / 2)
		}
	case 4:
		for i := range row {
			row[i] += paeth(left(row, i), above[i], left(above, i))
		}
	default:
		return fmt.Errorf("filter %d", filter)
	}
	return nil
}

// paeth picks the neighbor that is nearest to left + above - upper left; ties go to the left, then above (PNG 9.4).
func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	da, db, dc := abs(p-int(a)), abs(p-int(b)), abs(p-int(c))
	switch {
	case da <= db && da <= dc:
		return a
	case db <= dc:
		return b
	}
	return c
}

func abs(n int) int { return max(n, -n) }

// addRow passes on the pixels of a row with 8 bits per channel, premultiplied.
func (h header) addRow(row []byte, width int, c *colors, add func(i int, pixel [4]uint32)) {
	step := h.bits() / 8
	wide := int(h.depth) / 8 // bytes of a sample; of 16 bits only the higher 8 are used
	for i := range width {
		switch h.kind {
		case paletted:
			add(i, c.palette[h.smallSample(row, i)])
			continue
		case gray:
			if h.depth < 8 {
				v := h.smallSample(row, i)
				pixel := [4]uint32{3: 255}
				if len(c.clear) == 2 && c.clear[1] == v {
					pixel[3] = 0
				} else {
					level := uint32(v) * 255 / (1<<h.depth - 1)
					pixel = [4]uint32{level, level, level, 255}
				}
				add(i, pixel)
				continue
			}
		}
		add(i, h.pixel(row[i*step:(i+1)*step], wide, c))
	}
}

// pixel reads a pixel whose samples have whole bytes.
func (h header) pixel(b []byte, wide int, c *colors) [4]uint32 {
	if c.clear != nil && transparent(b, c.clear, wide) {
		return [4]uint32{}
	}
	v := func(channel int) uint32 { return uint32(b[channel*wide]) }
	switch h.kind {
	case gray:
		return [4]uint32{v(0), v(0), v(0), 255}
	case grayAlpha:
		return premultiplied([4]uint32{v(0), v(0), v(0)}, v(1))
	case rgb:
		return [4]uint32{v(0), v(1), v(2), 255}
	}
	return premultiplied([4]uint32{v(0), v(1), v(2)}, v(3))
}

// transparent reports whether a pixel has the transparent color. The tRNS chunk always takes two bytes for a sample.
func transparent(b, clear []byte, wide int) bool {
	if len(clear) != len(b)/wide*2 {
		return false
	}
	if wide == 2 {
		return bytes.Equal(b, clear)
	}
	for i, v := range b {
		if clear[2*i] != 0 || clear[2*i+1] != v {
			return false
		}
	}
	return true
}

// smallSample is the sample of a pixel that has a single one of at most 8 bits.
func (h header) smallSample(row []byte, i int) byte {
	depth := int(h.depth)
	shift := 8 - depth - i*depth%8
	return row[i*depth/8] >> shift & byte(1<<depth-1)
}
