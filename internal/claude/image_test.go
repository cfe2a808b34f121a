package claude_test

import (
	"bytes"
	"encoding/base64"
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
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
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

// shownIn runs a turn with a picture and returns the blocks that reached the model.
func shownIn(r *rig, file []byte) []gjson.Result {
	r.Helper()
	picture, err := claude.NewImage(file)
	if err != nil {
		r.Fatal(err)
	}
	spec := fresh()
	spec.Dir, spec.Mode = r.cfg.Project, "default"
	p, err := r.pool.Acquire(r.Context(), "a", spec)
	if err != nil {
		r.Fatal(err)
	}
	defer r.pool.Release("a", p)
	for _, err := range p.Run(r.Context(), uuid.NewString(), "/what is this?", picture) {
		if err != nil {
			r.Fatal(err)
		}
	}
	all := r.model.Requests()
	var blocks []gjson.Result
	for _, m := range gjson.GetBytes(all[len(all)-1].Body, `messages.#(role=="user")#`).Array() {
		blocks = append(blocks, m.Get("content").Array()...)
	}
	return blocks
}

func TestPicturesReachTheModel(t *testing.T) { claudetest.Versions(t, picturesReachTheModel) }

func picturesReachTheModel(t *testing.T, command string) {
	r := newRig(t, withCLI(command))
	small := pngOf(t, plain(40, 20, color.RGBA{200, 10, 10, 255}))
	blocks := shownIn(r, small)
	var data, words string
	for _, b := range blocks {
		if b.Get("type").String() == "image" {
			data = b.Get("source.data").String()
		}
		if text := b.Get("text").String(); data != "" && text != "" && words == "" {
			words = text // 2.1.330 adds the path of its own copy of the picture
		}
	}
	got, err := base64.StdEncoding.DecodeString(data)
	if err != nil || len(got) == 0 {
		t.Fatalf("no picture in %v", blocks)
	}
	p, err := png.Decode(bytes.NewReader(got))
	if err != nil || p.Bounds().Dx() != 40 || p.Bounds().Dy() != 20 {
		t.Errorf("the model sees another picture: %v, %v", p, err)
	}
	if strings.TrimSpace(words) != "/what is this?" {
		t.Errorf("the words behind it: %q", words)
	}
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
			got, err := claude.NewImage(tt.file)
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
	got, err := claude.NewImage(jpegOf(t, plain(3136, 3136, color.RGBA{200, 100, 50, 255})))
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
		if _, err := claude.NewImage(file); !errors.Is(err, claude.ErrNoImage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheAgentReadsTheFilesOfItsChat(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "12-1-notes.txt")
	if err := os.WriteFile(path, []byte("the secret word is heron"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.model.Script(modelsim.Rule{
		Times: 1, Steps: []modelsim.Step{modelsim.Tool("Read", map[string]any{"file_path": path})},
	})
	spec := fresh()
	spec.Files = dir
	a := r.turn(t.Context(), "a", spec, "read it")
	all := r.model.Requests()
	if a.err != nil || !bytes.Contains(all[len(all)-1].Body, []byte("heron")) {
		t.Errorf("%q, %v, %s", a.text(), a.err, all[len(all)-1].Body[max(0, len(all[len(all)-1].Body)-500):])
	}
}
