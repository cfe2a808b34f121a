package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/door/api"
)

// A process of another user, who says something at the socket in this folder.
const foreignerEnv = "MAGPIE_TEST_FOREIGNER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(foreignerEnv); folder != "" && os.Getpid() == 1 {
		fmt.Println(seenInContainer(folder))
		return
	} else if folder != "" {
		fmt.Println(sayAsForeigner(folder))
		return
	}
	os.Exit(m.Run())
}

func sayAsForeigner(folder string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	c, err := Dial(ctx, folder, Main)
	if err != nil {
		return err
	}
	said := c.Say(ctx, "1", "hello")
	return errors.Join(said, c.Events(ctx, func(api.Event) {}, func(bool) { stop() }))
}

// seenInContainer is as which process the service sees this one.
func seenInContainer(folder string) (p Peer, err error) {
	c, err := Dial(context.Background(), folder, Main)
	if err != nil {
		return p, err
	}
	return p, c.Call(context.Background(), http.MethodGet, "peer", nil, &p)
}

// A process says nothing of its own number, which can be another one where it runs.
func TestTheKernelSaysWhichProcessThereIs(t *testing.T) {
	r := newRig(t)
	r.kill()
	r.also = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = json.NewEncoder(w).Encode(PeerOf(r)) })
	r.start()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", "--user", "--map-root-user", "--pid", "--fork", self)
	cmd.Env = []string{foreignerEnv + "=" + r.folder}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("no namespaces here: %v: %s", err, out)
	}
	var p Peer
	if _, err := fmt.Sscanf(string(out), "{%d %d} <nil>", &p.UID, &p.PID); err != nil || p.PID <= 1 || p.UID != os.Geteuid() {
		t.Errorf("the first process of a container is seen as %s", out)
	}
}

// Another user of the machine is refused by the kernel while the folder is closed, and by the service if somebody has
// opened it.
func TestAnotherUserIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run programs as other users")
	}
	r := newRig(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	must(err)
	program := filepath.Join(filepath.Dir(r.folder), "foreigner")
	must(exec.Command("cp", self, program).Run())
	must(os.Chmod(filepath.Dir(r.folder), 0o755))
	says := func(uid uint32) string {
		t.Helper()
		cmd := exec.Command(program)
		cmd.Dir, cmd.Env = "/", []string{foreignerEnv + "=" + r.folder}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := says(65534); !strings.Contains(got, "permission denied") {
		t.Errorf("with a closed folder the foreigner gets %q", got)
	}
	must(os.Chmod(r.folder, 0o755))
	must(os.Chmod(SocketPath(r.folder), 0o666))
	if got := says(65534); strings.Count(got, "refused: the socket belongs to another user") != 2 {
		t.Errorf("with an open folder the foreigner gets %q", got)
	}
	if list := r.h.arrived(); len(list) != 0 {
		t.Fatalf("arrived: %+v", list)
	}
	if got := says(0); len(r.h.arrived()) != 1 {
		t.Errorf("root gets %q, and %+v arrives", got, r.h.arrived())
	}
}
