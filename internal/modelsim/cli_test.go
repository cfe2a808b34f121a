package modelsim

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"
)

// These tests run the real CLI against the double, for what internal/claude and cmd/magpie do not see of it there.

// cliPath finds the CLI: MAGPIE_TEST_CLAUDE, or what scripts/test installs below the module's root.
func cliPath(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("MAGPIE_TEST_CLAUDE"); path != "" {
		return path
	}
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
	}
	path := filepath.Join(dir, "scripts/cli/node_modules/@anthropic-ai", "claude-code-"+runtime.GOOS+"-"+arch, "claude")
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the Claude Code CLI is not installed: ./scripts/test installs it (%v)", err)
	}
	return path
}

// cli is the CLI with a home and a project of its own.
type cli struct {
	path, home, project string
	env                 []string
}

func newCLI(t *testing.T, s *Server) *cli {
	t.Helper()
	c := &cli{path: cliPath(t), home: t.TempDir(), project: t.TempDir()}
	c.env = []string{
		"HOME=" + c.home, "CLAUDE_CONFIG_DIR=" + filepath.Join(c.home, ".claude"), "PATH=" + os.Getenv("PATH"),
		"LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + s.URL(), "ANTHROPIC_API_KEY=sk-test-dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	return c
}

// turn is what one run of the CLI printed.
type turn struct {
	deltas, texts []string // of the stream; of whole messages
	result        gjson.Result
	session       string
}

// ask runs the CLI once with the prompt on its standard input.
func (c *cli) ask(t *testing.T, prompt string, args ...string) turn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args = append([]string{"-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"}, args...)
	cmd := exec.CommandContext(ctx, c.path, args...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.project, c.env, 5*time.Second
	cmd.Stdin = strings.NewReader(prompt)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var got turn
	for r := bufio.NewReader(out); err == nil; {
		var line string
		if line, err = r.ReadString('\n'); err == nil {
			got.take(gjson.Parse(line))
		}
	}
	if err := cmd.Wait(); !got.result.Exists() {
		t.Fatalf("no result: %v %v\n%s", err, context.Cause(ctx), errs.String())
	}
	return got
}

func (u *turn) take(ev gjson.Result) {
	switch ev.Get("type").String() {
	case "stream_event":
		if d := ev.Get("event.delta.text"); d.Exists() {
			u.deltas = append(u.deltas, d.String())
		}
	case "assistant":
		for _, b := range ev.Get("message.content").Array() {
			if b.Get("type").String() == "text" {
				u.texts = append(u.texts, b.Get("text").String())
			}
		}
	case "result":
		u.result, u.session = ev, ev.Get("session_id").String()
	}
}

func (u *turn) text() string { return u.result.Get("result").String() }

func TestTheCLIStreamsTheAnswer(t *testing.T) {
	t.Parallel()
	s := start(t)
	got := newCLI(t, s).ask(t, "数到 30", "--session-id", uuid.NewString())
	want := count("30")
	if got.result.Get("is_error").Bool() || got.text() != want || strings.Join(got.deltas, "") != want ||
		len(got.deltas) != (len(want)+5)/6 {
		t.Errorf("%q\n%s", got.deltas, got.result)
	}
	r := s.Requests()
	if len(r) != 1 || r[0].SessionID != got.session || r[0].LastUser() != "数到 30" || r[0].Reply != want ||
		r[0].Cancelled || !r[0].HasTool("Bash") {
		t.Errorf("%d requests, session %q, asked %q, cancelled %v", len(r), r[0].SessionID, r[0].LastUser(),
			r[0].Cancelled)
	}
	if in := got.result.Get("usage.cache_read_input_tokens").Int(); in < 5000 ||
		got.result.Get("total_cost_usd").Float() <= 0 {
		t.Errorf("usage %s", got.result.Get("usage"))
	}
	if u := s.Unexpected(); len(u) > 0 {
		t.Errorf("unexpected: %v", u)
	}
}

func TestTheCLIAsksForTheRestOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := start(t, Rule{Times: 1, Steps: []Step{Text("1 2 3"), Stop("max_tokens")}})
	got := newCLI(t, s).ask(t, "数到6")
	if all := strings.Join(got.texts, ""); all != count("6") || got.result.Get("is_error").Bool() {
		t.Errorf("%q %s", all, got.result)
	}
}
