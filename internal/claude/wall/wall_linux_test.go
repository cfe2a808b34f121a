package wall_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/claude/wall"
)

const canary = "CANARY-4711"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// keeper is the variable with a plan: the test binary, started with it, runs a script behind that wall.
const keeper = "MAGPIE_TEST_KEEPER"

// order is what the test binary does as the keeper of a wall.
type order struct {
	Plan wall.Plan
	Dir  string
	Args []string
	User int // whom the script runs as; 0 = as the keeper
}

func TestMain(m *testing.M) {
	text := os.Getenv(keeper)
	if text == "" {
		os.Exit(m.Run())
	}
	var o order
	if err := errors.Join(json.Unmarshal([]byte(text), &o), os.Unsetenv(keeper)); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	out, err := o.run()
	fmt.Print(out)
	if err != nil {
		fmt.Println("ERROR", err)
	}
	os.Exit(0)
}

// run runs the order, and returns what the script has printed.
func (o order) run() (string, error) { return o.runBehind(&o.Plan) }

func (o order) runBehind(plan *wall.Plan) (string, error) {
	cmd := exec.Command(o.Args[0], o.Args[1:]...)
	cmd.Dir = o.Dir
	if o.User != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(o.User), Gid: uint32(o.User), Groups: []uint32{uint32(o.User)}},
		}
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	gate, err := plan.Apply(cmd)
	if err != nil {
		return "", err
	}
	if err := gate.Start(); err != nil {
		gate.Close()
		return "", err
	}
	if err := gate.Open(); err != nil {
		_ = cmd.Wait()
		return out.String(), err
	}
	var ended *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &ended) {
		return "", err
	}
	return out.String(), nil
}

// ordinary is a user of this machine who is not root, and agent one whom a service runs its agents as.
const (
	ordinary = 65534
	agent    = 1
)

// keepers are the users by whom walls are built, and for whom. A test that is not root tests its own.
func keepers(t *testing.T, test func(t *testing.T, dir string, run func(o order) string)) {
	own := func(o order) string {
		out, err := o.run()
		must(t, err)
		return out
	}
	if os.Geteuid() != 0 {
		test(t, shared(t, os.Geteuid()), own)
		return
	}
	binary := filepath.Join(shared(t, 0), "keeper")
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(binary, self, 0o755))
	as := func(wrapper []string, user int) func(o order) string {
		return func(o order) string {
			o.User = user
			text, err := json.Marshal(o)
			must(t, err)
			args := append(wrapper, binary)
			cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
			cmd.Env = append(os.Environ(), keeper+"="+string(text))
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			return string(out)
		}
	}
	become := func(user int, caps string) []string {
		id := strconv.Itoa(user)
		return []string{
			"setpriv", "--reuid=" + id, "--regid=" + id, "--groups=" + id, "--bounding-set=-all" + caps,
			"--inh-caps=-all" + caps, "--ambient-caps=-all" + caps, "--no-new-privs", "--",
		}
	}
	t.Run("root", func(t *testing.T) { test(t, shared(t, 0), own) })
	t.Run("root for another user", func(t *testing.T) { test(t, shared(t, agent), as(nil, agent)) })
	t.Run("an ordinary user", func(t *testing.T) { test(t, shared(t, ordinary), as(become(ordinary, ""), 0)) })
	t.Run("a service for another user", func(t *testing.T) {
		caps := ",+setuid,+setgid,+kill,+sys_ptrace,+dac_read_search"
		test(t, shared(t, agent), as(become(ordinary, caps), agent))
	})
}

// shared is a folder of that user, in which everybody can reach the files that they may read.
func shared(t *testing.T, user int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "magpie-wall-test-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, errors.Join(os.Chmod(dir, 0o755), os.Chown(dir, user, -1)))
	return dir
}

// write writes a file that anybody may read, so that nothing but the wall protects it.
func write(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o777))
	must(t, os.WriteFile(path, []byte(text), 0o666))
	// whatever the umask is
	for ; !strings.HasPrefix(filepath.Base(path), "magpie-wall-test-"); path = filepath.Dir(path) {
		info, err := os.Stat(path)
		must(t, err)
		must(t, os.Chmod(path, info.Mode()|0o666))
	}
}

// look tries to read what is hidden, and to get the wall out of the way. Its arguments are the hidden folder, the hidden
// file, and the ID of a process outside.
const look = `data=$1 conf=$2 outside=$3
found() { grep -l CANARY-4711 "$@" 2>/dev/null | sed 's/^/FOUND /'; }
try() { "$@" >/dev/null 2>&1 && echo "COULD $*"; }
all() {
	found "$data"/magpie.db "$data"/files/*/* "$conf" ../data/magpie.db link/magpie.db "$data"/later
	diff --from-file="$conf" x | grep CANARY
	echo "$data"/* "$data"/*/*
	for p in "$outside" $PPID 1; do
		found /proc/$p/root"$conf" /proc/$p/cwd/magpie.toml /proc/$p/root"$data"/magpie.db /proc/$p/environ
		for f in /proc/$p/fd/*; do try head -c 1 $f; done
		try nsenter -t $p -m true
	done
}
all
[ "$4" = harmless ] && exit
try umount "$data"; try umount -l "$conf"; try umount -l /; try mount -t tmpfs none /mnt; try mount --bind / /mnt
try mount -o remount,rw "$data"; try touch "$data"/x; try mv "$conf" "$conf".old; try rm -f "$conf"
mkdir -p moved; try mv "$data" moved/data
all
export data conf outside
unshare -Urm sh -c 'umount -l "$0"; umount -l "$1"; cat "$0"/magpie.db "$1"' "$data" "$conf" 2>/dev/null
unshare -Urm sh -c 'mkdir m; mount --bind / m; cat m"$0"/magpie.db m"$1"; mount --rbind / m; umount -l m"$0"; cat m"$0"/magpie.db' \
	"$data" "$conf" 2>/dev/null
grep -E '^(CapPrm|NoNewPrivs)' /proc/self/status
cat "$data"/own/mine; echo made >"$data"/own/made; cat project.txt; pwd
echo over`

// Nothing that runs behind the wall sees what is hidden, or gets the wall out of the way.
func TestAttackTheWall(t *testing.T) {
	keepers(t, func(t *testing.T, dir string, run func(o order) string) {
		for name, text := range map[string]string{
			"data/magpie.db": canary, "data/files/other/a.txt": canary, "data/own/mine": "mine\n",
			"magpie.toml": canary, "work/project.txt": "project\n", "work/x": "x",
		} {
			write(t, filepath.Join(dir, name), text)
		}
		must(t, os.Symlink(filepath.Join(dir, "data"), filepath.Join(dir, "work/link")))
		data, conf := filepath.Join(dir, "data"), filepath.Join(dir, "magpie.toml")
		outside := exec.Command("sleep", "600")
		outside.Dir, outside.Env = dir, []string{"SECRET=" + canary}
		f, err := os.Open(conf)
		must(t, err)
		outside.ExtraFiles = []*os.File{f}
		if info, err := os.Stat(dir); err == nil && os.Geteuid() == 0 {
			id := info.Sys().(*syscall.Stat_t).Uid
			outside.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
		}
		must(t, outside.Start())
		t.Cleanup(func() { _, _ = outside.Process.Kill(), outside.Wait() })
		o := order{
			Dir:  filepath.Join(dir, "work"),
			Args: []string{"/bin/sh", "-c", look, "sh", data, conf, strconv.Itoa(outside.Process.Pid)},
		}
		if out := run(order{Dir: o.Dir, Args: append(o.Args, "harmless")}); strings.Count(out, "FOUND") < 5 {
			t.Errorf("without anything hidden it finds too little:\n%s", out)
		}
		o.Plan = wall.Plan{Hide: []string{data, conf}, Show: []string{filepath.Join(dir, "data/own"), o.Dir}}
		out := run(o)
		rest := regexp.MustCompile(`CapPrm:\s+\w+`).ReplaceAllString(out, "CapPrm")
		own := data + "/own"
		want := fmt.Sprintf("%[1]s %[1]s/mine\n%[1]s %[1]s/mine\nCapPrm\nNoNewPrivs:\t1\nmine\nproject\n%s\nover\n", own, o.Dir)
		if rest != want {
			t.Errorf("got\n%s\nwant\n%s", out, want)
		}
		if made, err := os.ReadFile(own + "/made"); string(made) != "made\n" {
			t.Errorf("what it writes to its own folder is not there: %q %v", made, err)
		}
	})
}

// The start of a process with the wall and without it; the difference is what a wall costs.
func BenchmarkStart(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	must(b, err)
	p := wall.Plan{Hide: []string{filepath.Join(dir, "data")}, Show: []string{filepath.Join(dir, "data", "own")}}
	must(b, os.MkdirAll(p.Show[0], 0o700))
	for name, start := range map[string]func() error{
		"alone": func() error { return exec.Command("/bin/true").Run() },
		"wall":  func() error { _, err := order{Plan: p, Dir: dir, Args: []string{"/bin/true"}}.run(); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				must(b, start())
			}
		})
	}
}

// A file that takes the place of a hidden one, or appears where there was none, is seen from behind the wall: the plan
// tells.
func TestAPlanHoldsUntilAFileIsReplaced(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	conf, later, data := filepath.Join(dir, "conf"), filepath.Join(dir, "later"), filepath.Join(dir, "data")
	must(t, errors.Join(os.WriteFile(conf, nil, 0o600), os.Mkdir(data, 0o700)))
	for name, change := range map[string]func() error{
		"":         func() error { return os.WriteFile(filepath.Join(data, "x"), nil, 0o600) },
		"written":  func() error { return os.WriteFile(conf, []byte("x"), 0o600) },
		"replaced": func() error { return errors.Join(os.WriteFile(conf+".new", nil, 0o600), os.Rename(conf+".new", conf)) },
		"created":  func() error { return os.WriteFile(later, nil, 0o600) },
		"gone":     func() error { return os.RemoveAll(data) },
	} {
		p := wall.Plan{Hide: []string{conf, later, data}}
		_, err := order{Dir: dir, Args: []string{"/bin/true"}}.runBehind(&p)
		must(t, errors.Join(err, change()))
		if holds, want := p.Holds(), name == "" || name == "written"; holds != want {
			t.Errorf("%s: %v", name, holds)
		}
		must(t, errors.Join(os.MkdirAll(data, 0o700), os.RemoveAll(later)))
	}
}

// Behind the wall a program inherits what it would inherit without one.
func TestWhatAProgramInherits(t *testing.T) {
	const look = `grep -E "^(Sig(Blk|Ign|Cgt)|Groups|Seccomp|Threads)" /proc/self/status; ulimit -a; umask; ls /proc/self/fd
		[ "$(cut -d " " -f 5 /proc/$$/stat)" = $$ ] && echo leads its group; env | sort; pwd; echo "$0" "$@"`
	args := []string{"/bin/sh", "-c", look, "sh", "a", "", "b c"}
	for _, leads := range []bool{false, true} {
		run := func(behind *wall.Plan) string {
			cmd := exec.Command(args[0], args[1:]...)
			dir := t.TempDir()
			cmd.Dir, cmd.Env = dir, []string{"A=b", "PATH=" + os.Getenv("PATH")}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: leads}
			var out strings.Builder
			cmd.Stdout, cmd.Stderr = &out, &out
			start, open := cmd.Start, func() error { return nil }
			if behind != nil {
				gate, err := behind.Apply(cmd)
				must(t, err)
				start, open = gate.Start, gate.Open
			}
			must(t, errors.Join(start(), open(), cmd.Wait()))
			return strings.ReplaceAll(out.String(), dir, "")
		}
		without, with := run(nil), run(&wall.Plan{Hide: []string{t.TempDir()}})
		if without != with || leads != strings.Contains(with, "leads") {
			t.Errorf("leads %v: without a wall\n%s\nbehind it\n%s", leads, without, with)
		}
	}
}

// A program that cannot run fails as it would without a wall.
func TestAProgramThatCannotRun(t *testing.T) {
	dir := t.TempDir()
	notExecutable := filepath.Join(dir, "x")
	must(t, os.WriteFile(notExecutable, nil, 0o600))
	for _, path := range []string{filepath.Join(dir, "missing"), notExecutable, dir} {
		without := (&exec.Cmd{Path: path, Args: []string{path}}).Run()
		_, with := order{Args: []string{path}}.run()
		if with == nil || without == nil || with.Error() != without.Error() {
			t.Errorf("%s: %v, without a wall %v", path, with, without)
		}
	}
}
