// Package smalldisk gives tests a disk that is soon full.
//
// Tests define what happens when the disk is full.
package smalldisk

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// child marks a process that a test has started as a copy of itself. There, forbidden means that it may not mount
// either.
const (
	child     = "MAGPIE_TEST_SMALLDISK"
	forbidden = "smalldisk: mounting is forbidden here, too"
)

// Run runs a test with a folder that is a separate disk, of a size such as "4m". A user who may not mount disks runs
// the test again, as a process in its own user namespace, where it may. Where that is forbidden as well the test is
// skipped, and fails if the variable CI is set: a check that never runs must not look like one that passes.
func Run(t *testing.T, size string, test func(t *testing.T, dir string)) {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("magpie-test", dir, "tmpfs", 0, "size="+size)
	if err == nil {
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, 0); err != nil {
				t.Errorf("unmount: %v", err)
			}
		})
		test(t, dir)
		return
	}
	// Even in its own namespace mounting is forbidden; the parent looks for this text.
	if os.Getenv(child) != "" {
		t.Fatalf("%s: %v", forbidden, err)
	}
	out, alone := again(t)
	switch {
	case alone == nil:
		t.Logf("run in a namespace of its own, since mounting is forbidden here: %v", err)
	case errors.As(alone, new(*exec.ExitError)) && !bytes.Contains(out, []byte(forbidden)):
		t.Fatalf("in a namespace of its own: %v\n%s", alone, out)
	case os.Getenv("CI") != "":
		t.Fatalf("no small disk can be made here: %v; in a namespace of its own: %v\n%s", err, alone, out)
	default:
		t.Skipf("NOT TESTED: no small disk can be made here: %v; in a namespace of its own: %v", err, alone)
	}
}

// again runs the test as a process that is root in its own namespace.
func again(t *testing.T) ([]byte, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	return cmd.CombinedOutput()
}
