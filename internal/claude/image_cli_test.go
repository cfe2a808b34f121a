package claude_test

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/stream"
	"magpie/internal/modelsim"
)

// smallPicture is the file of a picture of 40 x 20 pixels.
func smallPicture(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewRGBA(image.Rect(0, 0, 40, 20))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// shownIn runs a turn with a picture and returns the blocks that reached the model.
func shownIn(r *rig, file []byte) []gjson.Result {
	r.Helper()
	picture, err := stream.NewImage(file)
	if err != nil {
		r.Fatal(err)
	}
	spec := fresh()
	spec.Dir, spec.Mode = r.cfg.Project, "default"
	p, err := r.pool.Acquire(r.Context(), "a", spec)
	if err != nil {
		r.Fatal(err)
	}
	defer r.pool.Release(p)
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
	small := smallPicture(t)
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
