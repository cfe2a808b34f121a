package delivery

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/bridge/delivery/deliverytest"
	"magpie/internal/agenttools"
)

// Only files whose real path is in the project are sent.
func TestOnlyFilesOfTheProjectAreTaken(t *testing.T) {
	base := t.TempDir()
	project, data := filepath.Join(base, "project"), filepath.Join(base, "project", "data")
	secret := deliverytest.WriteFile(t, filepath.Join(base, "secret"), []byte("secret"))
	deliverytest.WriteFile(t, filepath.Join(base, "project-2", "near"), []byte("secret"))
	deliverytest.WriteFile(t, filepath.Join(project, "a.txt"), []byte("words"))
	deliverytest.WriteFile(t, filepath.Join(project, "sub", "b.txt"), []byte("more words"))
	deliverytest.WriteFile(t, filepath.Join(project, "..c", "..d"), []byte("odd"))
	deliverytest.WriteFile(t, filepath.Join(project, "empty"), nil)
	deliverytest.WriteFile(t, filepath.Join(data, "magpie.db"), []byte("secret"))
	config := deliverytest.WriteFile(t, filepath.Join(project, "magpie.toml"), []byte("secret"))
	deliverytest.Link(t, "sub/b.txt", filepath.Join(project, "link"))
	deliverytest.Link(t, filepath.Join(project, "sub"), filepath.Join(project, "far"))
	deliverytest.Link(t, secret, filepath.Join(project, "out"))
	deliverytest.Link(t, "../secret", filepath.Join(project, "out2"))
	deliverytest.Link(t, base, filepath.Join(project, "up"))
	deliverytest.Link(t, "data", filepath.Join(project, "d"))
	deliverytest.Link(t, "loop", filepath.Join(project, "loop"))
	deliverytest.Link(t, project, filepath.Join(base, "alias"))
	theirs := deliverytest.WriteFile(t, filepath.Join(data, "files", "of another chat", "7-1-plan.pdf"), []byte("secret"))
	deliverytest.WriteFile(t, filepath.Join(project, "twice"), []byte("words"))
	if err := errors.Join(os.Link(theirs, filepath.Join(project, "hard2")),
		os.Link(theirs, filepath.Join(project, "sub", "plan.pdf")),
		os.Link(filepath.Join(data, "magpie.db"), filepath.Join(project, "notes.txt")),
		os.Link(filepath.Join(project, "twice"), filepath.Join(base, "elsewhere"))); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Link(config, filepath.Join(project, "hard")),
		syscall.Mkfifo(filepath.Join(project, "pipe"), 0o600)); err != nil {
		t.Fatal(err)
	}
	o := Spool{Dir: filepath.Join(data, "outgoing"), Private: []string{data, config, filepath.Join(base, "nothing")}}
	for path, want := range map[string]string{
		"a.txt": "words", "./sub/../a.txt": "words", "sub/b.txt": "more words", "link": "more words",
		"far/b.txt": "more words", "..c/..d": "odd", "twice": "words",
		filepath.Join(project, "a.txt"): "words", filepath.Join(base, "alias", "a.txt"): "words",
	} {
		from := project
		if strings.Contains(path, "alias") {
			from = filepath.Join(base, "alias")
		}
		c, err := o.copyIn(from, path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		got, err := os.ReadFile(o.path(c.name))
		if err != nil || string(got) != want || c.size != int64(len(want)) || c.picture {
			t.Errorf("%s: %q, %+v, %v", path, got, c, err)
		}
	}
	copies, err := os.ReadDir(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for path, why := range map[string]string{
		"../secret": "project folder", "sub/../../secret": "project folder", secret: "project folder",
		"/etc/passwd":       "project folder",
		"../project-2/near": "project folder", filepath.Join(base, "project-2", "near"): "project folder",
		"/proc/self/environ": "project folder",
		"out":                "project folder", "out2": "project folder", "up/secret": "project folder",
		"up/project/a.txt": "",
		"data/magpie.db":   "never sent", "d/magpie.db": "never sent", "magpie.toml": "never sent", "hard": "never sent",
		"hard2": "never sent", "sub/plan.pdf": "never sent", "far/plan.pdf": "never sent", "notes.txt": "never sent",
		"data/outgoing/" + copies[0].Name(): "never sent",
		"":                                  "project folder", ".": "project folder", "sub": "no usual file",
		"pipe": "no usual file", "/dev/zero": "project folder",
		"nosuch": "no file", "a.txt/b": "no file", "loop": "no file", "a.txt\x00.png": "no file",
		"~/.ssh/id_rsa": "no file", "empty": "empty",
	} {
		c, err := o.copyIn(project, path)
		var refused *agenttools.RefusedError
		if why == "" { // a detour that ends in the project
			if err != nil {
				t.Errorf("%q: %v", path, err)
			}
			continue
		}
		if !errors.As(err, &refused) || !strings.Contains(refused.Reason, why) {
			t.Errorf("%q: %+v, %v", path, c, err)
		}
	}
	for _, e := range copies {
		if info, err := e.Info(); err != nil || info.Mode() != 0o600 {
			t.Errorf("copy %v, %v", info, err)
		}
	}
}

// A project may lie in the program's own folder. A file with two names inside the project may be sent.
func TestAFileWithTwoNamesInAProjectWithinTheData(t *testing.T) {
	data := t.TempDir()
	project := filepath.Join(data, "projects", "a")
	first := deliverytest.WriteFile(t, filepath.Join(project, "a.txt"), []byte("words"))
	theirs := deliverytest.WriteFile(t, filepath.Join(data, "files", "b.txt"), []byte("secret"))
	err := errors.Join(os.Link(first, filepath.Join(project, "b.txt")), os.Link(theirs, filepath.Join(project, "c.txt")))
	if err != nil {
		t.Fatal(err)
	}
	o := Spool{Dir: filepath.Join(data, "outgoing"), Private: []string{data}}
	for _, name := range []string{"a.txt", "b.txt"} {
		if _, err := o.copyIn(project, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var refused *agenttools.RefusedError
	if _, err := o.copyIn(project, "c.txt"); !errors.As(err, &refused) ||
		!strings.Contains(refused.Reason, "never sent") {
		t.Errorf("a file of another chat: %v", err)
	}
}

func TestPicturesAreKnownByTheirContent(t *testing.T) {
	project := t.TempDir()
	o := Spool{Dir: t.TempDir()}
	dots := deliverytest.Picture(t)
	for name, tt := range map[string]struct {
		data    []byte
		picture bool
	}{
		"plot": {dots, true}, "plot.txt": {dots, true}, "words.png": {[]byte("words"), false},
		"drawing.svg": {[]byte("<svg/>"), false},
		"big.png":     {append(bytes.Clone(dots), make([]byte, maxPicture)...), false},
	} {
		deliverytest.WriteFile(t, filepath.Join(project, name), tt.data)
		if c, err := o.copyIn(project, name); err != nil || c.picture != tt.picture {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	huge, err := os.Create(filepath.Join(project, "huge"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(huge.Truncate(maxFile+1), huge.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := o.copyIn(project, "huge"); err == nil || !strings.Contains(err.Error(), "30 MB") {
		t.Errorf("huge: %v", err)
	}
	needed, err := o.copyIn(project, "plot")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.sweep([]string{needed.name}); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(o.Dir); err != nil || len(left) != 1 || left[0].Name() != needed.name {
		t.Errorf("left %v, %v", left, err)
	}
	if err := (Spool{Dir: filepath.Join(project, "none")}).sweep(nil); err != nil {
		t.Errorf("a missing folder: %v", err)
	}
}
