package magpie_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo stands in for go: it prints measurements, and fails at two of the benchmarks.
const fakeGo = `#!/bin/sh
case "$*" in
*OpenedChat*)
  echo "BenchmarkOpenedChat-2   20   0 ns/op   70.1 ms-bridged   500.2 ms-alone   -430.1 ms-added"
  echo "BenchmarkFirstMessage/spare-2   20   0 ns/op   80.5 ms-bridged   510.0 ms-alone   -429.5 ms-added"
  exit 1 ;;
*TestThirtyChats*) echo "        simulation_test.go:68: 16 GB: 96.7 % of the turns met their process, 31 processes at most" ;;
*run*pgrun*AcceptAndClaim*)
  for n in 1 2 4; do echo "BenchmarkAcceptAndClaim/bridges=$n/writers=16-2   5   9 ns/op   ${n}000 claims/s   9.$n median-ms"; done ;;
*AcceptAndClaim*) echo "BenchmarkAcceptAndClaim/bridges=1/writers=16-2   5   9 ns/op   7000 claims/s   2.1 median-ms" ;;
*AtRest*) echo "BenchmarkAtRest-2   1   55.5 MB   171.0 MB-spare" ;;
*TestManyChatsAtOnce*) echo "    load_test.go:9: 15,000 messages"; exit 1 ;;
esac
`

// scriptFolder is a folder with one of our scripts, which takes nothing from the machine, and further files.
func scriptFolder(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	script, err := os.ReadFile("scripts/" + name)
	if err != nil {
		t.Fatal(err)
	}
	files["scripts/"+name] = string(script)
	files["scripts/common.sh"] = "need_go() { :; }\nneed_cli() { CLAUDE_CLI=claude; }\nneed_postgres() { :; }\nmeasured=TestManyChatsAtOnce\nsay() { echo \"$*\" >&2; }\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A benchmark that fails does not prevent the others from being measured and shown. The script fails in the end.
func TestTheBenchScriptGoesOn(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir := scriptFolder(t, "bench", map[string]string{"bin/go": fakeGo})
	cmd := exec.Command(bash, filepath.Join(dir, "scripts", "bench"), "short")
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v, want status 1\n%s", err, told.String())
	}
	for _, want := range []string{
		"| event → model request, first message of a chat, process started ahead | 80.5 ms | 510.0 ms | -429.5 ms |",
		"| event → model request, … with `spare = 0` | ? ms | ? ms | ? ms |",
		"| event → model request, chat that was opened before the question, `--resume` | 70.1 ms | 500.2 ms | -430.1 ms |",
		"| 55.5 MB; + 171.0 MB |",
		"| thirty chats that take turns on a machine of 16 GB (simulated): turns that meet their process | 96.7 % |",
		"| … a second | 7000; 1000 2000 4000 |",
		"- 15,000 messages",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("it does not show %s", want)
		}
	}
	_, failed, _ := strings.Cut(told.String(), "failed:\n")
	if lines := strings.Count(failed, "\n"); lines != 2 || !strings.Contains(failed, "OpenedChat") {
		t.Errorf("failed: %s", failed)
	}
}

// comparedBenchmarks plays the program with the benchmarks of a package. The new version needs more memory, and what it
// adds to the CLI has grown.
const comparedBenchmarks = `#!/bin/sh
while [ $# -gt 0 ]; do
  [ "$1" = -test.bench ] && pattern=$2
  shift
done
mb=50 bridged=80
case "$PWD" in */old/*) ;; *) mb=60 bridged=120 ;; esac
line() { echo "$1" | grep -Eq "$pattern" && echo "$1${2#-}	4	0 ns/op	$3"; }
line BenchmarkLivingProcess - "20.0 ms-alone	22.0 ms-bridged	2.0 ms-added"
line BenchmarkFirstMessage /spare-2 "500 ms-alone	$bridged ms-bridged	-400 ms-added"
line BenchmarkOpenedChat - "500 ms-alone	80.0 ms-bridged	-420 ms-added"
line BenchmarkAtRest - "$mb MB	170 MB-spare"
line BenchmarkAcceptAndIndex /writers=64-2 "9000 accepts/s	$mb overhead-%"
`

// An older version is compared by everything that a person waits for, and what each start costs.
func TestWhatIsComparedWithAnOlderVersion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	dir := scriptFolder(t, "compare", map[string]string{
		"bin/go":  "#!/bin/sh\n# go test -c -o FILE PACKAGE\ncp \"$MAGPIE_TEST_PROGRAM\" \"$4\"\nchmod +x \"$4\"\n",
		"program": comparedBenchmarks, "cmd/magpie/x": "", "db/x": "", "contextmgr/x": "",
	})
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "-A"},
		{"-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-q", "-m", "First."},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	cmd := exec.Command(bash, filepath.Join(dir, "scripts", "compare"), "HEAD", "1")
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"),
		"MAGPIE_TEST_PROGRAM="+filepath.Join(dir, "program"))
	var told strings.Builder
	cmd.Stderr = &told
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v, want status 1\n%s", err, told.String())
	}
	for _, want := range []string{
		"| BenchmarkLivingProcess ms-bridged | 22 | 22 | 1.00 |",
		"| BenchmarkFirstMessage/spare ms-bridged | 80 | 120 | 1.50 worse |",
		"| BenchmarkOpenedChat ms-bridged | 80 | 80 | 1.00 |",
		"| BenchmarkAtRest MB | 50 | 60 | 1.20 worse |", "| BenchmarkAtRest MB-spare | 170 | 170 | 1.00 |",
		"| BenchmarkAcceptAndIndex/writers=64 accepts/s | 9000 | 9000 | 1.00 |",
		"| BenchmarkAcceptAndIndex/writers=64 overhead-% | 50 | 60 | 1.20 |",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is missing in\n%s%s", want, out, told.String())
		}
	}
}
