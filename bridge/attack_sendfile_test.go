package bridge

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"magpie/internal/agenttools"
)

// sendAttacks are paths by which an agent tries to show people what is none of their chat's business. All lie about the
// folders that layForSending makes; {base} is the one above the project. why is a part of what the agent is told.
var sendAttacks = []struct{ name, path, why string }{
	{"a file above the project", "../secret", outside},
	{"a file above, by a folder of the project", "sub/../../secret", outside},
	{"an absolute path", "{base}/secret", outside},
	{"a folder whose name begins alike", "../project-2/near", outside},
	{"a file of the system", "/etc/passwd", outside},
	{"a file of the home", "~/secret", "no file"}, // the home of nobody: no shell reads the path
	{"the environment of the bridge", "/proc/self/environ", outside},
	{"the root by way of the process", "/proc/self/root/etc/passwd", outside},
	{"an address", "file:///etc/passwd", "no file"},
	{"a link to a file outside", "out", outside},
	{"a link to a folder outside", "up/secret", outside},
	{"a link to a link to a file outside", "again", outside},
	{"a link to the environment of the bridge", "environ", outside},
	{"a link to an open file of the bridge", "fd", outside},
	{"a link to a device", "zero", outside},
	{"a link to itself", "loop", "no file"},
	{"the bridge's database", "data/magpie.db", own},
	{"the bridge's database, by a link", "d/magpie.db-wal", own},
	{"the bridge's configuration", "magpie.toml", own},
	{"the configuration by its other name", "hard", own},
	{"a file that another chat has sent", "data/files/another/1-1-a.txt", own},
	{"a file that goes out to another chat", "data/outgoing/copy", own},
	{"a pipe that nobody writes to", "pipe", "no usual file"},
	{"a socket", "socket", "no usual file"},
	{"a name with a zero byte", "a.txt\x00.png", "no file"},
}

const (
	outside = "only files of the project folder can be sent"
	own     = "belongs to the bridge itself"
)

// layForSending makes a project with what an agent may put into it, and gives the folder above it.
func layForSending(t *testing.T) (base string) {
	t.Helper()
	base = t.TempDir()
	project := filepath.Join(base, "project")
	for _, name := range []string{
		"secret", "project-2/near", "project/magpie.toml", "project/data/magpie.db", "project/data/magpie.db-wal",
		"project/data/files/another/1-1-a.txt", "project/data/outgoing/copy",
	} {
		mustWrite(t, filepath.Join(base, name), []byte("canary"))
	}
	mustWrite(t, filepath.Join(project, "a.txt"), []byte("words"))
	mustWrite(t, filepath.Join(project, "sub", "f"), []byte("words"))
	for name, to := range map[string]string{
		"out": "../secret", "up": base, "again": "out", "environ": "/proc/self/environ", "fd": "/proc/self/fd/0",
		"zero": "/dev/zero", "loop": "loop", "d": "data",
	} {
		mustLink(t, to, filepath.Join(project, name))
	}
	err := errors.Join(
		os.Link(filepath.Join(project, "magpie.toml"), filepath.Join(project, "hard")),
		syscall.Mkfifo(filepath.Join(project, "pipe"), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(project) // the name of a socket is short
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return base
}

// TestAttackSendFilePaths has the agent of a turn send each path by its tool. It is told why not, without a word of
// what the file says; nothing is copied, uploaded, shown or stored.
func TestAttackSendFilePaths(t *testing.T) {
	const rows = 25
	if len(sendAttacks) != rows {
		t.Fatalf("%d paths, want %d", len(sendAttacks), rows)
	}
	s := newStudio(t)
	base := layForSending(t)
	s.project = filepath.Join(base, "project")
	data := filepath.Join(s.project, "data")
	s.dir = filepath.Join(data, "outgoing")
	private := []string{data, filepath.Join(s.project, "magpie.toml")}
	s.bridge.outbox.fileDelivery.copies = fileSpool{dir: s.dir, private: private}
	s.begin("om_1")
	for _, tc := range sendAttacks {
		t.Run(tc.name, func(t *testing.T) {
			path := strings.Replace(tc.path, "{base}", base, 1)
			got, err := s.send(path, "look")
			var refused *agenttools.RefusedError
			if got != "" || !errors.As(err, &refused) || !strings.Contains(refused.Reason, tc.why) {
				t.Errorf("%q, %v", got, err)
			} else if strings.Contains(refused.Reason, "canary") {
				t.Errorf("it tells what the file says: %s", refused.Reason)
			}
			if n := s.copies(); n != 1 {
				t.Errorf("%d copies, want the one that was there", n)
			}
		})
	}
	if n := s.count(`SELECT (SELECT COUNT(*) FROM outbox) + (SELECT COUNT(*) FROM parcels)`); n != 0 {
		t.Errorf("%d rows are stored", n)
	}
	if up, shown := s.out.taken(), s.out.got(); len(up) != 0 || len(shown) != 0 {
		t.Errorf("uploaded %d, shown %v", len(up), shown)
	}
}

// TestAttackSendFileSwaps has an agent swap what is sent for a link to something else, again and again, while it is
// sent: only what really lies in the project is ever taken.
func TestAttackSendFileSwaps(t *testing.T) {
	for name, tc := range map[string]struct{ swapped, to string }{
		"a folder for a private one":          {"sub", "project/data/outgoing"},
		"a folder for one outside":            {"sub", "outside"},
		"a file for one outside":              {"sub/f", "secret"},
		"a file for a private one":            {"sub/f", "project/magpie.toml"},
		"a file for a pipe that nobody fills": {"sub/f", "project/pipe"},
	} {
		t.Run(name, func(t *testing.T) {
			base := layForSending(t)
			project := filepath.Join(base, "project")
			mustWrite(t, filepath.Join(project, "data", "outgoing", "f"), []byte("canary"))
			mustWrite(t, filepath.Join(base, "outside", "f"), []byte("canary"))
			private := []string{filepath.Join(project, "data"), filepath.Join(project, "magpie.toml")}
			o := fileSpool{dir: filepath.Join(base, "out"), private: private}
			defer swap(filepath.Join(project, tc.swapped), filepath.Join(base, tc.to))()
			taken, end := 0, time.Now().Add(time.Minute)
			// Whoever swaps may stop for a while when it is a link.
			for i := 0; i < 1000 || taken == 0 && time.Now().Before(end); i++ {
				c, err := o.take(project, "sub/f")
				if err != nil {
					continue
				}
				taken++
				if got, err := os.ReadFile(o.path(c.name)); err != nil || string(got) != "words" {
					t.Fatalf("took %q, %v", got, err)
				}
				o.drop(c.name)
			}
			if taken == 0 {
				t.Error("nothing was ever taken")
			}
		})
	}
}

// swap puts a link in the place of something and takes it away, until stop.
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
