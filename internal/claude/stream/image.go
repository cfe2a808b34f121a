package stream

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // registers the format for image.Decode
	"image/jpeg"
	"image/png"
	"runtime/debug"
)

// Image is an image as the model sees it.
type Image struct {
	kind string // media type
	data []byte
}

// Limits of images. The model sees an image only up to this size. If a session contains an image that the API cannot
// read, or too much image data, the API refuses all later requests of the session. So each image is decoded and scaled
// down.
const (
	imageSide    = 1568      // pixels of the longer side, as sent to the model
	longestSide  = 65_535    // pixels of an image that is decoded; JPEG and GIF have no longer ones
	maxDecoding  = 104 << 20 // bytes that decoding may take; with what scaling down needs, 128 MB
	muchDecoding = 16 << 20  // bytes that are given back at once
	maxScans     = 200       // of a progressive JPEG: each goes through the whole picture, however few bytes it has
	biggestFile  = 20 << 20  // bytes of a file that is decoded
	biggestPNG   = 1 << 20   // bytes of an image that is sent without loss
	jpegQuality  = 85        // of all other images
)

// ErrNoImage means that a file cannot be shown to the model as an image.
var ErrNoImage = errors.New("not a picture that can be shown")

// ErrLargeImage means that an image would take too much memory or time to decode. It is an [ErrNoImage].
var ErrLargeImage = fmt.Errorf("%w: too large to be decoded", ErrNoImage)

// decoding is held while an image is decoded: one at a time, to limit memory.
var decoding = make(chan struct{}, 1)

// NewImage decodes a PNG, JPEG or GIF file, otherwise it returns [ErrNoImage]. It uses 128 MB at most, whatever the
// file claims; an image that would need more is an [ErrLargeImage].
func NewImage(file []byte) (Image, error) {
	if len(file) > biggestFile {
		return Image{}, fmt.Errorf("%w: %d bytes", ErrNoImage, len(file))
	}
	// Only the header is read here: it decides how much memory decoding takes.
	size, form, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	if size.Width < 1 || size.Height < 1 {
		return Image{}, fmt.Errorf("%w: %d x %d pixels", ErrNoImage, size.Width, size.Height)
	}
	need := decodingBytes(file, form, size)
	if max(size.Width, size.Height) > longestSide || need > maxDecoding ||
		form == "jpeg" && bytes.Count(file, []byte{0xFF, 0xDA}) > maxScans {
		return Image{}, fmt.Errorf("%w: %d x %d pixels, %d bytes", ErrLargeImage, size.Width, size.Height, need)
	}
	// One at a time: the limit of 128 MB is for the whole program.
	decoding <- struct{}{}
	defer func() { <-decoding }()
	if need > muchDecoding {
		// Else the next large picture would be decoded beside what is left of this one.
		defer debug.FreeOSMemory()
	}
	picture, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	// A small picture is passed on unchanged, since decoding has shown that it is intact.
	if max(size.Width, size.Height) <= imageSide && len(file) <= biggestPNG && form != "gif" {
		return Image{"image/" + form, file}, nil
	}
	return compress(shrink(picture))
}

// decodingBytes is how much memory the standard library takes to decode an image, by its header.
func decodingBytes(file []byte, form string, size image.Config) int64 {
	pixels := int64(size.Width) * int64(size.Height)
	if form == "jpeg" {
		return jpegBytes(file, size, pixels)
	}
	perPixel := int64(4) // also of a gray PNG, which may turn out to have a transparent color
	switch size.ColorModel {
	case color.Gray16Model, color.RGBA64Model, color.NRGBA64Model:
		perPixel = 8
	}
	if _, ok := size.ColorModel.(color.Palette); ok {
		perPixel = 1
	}
	// Of an interlaced image its parts are decoded beside the whole: in a PNG this is the last byte of the header.
	if form == "gif" || len(file) > 28 && file[28] != 0 {
		perPixel *= 2
	}
	return pixels * perPixel
}

// jpegBytes counts the samples of an image, a byte each. Those of a progressive one are also kept as coefficients of
// four bytes until its end. Colors other than a camera's are converted as a whole.
func jpegBytes(file []byte, size image.Config, pixels int64) int64 {
	progressive, sampling := jpegFrame(file)
	if sampling == nil { // not where it belongs; so it could be anything
		progressive, sampling = true, []byte{0x11, 0x11, 0x11, 0x11}
	}
	samples := 0
	for _, s := range sampling {
		samples += int(s>>4) * int(s&15)
	}
	// The first component has the most samples, and the image is filled up to whole blocks of them.
	wide, high := 8*max(1, int(sampling[0]>>4)), 8*max(1, int(sampling[0]&15))
	blocks := int64((size.Width+wide-1)/wide) * int64((size.Height+high-1)/high) * int64(samples)
	need := blocks * 64
	if progressive {
		need *= 5
	}
	if size.ColorModel == color.CMYKModel || size.ColorModel == color.RGBAModel {
		need += 4 * pixels
	}
	return need
}

// jpegFrame reads the frame header of a JPEG file, which says whether it is progressive, and how many samples each
// component has: horizontally in the upper four bits, vertically in the lower. The decoder also skips bytes between
// segments; here none are skipped, so that both read the same header.
func jpegFrame(file []byte) (progressive bool, sampling []byte) {
	const start, startProgressive, restart, end = 0xC0, 0xC2, 0xD0, 0xD9
	for rest := file[2:]; len(rest) > 10 && rest[0] == 0xFF; {
		kind, n := rest[1], 2+int(binary.BigEndian.Uint16(rest[2:]))
		if kind == 0 || kind == 0xFF || kind >= restart && kind <= end || n < 4 || n > len(rest) {
			return false, nil
		}
		if kind >= start && kind <= startProgressive {
			for i := 11; i < n; i += 3 {
				sampling = append(sampling, rest[i])
			}
			return kind == startProgressive, sampling
		}
		rest = rest[n:]
	}
	return false, nil
}

// shrink scales an image down until its longer side fits. Each new pixel is the mean of the old ones.
func shrink(picture image.Image) *image.RGBA {
	from := picture.Bounds()
	w, h := from.Dx(), from.Dy()
	tw, th := w, h
	if long := max(w, h); long > imageSide {
		tw, th = max(1, w*imageSide/long), max(1, h*imageSide/long)
	}
	if same, ok := picture.(*image.RGBA); ok && tw == w && th == h {
		return same
	}
	to := image.NewRGBA(image.Rect(0, 0, tw, th))
	rows := image.NewRGBA(image.Rect(0, 0, w, h/th+1)) // rows that become one
	for y := range th {
		top, end := y*h/th, max(y*h/th+1, (y+1)*h/th)
		draw.Draw(rows, image.Rect(0, 0, w, end-top), picture, image.Pt(from.Min.X, from.Min.Y+top), draw.Src)
		for x := range tw {
			to.SetRGBA(x, y, meanColor(rows, image.Rect(x*w/tw, 0, max(x*w/tw+1, (x+1)*w/tw), end-top)))
		}
	}
	return to
}

// meanColor reads whole rows of bytes; At for each pixel would allocate a color each time.
func meanColor(from *image.RGBA, part image.Rectangle) color.RGBA {
	var sum [4]int
	for y := part.Min.Y; y < part.Max.Y; y++ {
		row := from.Pix[from.PixOffset(part.Min.X, y) : from.PixOffset(part.Max.X-1, y)+4]
		for i, v := range row {
			sum[i%4] += int(v)
		}
	}
	n := part.Dx() * part.Dy()
	return color.RGBA{uint8(sum[0] / n), uint8(sum[1] / n), uint8(sum[2] / n), uint8(sum[3] / n)}
}

// cappedBuffer is a buffer with a size limit.
type cappedBuffer struct {
	bytes.Buffer
	bytes int
}

var errTooBig = errors.New("too big")

// Write fails instead of growing, so that compressing a picture that does not suit PNG stops early.
func (b *cappedBuffer) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.bytes {
		return 0, errTooBig
	}
	return b.Buffer.Write(p)
}

// compress prefers PNG, since screenshots of text suffer from JPEG. A photograph that is too big as
// PNG becomes a JPEG.
func compress(picture *image.RGBA) (Image, error) {
	lossless := cappedBuffer{bytes: biggestPNG}
	switch err := png.Encode(&lossless, picture); {
	case err == nil:
		return Image{"image/png", lossless.Bytes()}, nil
	case !errors.Is(err, errTooBig):
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, picture, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	return Image{"image/jpeg", b.Bytes()}, nil
}

// Data is the image as a file.
func (i Image) Data() []byte { return i.data }

// contentBlock is the image as a content block of the CLI's input.
func (i Image) contentBlock() object {
	return object{"type": "image", "source": object{
		"type": "base64", "media_type": i.kind, "data": base64.StdEncoding.EncodeToString(i.data),
	}}
}
