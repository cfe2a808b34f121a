package claude

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // registers the format for image.Decode
	"image/jpeg"
	"image/png"

	"magpie/internal/scaledjpeg"
	"magpie/internal/scaledpng"
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
	imageSide   = 1568       // pixels of the longer side, as sent to the model
	mostPixels  = 20_000_000 // of an image decoded as a whole; a GIF takes 2 bytes per pixel
	biggestFile = 20 << 20   // bytes of a file that is decoded
	biggestPNG  = 1 << 20    // bytes of an image that is sent without loss
	jpegQuality = 85         // of all other images
)

// ErrNoImage means that a file cannot be shown to the model as an image.
var ErrNoImage = errors.New("not a picture that can be shown")

// ErrLargeImage means that an image has too many pixels to be decoded. It is an [ErrNoImage].
var ErrLargeImage = fmt.Errorf("%w: too many pixels", ErrNoImage)

// decoding is held while an image is decoded: one at a time, to limit memory.
var decoding = make(chan struct{}, 1)

// NewImage decodes a PNG, JPEG or GIF file, otherwise it returns [ErrNoImage]. It uses 64 MB at most, whatever the file
// claims; an image that would need more is rejected.
func NewImage(file []byte) (Image, error) {
	if len(file) > biggestFile {
		return Image{}, fmt.Errorf("%w: %d bytes", ErrNoImage, len(file))
	}
	// Only the header is read here: the size decides how much memory decoding takes.
	size, form, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	if size.Width < 1 || size.Height < 1 {
		return Image{}, fmt.Errorf("%w: %d x %d pixels", ErrNoImage, size.Width, size.Height)
	}
	// One at a time: the limit of 64 MB is for the whole program.
	decoding <- struct{}{}
	defer func() { <-decoding }()
	small := max(size.Width, size.Height) <= imageSide
	picture, err := decode(file, form, size, small)
	if errors.Is(err, scaledjpeg.ErrTooLarge) || errors.Is(err, scaledpng.ErrTooLarge) {
		return Image{}, fmt.Errorf("%w: %w", ErrLargeImage, err)
	} else if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	switch {
	// A small picture is passed on unchanged, since decoding has shown that it is intact.
	case small && form == "jpeg" && len(file) <= biggestPNG:
		return Image{"image/jpeg", file}, nil
	case small && form == "png" && len(file) <= biggestPNG:
		return Image{"image/png", file}, nil
	}
	return compress(shrink(picture))
}

// decode decodes an image. A large one is scaled down while decoding: as a whole it would take too much memory.
func decode(file []byte, form string, size image.Config, small bool) (image.Image, error) {
	switch {
	case form == "jpeg":
		return scaledjpeg.Decode(bytes.NewReader(file), imageSide)
	case form == "png" && !small:
		return scaledpng.Decode(file, imageSide)
	case size.Width > mostPixels/size.Height:
		return nil, fmt.Errorf("%w: %d x %d", ErrLargeImage, size.Width, size.Height)
	}
	picture, _, err := image.Decode(bytes.NewReader(file))
	return picture, err
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
