package stream_test

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"magpie/internal/claude/stream"
	"magpie/internal/racetest"
)

// maxMemory is how much memory reading a picture may take beside the file and the result, in bytes.
const maxMemory = 128 << 20

const (
	pictureVariable = "MAGPIE_TEST_PICTURE"
	timesVariable   = "MAGPIE_TEST_PICTURE_TIMES" // for each further time that it is read meanwhile a sign
)

// TestAPictureInAProcess is the child process of the test below.
func TestAPictureInAProcess(t *testing.T) {
	path := os.Getenv(pictureVariable)
	if path == "" {
		t.Skip("only runs as the child of TestPicturesTakeLittleMemory")
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil { // reset the peak
		t.Fatal(err)
	}
	before := peakMemory(t)
	results := make(chan error)
	for range len(os.Getenv(timesVariable)) + 1 {
		go func() { _, err := stream.NewImage(file); results <- err }()
	}
	err = <-results
	for range len(os.Getenv(timesVariable)) {
		err = errors.Join(err, <-results)
	}
	if err != nil && !errors.Is(err, stream.ErrNoImage) {
		t.Fatal(err)
	}
	fmt.Printf("grown %d shown %v (%v)\n", peakMemory(t)-before, err == nil, err)
}

// peakMemory is the largest resident size of this process so far, in bytes. (getrusage would start with the size of the
// parent.)
func peakMemory(t *testing.T) (size int64) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	if _, err := fmt.Sscan(after, &size); err != nil {
		t.Fatal(err)
	}
	return size << 10
}

// chunk writes a chunk of a PNG file.
func chunk(w io.Writer, kind string, data []byte) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, kind...), data...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
	_, err := w.Write(b)
	return err
}

// bigPNG writes a PNG file row by row, with 8 or 16 bits for each of red, green, blue and alpha.
func bigPNG(t *testing.T, w, h int, depth byte, interlaced, noise bool) []byte {
	t.Helper()
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = append(binary.BigEndian.AppendUint32(head, uint32(h)), depth, 6, 0, 0, 0)
	passes := [][4]int{{0, 0, 1, 1}}
	if interlaced {
		head[12] = 1
		passes = [][4]int{
			{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2},
		}
	}
	var rows, file bytes.Buffer
	z, err := zlib.NewWriterLevel(&rows, zlib.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.NewChaCha8([32]byte{})
	for _, p := range passes {
		row := make([]byte, 1+(w-p[0]+p[2]-1)/p[2]*4*int(depth)/8)
		for y := p[1]; y < h; y += p[3] {
			if noise && y%16 == 0 {
				_, _ = random.Read(row[1 : 1+len(row)/16])
			}
			if _, err := z.Write(row); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = errors.Join(z.Close(), func() error { _, err := file.WriteString("\x89PNG\r\n\x1a\n"); return err }(),
		chunk(&file, "IHDR", head), chunk(&file, "IDAT", rows.Bytes()), chunk(&file, "IEND", nil))
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// progressiveJPEG is a grey picture that ends after its first scan, as over a slow network.
func progressiveJPEG(w, h int) []byte {
	b := []byte{0xFF, 0xD8, 0xFF, 0xDB, 0, 67, 0}
	b = append(b, bytes.Repeat([]byte{1}, 64)...)
	b = append(b, 0xFF, 0xC2, 0, 17, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), 3, 1, 0x22, 0, 2, 0x11, 0, 3, 0x11, 0)
	b = append(b, 0xFF, 0xC4, 0, 20, 0, 1)
	b = append(b, make([]byte, 16)...) // a table with one code: 0 for 0
	b = append(b, 0xFF, 0xDA, 0, 12, 3, 1, 0, 2, 0, 3, 0, 0, 0, 0)
	b = append(b, make([]byte, ((w+15)/16*((h+15)/16)*6+7)/8)...)
	return append(b, 0xFF, 0xD9)
}

// plainJPEG is a grey picture without subsampling: sequential, or progressive with its first scan only, with three
// components or, as for print, with four. By its Adobe marker three are red, green and blue.
func plainJPEG(w, h int, progressive bool, components byte, adobe bool) []byte {
	b := []byte{0xFF, 0xD8}
	if adobe {
		b = append(b, 0xFF, 0xEE, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, 0)
	}
	b = append(append(b, 0xFF, 0xDB, 0, 67, 0), bytes.Repeat([]byte{1}, 64)...)
	frame, last, bits := byte(0xC0), byte(63), 2
	if progressive {
		frame, last, bits = 0xC2, 0, 1
	}
	b = append(b, 0xFF, frame, 0, 8+3*components, 8, byte(h>>8), byte(h), byte(w>>8), byte(w), components)
	for i := range components {
		b = append(b, i+1, 0x11, 0)
	}
	for class := range 2 { // tables with one code: 0 for 0
		b = append(b, 0xFF, 0xC4, 0, 20, byte(class)<<4, 1)
		b = append(b, make([]byte, 16)...)
	}
	b = append(b, 0xFF, 0xDA, 0, 6+2*components, components)
	for i := range components {
		b = append(b, i+1, 0)
	}
	b = append(b, 0, last, 0)
	blocks := (w + 7) / 8 * ((h + 7) / 8) * int(components)
	b = append(b, make([]byte, (blocks*bits+7)/8)...)
	return append(b, 0xFF, 0xD9)
}

// hiddenFrame puts bytes before the first segment that a decoder skips.
func hiddenFrame(file []byte) []byte { return slices.Insert(file, 2, 0, 0xFF, 0, 0) }

// repeatedScan is a progressive picture that sends its last scan again and again.
func repeatedScan(file []byte, times int) []byte {
	at := bytes.LastIndex(file, []byte{0xFF, 0xDA})
	scan := file[at : len(file)-2]
	return append(append(file[:at:at], bytes.Repeat(scan, times)...), 0xFF, 0xD9)
}

// photograph is a JPEG file like those of phones.
func photograph(t *testing.T, w, h int) []byte {
	t.Helper()
	p := image.NewYCbCr(image.Rect(0, 0, w, h), image.YCbCrSubsampleRatio420)
	for i := range p.Y {
		p.Y[i] = byte(i / 50)
	}
	var b bytes.Buffer
	if err := jpeg.Encode(bufio.NewWriter(&b), p, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// enlarged is a JPEG file whose header claims 65,500 x 65,500 pixels.
func enlarged(file []byte) []byte {
	at := bytes.Index(file, []byte{0xFF, 0xC0})
	for i := range 2 {
		binary.BigEndian.PutUint16(file[at+5+2*i:], 65_500)
	}
	return file
}

func movingGIF(t *testing.T, side, frames int) []byte {
	t.Helper()
	var b bytes.Buffer
	g := &gif.GIF{}
	frame := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.Black, color.White})
	for range frames {
		g.Image, g.Delay = append(g.Image, frame), append(g.Delay, 1)
	}
	if err := gif.EncodeAll(&b, g); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever size a picture claims, it takes bounded memory. Ordinary photographs are still shown.
func TestPicturesTakeLittleMemory(t *testing.T) {
	racetest.Skip(t)
	webp := append([]byte("RIFF\x24\x00\x00\x00WEBPVP8L\x18\x00\x00\x00\x2f\xff\xff\xff\x0f"), make([]byte, 1000)...)
	for name, tt := range map[string]struct {
		file  func() []byte
		shown bool
		more  string
	}{
		"png of 16 bits":             {func() []byte { return bigPNG(t, 4990, 2400, 16, false, true) }, true, ""},
		"larger png of 16 bits":      {func() []byte { return bigPNG(t, 4990, 4990, 16, false, false) }, false, ""},
		"interlaced png of 16 bits":  {func() []byte { return bigPNG(t, 2600, 2600, 16, true, false) }, true, ""},
		"larger interlaced png":      {func() []byte { return bigPNG(t, 4990, 4990, 16, true, false) }, false, ""},
		"small png of 16 bits":       {func() []byte { return bigPNG(t, 1568, 1568, 16, true, true) }, true, ""},
		"png of noise":               {func() []byte { return bigPNG(t, 3000, 3000, 8, false, true) }, true, ""},
		"png of 24 megapixels":       {func() []byte { return bigPNG(t, 9990, 2400, 8, false, false) }, true, ""},
		"long png":                   {func() []byte { return bigPNG(t, 65_535, 400, 8, false, false) }, true, ""},
		"longer png":                 {func() []byte { return bigPNG(t, 300_000, 10, 8, false, false) }, false, ""},
		"png bomb":                   {func() []byte { return bigPNG(t, 9990, 9990, 8, false, false) }, false, ""},
		"png bomb of a head":         {func() []byte { return bomb(100_000) }, false, ""},
		"photograph of 64 megapixel": {func() []byte { return photograph(t, 9280, 6944) }, true, "+"},
		"jpeg bomb":                  {func() []byte { return enlarged(photograph(t, 64, 64)) }, false, ""},
		"progressive photograph":     {func() []byte { return progressiveJPEG(4032, 3024) }, true, "+"},
		"hidden frame":               {func() []byte { return hiddenFrame(progressiveJPEG(8000, 6000)) }, false, ""},
		"progressive of many scans":  {func() []byte { return repeatedScan(progressiveJPEG(4032, 3024), 500) }, false, ""},
		"progressive jpeg bomb":      {func() []byte { return progressiveJPEG(16_000, 16_000) }, false, ""},
		"jpeg without subsampling":   {func() []byte { return plainJPEG(3135, 3135, false, 3, false) }, true, ""},
		"jpeg of red, green, blue":   {func() []byte { return plainJPEG(3135, 3135, false, 3, true) }, true, ""},
		"larger of red, green, blue": {func() []byte { return plainJPEG(4900, 4900, false, 3, true) }, false, ""},
		"jpeg for print":             {func() []byte { return plainJPEG(3135, 3135, false, 4, true) }, true, ""},
		"larger jpeg for print":      {func() []byte { return plainJPEG(4000, 4000, false, 4, true) }, false, ""},
		"progressive, all its color": {func() []byte { return plainJPEG(3000, 2400, true, 3, false) }, true, ""},
		"larger, all its color":      {func() []byte { return plainJPEG(4032, 3024, true, 3, false) }, false, ""},
		"progressive, for print":     {func() []byte { return plainJPEG(2500, 1800, true, 4, true) }, true, ""},
		"moving gif":                 {func() []byte { return movingGIF(t, 1000, 100) }, true, ""},
		"gif of 50 megapixels":       {func() []byte { return movingGIF(t, 7100, 2) }, true, ""},
		"four gifs at a time":        {func() []byte { return movingGIF(t, 4400, 1) }, true, "+++"},
		"gif bomb":                   {func() []byte { return movingGIF(t, 9000, 1) }, false, ""},
		"webp bomb":                  {func() []byte { return webp }, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "picture")
			if err := os.WriteFile(path, tt.file(), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAPictureInAProcess$", "-test.v")
			cmd.Env = []string{pictureVariable + "=" + path, timesVariable + "=" + tt.more}
			out, err := cmd.CombinedOutput()
			var grown int64
			var shown bool
			at := strings.Index(string(out), "grown ")
			if err != nil || at < 0 {
				t.Fatalf("%v: %s", err, out)
			}
			if _, err := fmt.Sscanf(string(out[at:]), "grown %d shown %t", &grown, &shown); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%d MB: %s", grown>>20, out[at:])
			if grown > maxMemory || shown != tt.shown {
				t.Errorf("it takes %d MB, and is shown: %v; want %d MB at most, and %v", grown>>20, shown,
					maxMemory>>20, tt.shown)
			}
		})
	}
}
