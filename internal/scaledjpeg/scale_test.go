package scaledjpeg

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/draw"
	"image/jpeg"
	"os"
	"path/filepath"
	"testing"
)

func rgba(p image.Image) *image.RGBA {
	to := image.NewRGBA(image.Rect(0, 0, p.Bounds().Dx(), p.Bounds().Dy()))
	draw.Draw(to, to.Bounds(), p, p.Bounds().Min, draw.Src)
	return to
}

// Go's own test pictures become what image/jpeg makes of them, and smaller ones are their means.
func TestPicturesAreThoseOfTheStandardLibrary(t *testing.T) {
	files, err := filepath.Glob("testdata/*.jpeg")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want, err := jpeg.Decode(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Decode(bytes.NewReader(file), 10_000)
			if err != nil {
				t.Fatal(err)
			}
			if whole := rgba(want); !bytes.Equal(rgba(got).Pix, whole.Pix) {
				t.Fatal("the whole picture is another one")
			}
			for shift, side := range []int{0, 75, 37, 18} {
				got, err := Decode(bytes.NewReader(file), side)
				if err != nil {
					t.Fatal(err)
				}
				if shift > 0 {
					compare(t, rgba(got), rgba(want), 1<<shift)
				}
			}
		})
	}
}

// compare checks that small consists of the means of the whole picture. Colours may have one sample for 4 x 2
// pixels, so fields of 4 x 4 pixels are compared.
func compare(t *testing.T, small, whole *image.RGBA, by int) {
	t.Helper()
	if w, h := (whole.Rect.Dx()+by-1)/by, (whole.Rect.Dy()+by-1)/by; small.Rect.Dx() != w || small.Rect.Dy() != h {
		t.Fatalf("%v of %v by %d", small.Rect, whole.Rect, by)
	}
	const field = 4
	for y := range whole.Rect.Dy() / by / field {
		for x := range whole.Rect.Dx() / by / field {
			for channel := range 3 {
				want, got := mean(whole, x, y, field*by, channel), mean(small, x, y, field, channel)
				if d := want - got; d > 12 || d < -12 { // bright colours are cut off at 255 before or after the mean is taken
					t.Errorf("by %d: channel %d at %d, %d is %d and not %d", by, channel, x, y, got, want)
				}
			}
		}
	}
}

// mean is that of one channel of a square of that many pixels.
func mean(p *image.RGBA, x, y, side, channel int) int {
	sum := 0
	for i := range side * side {
		sum += int(p.Pix[p.PixOffset(x*side+i%side, y*side+i/side)+channel])
	}
	return sum / (side * side)
}

// head is the beginning of a JPEG file that says it has that size.
func head(marker byte, w, h int) []byte {
	b := []byte{0xFF, 0xD8, 0xFF, marker, 0, 17, 8}
	b = binary.BigEndian.AppendUint16(b, uint16(h))
	b = binary.BigEndian.AppendUint16(b, uint16(w))
	return append(b, 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0)
}

func TestTooLargePicturesAreRefused(t *testing.T) {
	// Each scan of a progressive picture goes through all of it, and takes only some bytes of the file.
	scans := append(head(0xC2, 800, 800), 0xFF, 0xC4, 0, 20, 0, 1)
	scans = append(scans, make([]byte, 16)...) // a table with the code 0, for 0
	scan := []byte{0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 0, 0}
	scan = append(scan, make([]byte, (50*50*6+7)/8)...)
	for range maxScans + 1 {
		scans = append(scans, scan...)
	}
	for name, file := range map[string][]byte{
		"65535 x 65535": head(0xC0, 65535, 65535), "20,000 x 20,000": head(0xC0, 20_000, 20_000),
		"25 megapixels, progressive": head(0xC2, 5000, 5000), "no width": head(0xC0, 0, 100), "many scans": scans,
	} {
		if _, err := Decode(bytes.NewReader(file), 1568); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.jpeg")
	for _, path := range files {
		if file, err := os.ReadFile(path); err == nil {
			f.Add(file, 40)
		}
	}
	f.Fuzz(func(_ *testing.T, file []byte, side int) { _, _ = Decode(bytes.NewReader(file), max(1, side)) })
}
