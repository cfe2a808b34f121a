package delivery

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"magpie/bridge/delivery/deliverytest"
)

// TestAttackSendFileSwaps has an agent replace the file with a link again and again while it is being sent: only real
// files of the project may be read.
func TestAttackSendFileSwaps(t *testing.T) {
	for name, tc := range map[string]struct{ swapped, to string }{
		"a folder for a private one":          {"sub", "project/data/outgoing"},
		"a folder for one outside":            {"sub", "outside"},
		"a file for one outside":              {"sub/f", "secret"},
		"a file for a private one":            {"sub/f", "project/magpie.toml"},
		"a file for a pipe that nobody fills": {"sub/f", "project/pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			base := deliverytest.HostileProject(t)
			project := filepath.Join(base, "project")
			deliverytest.WriteFile(t, filepath.Join(project, "data", "outgoing", "f"), []byte("canary"))
			deliverytest.WriteFile(t, filepath.Join(base, "outside", "f"), []byte("canary"))
			private := []string{filepath.Join(project, "data"), filepath.Join(project, "magpie.toml")}
			o := Spool{Dir: filepath.Join(base, "out"), Private: private}
			defer swap(filepath.Join(project, tc.swapped), filepath.Join(base, tc.to))()
			taken, end := 0, time.Now().Add(time.Minute)
			// the swapping goroutine may pause while it is a link
			for i := 0; i < 1000 || taken == 0 && time.Now().Before(end); i++ {
				c, err := o.copyIn(project, "sub/f")
				if err != nil {
					continue
				}
				taken++
				if got, err := os.ReadFile(o.path(c.name)); err != nil || string(got) != "words" {
					t.Fatalf("took %q, %v", got, err)
				}
				o.remove(c.name)
			}
			if taken == 0 {
				t.Error("no file was ever read")
			}
		})
	}
}

// swap replaces something with a link and back, until stop.
func swap(path, to string) (stop func()) {
	done := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				aside := path + "-aside"
				_ = errors.Join(os.Rename(path, aside), os.Symlink(to, path), os.Remove(path), os.Rename(aside, path))
			}
		}
	})
	return func() { close(done); swapping.Wait() }
}
