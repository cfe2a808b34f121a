//go:build unix

package systemd

import (
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Root gives the agents a folder that they could prepare while they ran as the service's user.
func TestOnlyTheFolderItselfIsGivenAway(t *testing.T) {
	base := t.TempDir()
	pathOf := func(name string) string { return filepath.Join(base, filepath.FromSlash(name)) }
	for _, err := range []error{
		os.MkdirAll(pathOf("project/src"), 0o700), os.MkdirAll(pathOf("data"), 0o700),
		os.WriteFile(pathOf("project/src/own"), nil, 0o600), os.WriteFile(pathOf("data/secret"), nil, 0o600),
		os.Link(pathOf("data/secret"), pathOf("project/notes.txt")), os.Symlink(pathOf("data"), pathOf("project/link")),
		os.Symlink(pathOf("data"), pathOf("swapped")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	me := os.Geteuid()
	agent := &syscall.Credential{Uid: uint32(me), Gid: uint32(os.Getegid())}
	if me == 0 {
		agent = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	owner, own := &user.User{Uid: strconv.Itoa(me)}, []string{pathOf("data/secret"), pathOf("data/later")}
	if left, err := chownFolder(pathOf("project"), owner, agent, own); left != 1 || err != nil {
		t.Errorf("the project: %d left, %v", left, err)
	}
	if _, err := chownFolder(pathOf("swapped"), owner, agent, own); err == nil {
		t.Error("a link in the place of a folder is followed")
	}
	// Agents that already have the project may replace a folder between it and another project.
	if err := os.Symlink(base, pathOf("project/between")); err != nil {
		t.Fatal(err)
	}
	if _, err := chownFolder(pathOf("project/between/data"), owner, agent, own); err == nil {
		t.Error("the service's own folder is given away")
	}
	if _, err := chownFolder(pathOf("project/between/data"), &user.User{Uid: "4242"}, agent, nil); err == nil {
		t.Error("a folder of somebody else is given away")
	}
	for name, given := range map[string]bool{
		"project": true, "project/src": true, "project/src/own": true, "project/link": true, "data": false,
		"data/secret": false,
	} {
		info, err := os.Lstat(pathOf(name))
		if err != nil {
			t.Fatal(err)
		}
		want := uint32(me)
		if given {
			want = agent.Uid
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Uid != want {
			t.Errorf("%s belongs to %+v, want %d", name, info.Sys(), want)
		}
	}
}
