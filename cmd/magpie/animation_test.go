package main

import (
	"bytes"
	numbers "encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"magpie/internal/console/consoletest"
)

// animations are the animated pictures at the top of the READMEs, by the language of the page.
var animations = map[string]struct{ readme, file string }{
	"en-US": {"README.md", "playground-en.png"},
	"zh-CN": {"README.zh.md", "playground-zh.png"},
}

// maxAnimation is the largest size of an animation, in bytes.
const maxAnimation = 1536 << 10

// The animations exist, move, are small, and are shown in the READMEs. They begin with what is shown where nothing moves:
// the session that was lost and has healed, which the film then leads to. With -pictures they are taken again, from the
// playground's page in a real browser: a question, an approved command, a lost session, and a bridge that is killed in
// mid-answer.
func TestAnimations(t *testing.T) {
	for language, a := range animations {
		path := filepath.Join("..", "..", "docs", a.file)
		if *makePictures {
			data := film(t, language)
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		head, err := png.DecodeConfig(bytes.NewReader(data))
		if frames := bytes.Count(data, []byte("fcTL")); err != nil || head.Width < 900 || frames < 40 ||
			len(data) > maxAnimation {
			t.Errorf("%s: %d x %d, %d frames in %d bytes, %v", a.file, head.Width, head.Height, frames, len(data), err)
		}
		if still := stills(t, data); len(still) < 6 || !slices.Contains(still[2:], still[0]) {
			t.Errorf("%s: its first picture does not come again as a still one: %s", a.file, still)
		}
		readme, err := os.ReadFile(filepath.Join("..", "..", a.readme))
		if err != nil || !strings.Contains(string(readme), "](docs/"+a.file+")") {
			t.Errorf("%s does not show %s: %v", a.readme, a.file, err)
		}
	}
	if *makePictures && !t.Failed() {
		recordPlaygroundSum(t, "films")
	}
}

// stills are the pictures of an animation that stand for more than a second, each as the checksum of its pixels. All are
// drawn over the one before.
func stills(t *testing.T, animation []byte) (sums []string) {
	t.Helper()
	const signature, ofChunk = 8, 12 // bytes
	var palette, box []byte
	var canvas *image.RGBA
	shown := 0
	draws := func(data []byte) {
		var b bytes.Buffer
		chunk := func(kind string, data []byte) {
			b.Write(numbers.BigEndian.AppendUint32(nil, uint32(len(data))))
			b.WriteString(kind)
			b.Write(data)
			b.Write(numbers.BigEndian.AppendUint32(nil, crc32.Update(crc32.ChecksumIEEE([]byte(kind)), crc32.IEEETable, data)))
		}
		b.Write(animation[:signature])
		chunk("IHDR", append(bytes.Clone(box[4:12]), 8, 3, 0, 0, 0))
		b.Write(palette)
		chunk("IDAT", data)
		chunk("IEND", nil)
		m, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if canvas == nil {
			canvas = image.NewRGBA(m.Bounds())
		}
		at := image.Pt(int(numbers.BigEndian.Uint32(box[12:])), int(numbers.BigEndian.Uint32(box[16:])))
		draw.Draw(canvas, m.Bounds().Add(at), m, image.Point{}, draw.Over)
		if shown > 1000 {
			sums = append(sums, fmt.Sprintf("%08x", crc32.ChecksumIEEE(canvas.Pix)))
		}
	}
	for rest := animation[signature:]; len(rest) >= ofChunk; {
		n := int(numbers.BigEndian.Uint32(rest))
		kind, data, whole := string(rest[4:8]), rest[8:8+n], rest[:n+ofChunk]
		switch kind {
		case "PLTE", "tRNS":
			palette = append(palette, whole...)
		case "fcTL":
			box, shown = data, int(numbers.BigEndian.Uint16(data[20:]))
		case "IDAT":
			draws(data)
		case "fdAT":
			draws(data[4:])
		}
		rest = rest[len(whole):]
	}
	return sums
}

// camera films a page.
type camera struct {
	*consoletest.Browser
	t      *testing.T
	frames []consoletest.Frame
}

// The timing of a film: how often the page is captured, and how long a frame lasts at most, so that a slow machine
// makes no long pauses.
const (
	lookEvery  = 250 * time.Millisecond
	showAtMost = 300 * time.Millisecond
)

// shoot adds a frame that is shown for a while; if nothing changed, the previous frame lasts longer.
func (c *camera) shoot(shown time.Duration) {
	m, err := png.Decode(bytes.NewReader(c.Picture("body")))
	if err != nil {
		c.t.Fatal(err)
	}
	c.frames = append(c.frames, consoletest.Frame{Picture: m, Shown: shown})
}

// until films until a JavaScript expression is true.
func (c *camera) until(expression string) {
	for began := time.Now(); ; {
		look := time.Now()
		c.shoot(0)
		here := c.Eval(`(() => { try { return Boolean(` + expression + `) } catch { return false } })()`)
		time.Sleep(max(0, lookEvery-time.Since(look))) // the frame rate
		c.frames[len(c.frames)-1].Shown = min(time.Since(look), showAtMost)
		if here == "true" {
			return
		}
		if time.Since(began) > patience {
			c.t.Fatalf("until %s", expression)
		}
	}
}

func (c *camera) step(step, act int) {
	c.until(fmt.Sprintf(`document.querySelector('#tour[data-step="%d"][data-act="%d"]')`, step, act))
}

// film takes the first four steps of the tour.
func film(t *testing.T, language string) []byte {
	bin := binary(t)
	c := &camera{t: t, Browser: consoletest.BrowseIn(t, startPlayground(t, bin, t.TempDir(), "--pace", "50ms"), language)}
	c.Screen(1200, 720, "light")
	c.Until(`document.querySelector('#bridge[data-state=up]') && document.querySelector('#tour[data-step="1"]')`)
	c.shoot(1500 * time.Millisecond)
	act(c.Browser)
	c.step(2, 1)
	c.until(`document.querySelector('.card .put')`)
	c.shoot(2 * time.Second)
	allow(c.Browser, "price.sh")
	c.until(`[...document.querySelectorAll('.card:has(` + allowButton + `)')].at(-1).textContent.includes('sh test.sh')`)
	c.shoot(1500 * time.Millisecond)
	allow(c.Browser, "sh test.sh")
	c.step(3, 1)
	c.shoot(2 * time.Second)
	act(c.Browser) // the session is lost
	c.step(3, 2)
	c.shoot(1500 * time.Millisecond)
	act(c.Browser)
	c.step(4, 1)
	c.shoot(4 * time.Second)
	healed := consoletest.Frame{Picture: c.frames[len(c.frames)-1].Picture, Shown: 2 * time.Second}
	c.frames = slices.Insert(c.frames, 0, healed)
	act(c.Browser) // a story
	c.step(4, 2)
	c.until(lastCard + `.textContent.length > 240`)
	act(c.Browser) // the bridge is killed
	c.until(`document.querySelector('#tour[data-step="4"][data-act="3"], #tour[data-step="5"]')`)
	c.shoot(2 * time.Second)
	if c.Eval(`document.querySelector('#tour').dataset.step`) == "4" {
		act(c.Browser)
	}
	c.step(5, 1)
	c.shoot(4 * time.Second)
	c.RefuteComplaints()
	data, err := consoletest.Animate(c.merged())
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// merged joins consecutive frames that are equal.
func (c *camera) merged() (out []consoletest.Frame) {
	var last []byte
	for _, f := range c.frames {
		var b bytes.Buffer
		if err := png.Encode(&b, f.Picture); err != nil {
			c.t.Fatal(err)
		}
		if bytes.Equal(b.Bytes(), last) {
			out[len(out)-1].Shown += f.Shown
			continue
		}
		last = b.Bytes()
		out = append(out, f)
	}
	return out
}
