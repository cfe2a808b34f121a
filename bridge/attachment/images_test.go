package attachment

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"magpie/internal/chat"
)

// An agent runs as the same user and may replace a stored file with anything.
func TestALinkInPlaceOfAPictureIsNotRead(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	fs := Store{Config: Config{Folder: folder}}
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))); err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(folder, "chat", name) }
	must(os.Mkdir(filepath.Join(folder, "chat"), 0o700))
	must(os.WriteFile(at("picture.png"), b.Bytes(), 0o600))
	must(os.WriteFile(at("notes.txt"), []byte("words"), 0o600))
	must(os.WriteFile(filepath.Join(elsewhere, "own.png"), b.Bytes(), 0o600))
	must(os.Symlink("/dev/zero", at("endless.png")))
	must(os.Symlink(filepath.Join(elsewhere, "own.png"), at("link.png")))
	must(os.Symlink(elsewhere, at("folder")))
	must(os.Mkdir(at("a.png"), 0o700))
	must(syscall.Mkfifo(at("pipe.png"), 0o600))

	m := chat.Message{}
	for _, name := range []string{"picture.png", "notes.txt", "endless.png", "link.png", "folder/own.png", "a.png",
		"pipe.png", "gone.png", "../../own.png"} {
		m.Files = append(m.Files, chat.File{Kind: chat.Picture, State: chat.Here, Path: filepath.Join("chat", name)})
	}
	if got := fs.Images([]chat.Message{m}); len(got) != 1 {
		t.Errorf("%d pictures are shown", len(got))
	}
	for i, f := range m.Files {
		if here := f.State == chat.Here; here != (i < 2) || f.Shown != (i == 0) {
			t.Errorf("%s: %v, shown %v", f.Path, f.State, f.Shown)
		}
	}
}
