package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/feishusim"
)

// SIGHUP applies the access lists and the log level. Other changed keys are named, without values. An error changes
// nothing.
func TestReload(t *testing.T) {
	t.Parallel()
	sim, socket, dir := startSim(t), listenNotify(t), t.TempDir()
	red, blue := sim.AddUser("小红"), sim.AddUser("小蓝")
	path := filepath.Join(dir, "magpie.toml")
	writeService(t, dir, sim, "admins = [\""+red.OpenID+"\"]\n")
	first, err := os.ReadFile(path)
	must(t, err)
	p := socket.serve(dir)
	r := &rig{TB: t, sim: sim}
	answered := func(u feishusim.User) {
		t.Helper()
		r.answer(sim.PrivateChat(u), sim.Say(sim.PrivateChat(u), u, "/help"))
	}
	reload := func(text string) {
		t.Helper()
		must(t, os.WriteFile(path, []byte(text), 0o600))
		p.signal(syscall.SIGHUP)
		if got := socket.await("RELOADING=1"); !strings.Contains(got, "MONOTONIC_USEC=") {
			t.Errorf("systemd gets %q", got)
		}
		socket.await("READY=1")
	}
	answered(red)

	reload(string(first) + "[log]\nlevel = \"loud\"\n[claude.env]\nTOKEN = \"canary-1\"\n")
	p.await("keeping the old one")
	answered(red)

	before := len(sim.Messages(sim.PrivateChat(blue)))
	sim.Say(sim.PrivateChat(blue), blue, "/help")
	p.await("ignored a message from a stranger")
	if n := len(sim.Messages(sim.PrivateChat(blue))) - before; n != 1 {
		t.Errorf("a stranger got %d answers", n-1)
	}
	reload(strings.Replace(string(first), red.OpenID, blue.OpenID, 1) +
		"[log]\nlevel = \"debug\"\n[context]\nmin_chars = 777\n[claude.env]\nTOKEN = \"canary-2\"\n")
	p.await(`"applied":["[access] admins","[log] level"]`)
	p.await(`"keys":["[claude] env","[context] min_chars"]`)
	answered(blue)
	ignored := strings.Count(p.logs.String(), "ignored a message from a stranger")
	sim.Say(sim.PrivateChat(red), red, "/help")
	p.awaitCount("ignored a message from a stranger", ignored+1) // a removed user loses access

	reload(strings.Replace(string(first), "[access]", "[log]\nlevel = \"warn\"\n[access]", 1))
	p.await(`"applied":["[access] admins","[log] level"]`)
	answered(red)
	p.stop()
	logs := p.logs.String()
	if strings.Contains(logs, "canary") || strings.Contains(logs, sim.AppSecret()) {
		t.Error("the log contains a secret")
	}
	if strings.Contains(logs, "magpie has stopped") {
		t.Error("at level warn there are lines of level info")
	}
}

// serve starts the program that is set up in dir, and returns once it is connected.
func (n *notifySocket) serve(dir string) *process {
	n.Helper()
	cmd := magpie(n, dir, "serve")
	cmd.Env = append(cmd.Env, "NOTIFY_SOCKET="+n.path)
	p := startProcess(n, cmd)
	n.await("READY=1")
	p.await("feishu: connected")
	return p
}

// A denied user or chat gets no answer although everybody else has access. A reload changes the list.
func TestTheDeniedAreNotAnswered(t *testing.T) {
	t.Parallel()
	sim, socket, dir := startSim(t), listenNotify(t), t.TempDir()
	red, blue := sim.AddUser("小红"), sim.AddUser("小蓝")
	group := sim.Group("测试群", red, blue)
	path := filepath.Join(dir, "magpie.toml")
	writeService(t, dir, sim, "allow = [\"*\"]\ndeny = [\""+red.OpenID+"\"]\n")
	first, err := os.ReadFile(path)
	must(t, err)
	p := socket.serve(dir)
	r := &rig{TB: t, sim: sim}
	var silent []string
	ask := func(chatID string, who feishusim.User, answered bool) {
		t.Helper()
		id := sim.Say(chatID, who, "/help", feishusim.Mention())
		if answered {
			r.answer(chatID, id)
			return
		}
		r.awaitReceived(id) // its replies would be in the outbox by then
		silent = append(silent, id)
	}
	ask(sim.PrivateChat(red), red, false)
	ask(group, red, false)
	ask(sim.PrivateChat(blue), blue, true)
	ask(group, blue, true)

	must(t, os.WriteFile(path, []byte(strings.Replace(string(first), red.OpenID, group, 1)), 0o600))
	p.signal(syscall.SIGHUP)
	socket.await("RELOADING=1")
	socket.await("READY=1")
	ask(group, red, false)
	ask(group, blue, false)
	ask(sim.PrivateChat(blue), blue, true)
	ask(sim.PrivateChat(red), red, true)
	p.stop()
	for _, id := range silent {
		m, _ := sim.Message(id)
		if list := replies(sim.View(), m.ChatID, id); len(list) != 0 {
			t.Errorf("a denied user gets %q", list[0].Text())
		}
	}
}
