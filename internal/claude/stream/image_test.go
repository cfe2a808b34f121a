package stream_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"testing"

	"magpie/internal/claude/stream"
	"magpie/internal/racetest"
)

// noise is a picture that no format compresses well.
func noise(w, h int) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, w, h))
	r := rand.NewChaCha8([32]byte{})
	_, _ = r.Read(p.Pix)
	return p
}

// plain is a picture of one colour.
func plain(w, h int, c color.RGBA) *image.RGBA {
	p := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(p, p.Bounds(), image.NewUniform(c), image.Point{}, draw.Src)
	return p
}

func pngOf(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, p image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, p, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// bomb is a PNG file of a few bytes that claims to be huge.
func bomb(side uint32) []byte {
	head := append([]byte("IHDR"), make([]byte, 13)...)
	binary.BigEndian.PutUint32(head[4:], side)
	binary.BigEndian.PutUint32(head[8:], side)
	head[12], head[13] = 8, 6
	b := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	b = append(b, head...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(head))
}

func TestPicturesAreScaledDown(t *testing.T) {
	racetest.Skip(t)
	var anim bytes.Buffer
	frame := image.NewPaletted(image.Rect(0, 0, 10, 10), color.Palette{color.Black, color.White})
	if err := gif.EncodeAll(&anim, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		file []byte
		w, h int
	}{
		"small png":    {pngOf(t, plain(40, 20, color.RGBA{9, 8, 7, 255})), 40, 20},
		"a photograph": {jpegOf(t, plain(2000, 1500, color.RGBA{200, 100, 50, 255})), 1568, 1176},
		"a screenshot": {pngOf(t, plain(1170, 2532, color.RGBA{1, 2, 3, 255})), 724, 1568},
		"noise":        {pngOf(t, noise(700, 600)), 700, 600},
		"a line":       {pngOf(t, plain(5000, 1, color.RGBA{1, 2, 3, 255})), 1568, 1},
		"moving":       {anim.Bytes(), 10, 10},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := stream.NewImage(tt.file)
			if err != nil {
				t.Fatal(err)
			}
			data := got.Data()
			size, _, err := image.DecodeConfig(bytes.NewReader(data))
			if err != nil || size.Width != tt.w || size.Height != tt.h || len(data) > 1<<20 {
				t.Errorf("%d x %d in %d bytes, %v; want %d x %d", size.Width, size.Height, len(data), err, tt.w, tt.h)
			}
		})
	}
	got, err := stream.NewImage(jpegOf(t, plain(3136, 3136, color.RGBA{200, 100, 50, 255})))
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := image.Decode(bytes.NewReader(got.Data()))
	if err != nil {
		t.Fatal(err)
	}
	if r, g, b, _ := p.At(700, 700).RGBA(); r>>8 < 196 || g>>8 < 96 || b>>8 > 56 {
		t.Errorf("its colour changed: %d %d %d", r>>8, g>>8, b>>8)
	}
}

func TestFilesThatAreNoPictures(t *testing.T) {
	racetest.Skip(t)
	whole := jpegOf(t, noise(300, 300))
	for name, file := range map[string][]byte{
		"empty": nil, "text": []byte("hello"), "cut off": whole[:len(whole)/2], "only a head": whole[:30],
		"a bomb": bomb(100_000), "a bomb that overflows": bomb(1<<31 - 1),
		"too big": append(bytes.Clone(whole), make([]byte, 21<<20)...),
		"webp":    []byte("RIFF\x24\x00\x00\x00WEBPVP8 "),
	} {
		if _, err := stream.NewImage(file); !errors.Is(err, stream.ErrNoImage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
