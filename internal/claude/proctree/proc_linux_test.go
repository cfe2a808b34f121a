package proctree

import (
	"bufio"
	"os"
	"os/exec"
	"slices"
	"testing"
)

func TestChildrenOfAProcess(t *testing.T) {
	cmd := exec.Command("sh", "-c", "read go; sleep 60 & echo started; read end; kill $!; wait")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = stdin.Close(), cmd.Wait() })
	mine, ok := children(os.Getpid())
	if !ok {
		t.Skip("this kernel does not list children")
	}
	if !slices.Contains(mine, cmd.Process.Pid) {
		t.Errorf("children %v do not contain %d", mine, cmd.Process.Pid)
	}
	if !childless(cmd.Process.Pid) {
		t.Error("the shell has children before it started one")
	}
	if _, err := stdin.Write([]byte("go\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if pids, _ := children(cmd.Process.Pid); len(pids) != 1 || childless(cmd.Process.Pid) {
		t.Errorf("the shell's children are %v, want one", pids)
	}
	if childless(1 << 30) {
		t.Error("no error for a process that does not exist")
	}
}
