// Package scaledjpeg decodes JPEG pictures at a fraction of their size, without the memory that the whole picture would
// take. It is a copy of Go's image/jpeg (1.26) that scales each block down as soon as it is decoded, keeps the
// coefficients of progressive pictures in 16 bits, and rejects pictures that would take too much memory or time. The
// rest is unchanged.
//
// It does not decide which size is good for the model, and supports no other formats.
package scaledjpeg

import (
	"errors"
	"fmt"
	"image"
)

// ErrTooLarge means that a picture would take too much memory or time.
var ErrTooLarge = errors.New("the picture is too large")

// Limits of a picture.
const (
	maxPixels = 100_000_000
	maxBytes  = 50 << 20 // read at a time
	maxScans  = 200      // each goes through the whole picture, however few bytes it has; encoders make about 10
)

// fit chooses the scale of the picture, and rejects one that takes too much anyway.
func (d *decoder) fit() error {
	if d.width == 0 || d.height == 0 || d.width > maxPixels/d.height {
		return fmt.Errorf("%w: %d x %d pixels", ErrTooLarge, d.width, d.height)
	}
	d.rgb = d.nComp == 3 && d.isRGB()
	for d.shift < 3 && (max(d.width, d.height)>>(d.shift+1) >= d.side || d.memory() > maxBytes) {
		d.shift++
	}
	if d.memory() > maxBytes {
		return fmt.Errorf("%w: %d x %d pixels", ErrTooLarge, d.width, d.height)
	}
	return nil
}

// memory is how many bytes the picture takes: its components, their conversion, and the coefficients of a progressive
// one, which are kept until its end.
func (d *decoder) memory() int {
	h0, v0 := d.comp[0].h, d.comp[0].v
	mcus := ((d.width + 8*h0 - 1) / (8 * h0)) * ((d.height + 8*v0 - 1) / (8 * v0))
	blocks := 0
	for _, c := range d.comp[:d.nComp] {
		blocks += mcus * c.h * c.v
	}
	n := blocks * d.blockSide() * d.blockSide()
	if size := d.bounds().Size(); d.rgb || d.nComp == 4 {
		n += 4 * size.X * size.Y
	}
	if d.progressive {
		n += blocks * blockSize * 2
	}
	return n
}

// blockSide is the width and height of a scaled block in pixels.
func (d *decoder) blockSide() int { return 8 >> d.shift }

// bounds are those of the scaled picture.
func (d *decoder) bounds() image.Rectangle {
	last := 1<<d.shift - 1
	return image.Rect(0, 0, (d.width+last)>>d.shift, (d.height+last)>>d.shift)
}

// writeScaled writes a block, each pixel of which is the mean of the pixels that it replaces.
func (d *decoder) writeScaled(dst []byte, stride int, b *block) {
	of, round := 1<<d.shift, int32(1)<<(2*d.shift)>>1
	for y := range d.blockSide() {
		for x := range d.blockSide() {
			sum := int32(0)
			for i := range of {
				row := b[(y*of+i)*8+x*of:][:of]
				for _, c := range row {
					sum += min(max(c, -128), 127) + 128
				}
			}
			dst[y*stride+x] = uint8((sum + round) >> (2 * d.shift))
		}
	}
}

// coeffs are those of a block between the scans of a progressive picture.
type coeffs [blockSize]int16

func (c *coeffs) load(b *block) {
	for i, v := range c {
		b[i] = int32(v)
	}
}

func (c *coeffs) store(b *block) {
	for i, v := range b {
		c[i] = int16(v)
	}
}
