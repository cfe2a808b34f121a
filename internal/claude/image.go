package claude

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	_ "image/gif" // the forms of pictures that are understood
	"image/jpeg"
	"image/png"
)

// Image is a picture as the model sees it.
type Image struct {
	kind string // media type
	data []byte
}

// Bounds of pictures. The model sees a picture at most so large, and the API refuses every later request of a session
// that holds one it cannot read, or too much of them: so each is decoded, and made small.
const (
	imageSide   = 1568       // pixels of the longer side, of what the model is given
	mostPixels  = 25_000_000 // of what is decoded: 100 MB of memory
	biggestFile = 20 << 20   // bytes of what is decoded
	biggestPNG  = 1 << 20    // bytes of a picture that is given without loss
	jpegQuality = 85         // of the others
)

// ErrNoImage says that something cannot be shown to the model as a picture.
var ErrNoImage = errors.New("not a picture that can be shown")

// decoding is held while a picture is decoded: one at a time, for the memory.
var decoding = make(chan struct{}, 1)

// NewImage makes a picture of a PNG, JPEG or GIF file, else it returns [ErrNoImage].
func NewImage(file []byte) (Image, error) {
	if len(file) > biggestFile {
		return Image{}, fmt.Errorf("%w: %d bytes", ErrNoImage, len(file))
	}
	size, _, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	if size.Width < 1 || size.Height < 1 || size.Width > mostPixels/size.Height {
		return Image{}, fmt.Errorf("%w: %d x %d pixels", ErrNoImage, size.Width, size.Height)
	}
	decoding <- struct{}{}
	defer func() { <-decoding }()
	picture, form, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	small := max(size.Width, size.Height) <= imageSide
	switch {
	case small && form == "jpeg" && len(file) <= biggestPNG:
		return Image{"image/jpeg", file}, nil
	case small && form == "png" && len(file) <= biggestPNG:
		return Image{"image/png", file}, nil
	}
	return compressed(shrink(picture))
}

// shrink gives a picture whose longer side is not too long. Each of its pixels is the mean of those that it stands for.
func shrink(picture image.Image) *image.RGBA {
	from := image.NewRGBA(image.Rect(0, 0, picture.Bounds().Dx(), picture.Bounds().Dy()))
	draw.Draw(from, from.Bounds(), picture, picture.Bounds().Min, draw.Src)
	w, h := from.Bounds().Dx(), from.Bounds().Dy()
	long := max(w, h)
	if long <= imageSide {
		return from
	}
	to := image.NewRGBA(image.Rect(0, 0, max(1, w*imageSide/long), max(1, h*imageSide/long)))
	tw, th := to.Bounds().Dx(), to.Bounds().Dy()
	for y := range th {
		for x := range tw {
			to.SetRGBA(x, y, mean(from, image.Rect(x*w/tw, y*h/th, max(x*w/tw+1, (x+1)*w/tw), max(y*h/th+1, (y+1)*h/th))))
		}
	}
	return to
}

func mean(from *image.RGBA, part image.Rectangle) color.RGBA {
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

func compressed(picture *image.RGBA) (Image, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	if b.Len() <= biggestPNG {
		return Image{"image/png", b.Bytes()}, nil
	}
	b.Reset()
	if err := jpeg.Encode(&b, picture, &jpeg.Options{Quality: jpegQuality}); err != nil {
		return Image{}, fmt.Errorf("%w: %w", ErrNoImage, err)
	}
	return Image{"image/jpeg", b.Bytes()}, nil
}

// Data is the picture as a file of its form.
func (i Image) Data() []byte { return i.data }

// block is the picture as the CLI's input has it.
func (i Image) block() object {
	return object{"type": "image", "source": object{
		"type": "base64", "media_type": i.kind, "data": base64.StdEncoding.EncodeToString(i.data),
	}}
}
