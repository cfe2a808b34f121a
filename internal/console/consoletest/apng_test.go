package consoletest

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"testing"
	"time"
)

// Without support for animations, the first frame is an ordinary PNG. The others contain what changed.
func TestAnimate(t *testing.T) {
	grey, red := color.RGBA{200, 200, 200, 255}, color.RGBA{250, 10, 10, 255}
	first := image.NewRGBA(image.Rect(0, 0, 300, 200))
	draw.Draw(first, first.Bounds(), image.NewUniform(grey), image.Point{}, draw.Src)
	second := image.NewRGBA(first.Bounds())
	draw.Draw(second, second.Bounds(), first, image.Point{}, draw.Src)
	second.Set(40, 50, red)
	data, err := Animate([]Frame{{first, time.Second}, {second, 300 * time.Millisecond}, {second, time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	if got := rgba(m.At(40, 50)); m.Bounds() != first.Bounds() || got != grey {
		t.Errorf("the first frame is %v, with %v", m.Bounds(), got)
	}
	if n := bytes.Count(data, []byte("fcTL")); n != 3 {
		t.Errorf("%d frames", n)
	}
	// a frame of one pixel at 40, 50, shown for 300 ms
	want := []byte("fcTL\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x28\x00\x00\x00\x32\x01\x2c")
	if !bytes.Contains(data, want) {
		t.Errorf("no frame with the change in % x", data)
	}
	if _, err := Animate(nil); err == nil {
		t.Error("an animation without frames")
	}
}
