package scaledpng

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/draw"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func rgba(p image.Image) *image.RGBA {
	to := image.NewRGBA(image.Rect(0, 0, p.Bounds().Dx(), p.Bounds().Dy()))
	draw.Draw(to, to.Bounds(), p, p.Bounds().Min, draw.Src)
	return to
}

// similar reports whether two pictures only differ by rounding.
func similar(a, b *image.RGBA, by int) bool {
	if a.Rect != b.Rect {
		return false
	}
	for i := range a.Pix {
		if d := int(a.Pix[i]) - int(b.Pix[i]); d > by || d < -by {
			return false
		}
	}
	return true
}

// pictures are the files of the PNG suite that come with Go, and some with noise.
func pictures(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.png")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	all := map[string][]byte{}
	for _, path := range files {
		if all[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	rng := rand.NewChaCha8([32]byte{})
	bounds := image.Rect(0, 0, 41, 57)
	noisy := map[string]draw.Image{
		"NRGBA64": image.NewNRGBA64(bounds), "NRGBA": image.NewNRGBA(bounds), "Gray16": image.NewGray16(bounds),
		"RGBA": image.NewRGBA(bounds),
	}
	for name, p := range noisy {
		noise := make([]byte, 41*57*8)
		_, _ = rng.Read(noise)
		draw.Draw(p, bounds, &image.NRGBA64{Pix: noise, Stride: 41 * 8, Rect: bounds}, image.Point{}, draw.Src)
		var b bytes.Buffer
		if err := png.Encode(&b, p); err != nil {
			t.Fatal(err)
		}
		all[name] = b.Bytes()
	}
	return all
}

func TestPicturesAreThoseOfTheStandardLibrary(t *testing.T) {
	for name, file := range pictures(t) {
		t.Run(name, func(t *testing.T) {
			decoded, err := png.Decode(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			want := rgba(decoded)
			got, err := Decode(file, 10_000)
			if err != nil || !similar(got, want, 1) {
				t.Fatalf("the unscaled picture differs: %v", err)
			}
			for _, side := range []int{1, 7, 20, 31} {
				got, err := Decode(file, side)
				if long := max(want.Rect.Dx(), want.Rect.Dy()); err != nil ||
					max(got.Rect.Dx(), got.Rect.Dy()) != min(side, long) || !similar(got, means(want, got.Rect), 2) {
					t.Errorf("of %d pixels: %v, %v", side, got.Rect, err)
				}
			}
		})
	}
}

// means scales a picture down in a way that is easy to verify.
func means(of *image.RGBA, to image.Rectangle) *image.RGBA {
	sums := make([][5]int, to.Dx()*to.Dy())
	for y := range of.Rect.Dy() {
		for x := range of.Rect.Dx() {
			at := y*to.Dy()/of.Rect.Dy()*to.Dx() + x*to.Dx()/of.Rect.Dx()
			for i := range 4 {
				sums[at][i] += int(of.Pix[of.PixOffset(x, y)+i])
			}
			sums[at][4]++
		}
	}
	small := image.NewRGBA(to)
	for at, sum := range sums {
		for i := range 4 {
			small.Pix[at*4+i] = uint8(sum[i] / sum[4])
		}
	}
	return small
}

func TestDamagedFilesAreRefused(t *testing.T) {
	for name, file := range pictures(t) {
		for _, cut := range []int{0, 8, 20, 33, len(file) / 2, len(file) - 25} {
			if _, err := Decode(file[:cut], 10); !errors.Is(err, ErrFormat) {
				t.Errorf("%s cut off after %d bytes: %v", name, cut, err)
			}
		}
	}
}

func TestTooLargePicturesAreRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		width, height uint32
		depth, kind   byte
		refused       bool
	}{
		"100,000 x 100,000":        {100_000, 100_000, 1, gray, true},
		"20,000 x 20,000 of a bit": {20_000, 20_000, 1, gray, true},
		"a long row":               {600_000, 100, 16, rgbAlpha, true},
		"a row of 100 million":     {100_000_000, 1, 8, paletted, true},
		"a row as long as may be":  {maxRow / 8, 100, 16, rgbAlpha, false},
		"100 megapixels":           {10_000, 10_000, 8, rgbAlpha, false},
	} {
		head := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, tt.width), tt.height)
		_, err := parseHeader(append(head, tt.depth, tt.kind, 0, 0, 0))
		if errors.Is(err, ErrTooLarge) != tt.refused || err != nil && !tt.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, file := range pictures(f) {
		f.Add(file, 10)
	}
	f.Fuzz(func(t *testing.T, file []byte, side int) {
		if h, err := parseHeaderOf(file); err != nil || h.width*h.height > 1<<20 {
			return
		}
		if p, err := Decode(file, max(1, side)); err == nil && p.Rect.Empty() {
			t.Error("an empty picture was accepted")
		}
	})
}

func parseHeaderOf(file []byte) (header, error) {
	if len(file) < 29 {
		return header{}, ErrFormat
	}
	return parseHeader(file[16:29])
}
