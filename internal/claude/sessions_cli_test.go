package claude_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"magpie/internal/modelsim"
)

// Since 2.1.330 the sessions of one user can find each other and send messages without a question; the model takes such
// a message for a request of the user. The agents of two chats must neither find nor reach each other, and nobody else
// may reach them.
func TestAttackOtherSessions(t *testing.T) {
	r := newRig(t)
	spec := fresh()
	spec.Mode = "default"
	victim := r.acquire("a", spec)
	socket := fmt.Sprintf("/tmp/cc-socks/%d.sock", victim.Pid())
	r.pool.Release(victim)
	message := func(to string) modelsim.Step {
		return modelsim.Tool("SendMessage", map[string]any{"to": to, "summary": "a canary", "message": "canary-9"})
	}
	r.calls(modelsim.Tool("ListAgents", map[string]any{}), message(socket), message("uds:"+socket))
	attack := r.turn(t.Context(), "b", fresh(), "go")
	if got := attack.asked(); attack.err != nil || len(got) > 0 {
		t.Fatalf("asked %q: %v", got, attack.err)
	}
	list := r.model.Requests()
	if text := list[len(list)-1].AllText(); strings.Count(text, "No such tool available") != 3 {
		t.Errorf("the agent has these tools: %s", text[max(0, len(text)-1500):])
	}

	// A session in a terminal has this socket.
	r.calls(message(socket))
	terminal := exec.CommandContext(t.Context(), r.cfg.Command, "-p", "--allowedTools=SendMessage")
	terminal.Dir, terminal.Env, terminal.Stdin = r.cfg.Project, r.cfg.Environ, strings.NewReader("tell them")
	if out, err := terminal.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	before := len(r.model.Requests())
	if a := r.turn(t.Context(), "a", spec, "hello"); a.err != nil {
		t.Fatal(a.err)
	}
	for _, q := range r.model.Requests()[before:] {
		if strings.Contains(q.AllText(), "canary-9") {
			t.Error("the message has reached the agent of another chat")
		}
	}
	if n := r.pool.Stats().Started; n != 2 {
		t.Errorf("%d processes were started; the victim is not the same process", n)
	}
}
