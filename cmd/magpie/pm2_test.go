package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/systemd"
)

// pm2 is a pm2 of its own, independent of any other on the machine.
type pm2 struct {
	testing.TB
	root string // in place of the repository
}

// newPM2 makes a pm2 and a folder like the repository, whose bin/magpie is the program.
func newPM2(t testing.TB) *pm2 {
	t.Helper()
	p := &pm2{t, t.TempDir()}
	for _, name := range []string{"scripts", "bin"} {
		must(t, os.Mkdir(filepath.Join(p.root, name), 0o755))
	}
	must(t, os.WriteFile(filepath.Join(p.root, ecosystem), p.ecosystem(), 0o600))
	must(t, os.Symlink(binary(t), filepath.Join(p.root, "bin", "magpie")))
	t.Cleanup(p.end)
	return p
}

// end stops pm2 with all its processes, and waits until it is gone: it reports that too early, and still writes to its
// folder. That it is gone can only be polled: it is no child of this process.
func (p *pm2) end() {
	p.Helper()
	pid, err := os.ReadFile(filepath.Join(p.root, "pm2", "pm2.pid"))
	if err != nil {
		return // it was never started
	}
	p.run("kill")
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		args, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(string(pid)), "cmdline"))
		if err != nil || len(args) == 0 {
			return
		}
		if time.Now().After(deadline) {
			p.Fatal("pm2 does not end")
		}
	}
}

const ecosystem = "scripts/ecosystem.config.js"

func (p *pm2) ecosystem() []byte {
	p.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", ecosystem))
	must(p, err)
	return data
}

// run runs pm2 with args and returns what it printed.
func (p *pm2) run(args ...string) string {
	p.Helper()
	program, err := filepath.Abs(filepath.Join("..", "..", "scripts", "pm2", "node_modules", "pm2", "bin", "pm2"))
	must(p, err)
	if _, err := os.Stat(program); err != nil {
		p.Skipf("pm2 is not installed: ./scripts/test installs it (%v)", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // also at the end of the test
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", append([]string{program}, args...)...)
	cmd.Dir = p.root
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + p.root, "PM2_HOME=" + filepath.Join(p.root, "pm2"),
		"PM2_DISCRETE_MODE=true",
	}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second // its daemon keeps the pipes open
	if err := cmd.Run(); err != nil && ctx.Err() != nil {
		p.Fatalf("pm2 %v: %v: %s", args, err, &out)
	}
	return out.String()
}

// app is how pm2 lists the program.
type app struct {
	Name string
	PID  int
	Env  struct {
		Status   string
		Restarts int `json:"restart_time"`
	} `json:"pm2_env"`
}

func (p *pm2) app() app {
	p.Helper()
	out := p.run("jlist")
	var list []app
	if err := json.Unmarshal([]byte(out[max(0, strings.Index(out, "[")):]), &list); err != nil || len(list) != 1 {
		p.Fatalf("pm2 runs %s: %v", out, err)
	}
	return list[0]
}

// On a restart by pm2, the old program puts its turn down, and the new one answers by itself: nothing was changed.
func TestAServiceOfPM2(t *testing.T) {
	t.Parallel()
	sim := startSim(t)
	model, err := modelsim.Start(modelsim.Config{})
	must(t, err)
	t.Cleanup(func() { _ = model.Close() })
	user := sim.AddUser("小明")
	pm := newPM2(t)
	want := fmt.Sprintf("kill_timeout: %d,", systemd.StopTimeout.Milliseconds())
	if !strings.Contains(string(pm.ecosystem()), want) {
		t.Errorf("the stop timeout is not that of the systemd unit: %s", want)
	}
	writeService(t, pm.root, sim, withModel(user, model))
	r := &rig{TB: t, sim: sim, model: model, user: user, chat: sim.PrivateChat(user)}

	pm.run("start", ecosystem)
	r.await("a connection", func(v *feishusim.View) bool { return v.Connections() == 1 })
	first := pm.app()
	if first.Name != "feishu" || first.Env.Status != "online" {
		t.Errorf("pm2 runs %+v", first)
	}
	model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}})
	id := sim.Say(r.chat, user, "说点什么")
	r.shows(r.chat, id, "说到一半")
	pm.run("restart", "feishu")
	r.shows(r.chat, id, "你说：“说点什么")
	if got := visibleText(r.answer(r.chat, id)); strings.Contains(got, "说到一半") || strings.Contains(got, "中断") {
		t.Errorf("the new program answers %q", got)
	}
	second := pm.app()
	if second.PID == first.PID || second.Env.Status != "online" || second.Env.Restarts != 1 {
		t.Errorf("after the restart pm2 runs %+v, before it %+v", second, first)
	}
	if got := r.ask("我叫小明"); got != "好的，小明，我记住了。" {
		t.Errorf("the new program answers %q", got)
	}
	pm.run("stop", "feishu")
	r.await("the end of the connection", func(v *feishusim.View) bool { return v.Connections() == 0 })
	if got := pm.app(); got.Env.Status != "stopped" {
		t.Errorf("after the stop pm2 says %+v", got)
	}
	var logs string
	r.until("two programs that ended by themselves", func() bool { // pm2 writes the last lines of ended programs
		data, err := os.ReadFile(filepath.Join(pm.root, "pm2", "logs", "feishu-error.log"))
		must(t, err)
		logs = string(data)
		return strings.Count(logs, `"message":"magpie has stopped"`) == 2 && strings.HasSuffix(logs, "\n")
	})
	for line := range strings.Lines(logs) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line of the log is not JSON: %s", line)
		}
	}
	r.clean()
}

// A configuration error is not retried: pm2 has dropped the process id, which it keeps for a process that it will
// restart.
func TestPM2DoesNotRetryAMistake(t *testing.T) {
	t.Parallel()
	pm := newPM2(t)
	must(t, os.WriteFile(filepath.Join(pm.root, "magpie.toml"), []byte("[claude]\nprojekt = 1\n"), 0o600))
	pm.run("start", ecosystem)
	for deadline := time.Now().Add(patience); ; {
		got := pm.app()
		if got.PID == 0 && got.Env.Restarts == 0 {
			return
		}
		if got.Env.Restarts > 0 || time.Now().After(deadline) {
			t.Fatalf("pm2 says %+v", got)
		}
	}
}
