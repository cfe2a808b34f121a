package consoletest

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"slices"
	"time"
)

// Frame is one picture of an animation.
type Frame struct {
	Picture image.Image
	Shown   time.Duration
}

// Animate makes an endless animated PNG from frames of one size (https://www.w3.org/TR/png-3/, 11.3.2). All share a
// palette of the most frequent colors; after the first, each frame only contains what has changed.
func Animate(frames []Frame) ([]byte, error) {
	if len(frames) == 0 {
		return nil, errors.New("no frames")
	}
	size := frames[0].Picture.Bounds()
	p := paletteOf(frames)
	var b bytes.Buffer
	b.WriteString("\x89PNG\r\n\x1a\n")
	chunk(&b, "IHDR", fields(uint32(size.Dx()), uint32(size.Dy()), []byte{8, 3, 0, 0, 0}))
	chunk(&b, "acTL", fields(uint32(len(frames)), uint32(0)))
	chunk(&b, "PLTE", p.rgb())
	chunk(&b, "tRNS", []byte{0}) // the first entry is for unchanged pixels
	var last []byte
	sequence := uint32(0)
	for i, f := range frames {
		now := p.indexed(f.Picture)
		box := changed(last, now, size.Dx())
		chunk(&b, "fcTL", fields(sequence, uint32(box.Dx()), uint32(box.Dy()), uint32(box.Min.X), uint32(box.Min.Y),
			uint16(f.Shown.Milliseconds()), uint16(1000), []byte{0, 1})) // drawn over the previous frame
		sequence++
		data := packed(last, now, box, size.Dx())
		if i == 0 {
			chunk(&b, "IDAT", data)
		} else {
			chunk(&b, "fdAT", append(fields(sequence), data...))
			sequence++
		}
		last = now
	}
	chunk(&b, "IEND", nil)
	return b.Bytes(), nil
}

func chunk(b *bytes.Buffer, kind string, data []byte) {
	b.Write(fields(uint32(len(data))))
	sum := crc32.ChecksumIEEE(append([]byte(kind), data...))
	b.WriteString(kind)
	b.Write(data)
	b.Write(fields(sum))
}

// fields writes numbers and bytes in this order.
func fields(values ...any) (out []byte) {
	for _, v := range values {
		switch v := v.(type) {
		case uint32:
			out = binary.BigEndian.AppendUint32(out, v)
		case uint16:
			out = binary.BigEndian.AppendUint16(out, v)
		case []byte:
			out = append(out, v...)
		}
	}
	return out
}

// palette is up to 255 colors; the index 0 is for an unchanged pixel.
type palette struct {
	colours []color.RGBA
	index   map[color.RGBA]byte
}

func rgba(c color.Color) color.RGBA { return color.RGBAModel.Convert(c).(color.RGBA) }

func paletteOf(frames []Frame) *palette {
	count := map[color.RGBA]int{}
	for i, f := range frames {
		if i > 0 && i%4 != 0 && i < len(frames)-1 {
			continue // neighbors hardly differ
		}
		for y := range f.Picture.Bounds().Dy() {
			for x := range f.Picture.Bounds().Dx() {
				count[rgba(f.Picture.At(x, y))]++
			}
		}
	}
	all := make([]color.RGBA, 0, len(count))
	for c := range count {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return count[b] - count[a] })
	p := &palette{index: map[color.RGBA]byte{}}
	// A color that is close to an existing entry gets none of its own: text has many shades of the same edge.
	for _, c := range all {
		if len(p.colours) == 255 {
			break
		}
		if _, d := p.nearest(c); d > 60 {
			p.colours = append(p.colours, c)
		}
	}
	return p
}

// nearest is the entry most similar to a color, and its distance.
func (p *palette) nearest(c color.RGBA) (index byte, distance int) {
	distance = 1 << 30
	for i, q := range p.colours {
		r, g, b := int(c.R)-int(q.R), int(c.G)-int(q.G), int(c.B)-int(q.B)
		if d := 2*r*r + 4*g*g + b*b; d < distance {
			index, distance = byte(i+1), d
		}
	}
	return index, distance
}

func (p *palette) rgb() []byte {
	out := []byte{0, 0, 0}
	for _, c := range p.colours {
		out = append(out, c.R, c.G, c.B)
	}
	return out
}

// indexed is a picture as indexes of the palette, row by row.
func (p *palette) indexed(m image.Image) []byte {
	out := make([]byte, 0, m.Bounds().Dx()*m.Bounds().Dy())
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			c := rgba(m.At(x, y))
			i, ok := p.index[c]
			if !ok {
				i, _ = p.nearest(c)
				p.index[c] = i
			}
			out = append(out, i)
		}
	}
	return out
}

// changed is the smallest rectangle that contains all differences; at least one pixel.
func changed(last, now []byte, width int) image.Rectangle {
	if last == nil {
		return image.Rect(0, 0, width, len(now)/width)
	}
	box := image.Rectangle{}
	for i := range now {
		if now[i] != last[i] {
			box = box.Union(image.Rect(i%width, i/width, i%width+1, i/width+1))
		}
	}
	if box.Empty() {
		return image.Rect(0, 0, 1, 1)
	}
	return box
}

// packed is the image data of a rectangle, in which unchanged pixels are transparent.
func packed(last, now []byte, box image.Rectangle, width int) []byte {
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, zlib.BestCompression)
	if err != nil {
		panic(err) // the level is valid
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		row := []byte{0} // no filter
		for i := y*width + box.Min.X; i < y*width+box.Max.X; i++ {
			if last != nil && last[i] == now[i] {
				row = append(row, 0)
			} else {
				row = append(row, now[i])
			}
		}
		_, _ = z.Write(row) // into memory
	}
	_ = z.Close()
	return b.Bytes()
}
