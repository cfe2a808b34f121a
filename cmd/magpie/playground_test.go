package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"magpie/internal/claude/claudetest"
	"magpie/internal/console/consoletest"
)

// startPlayground builds the program and starts it as ./scripts/run does. It returns the page's address.
func startPlayground(t *testing.T, args ...string) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "magpie")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(
		context.Background(), bin, append([]string{"playground", "--listen", "127.0.0.1:0"}, args...)...,
	)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "HOME=" + t.TempDir(), "TMPDIR=" + t.TempDir(),
		"MAGPIE_CLAUDE_COMMAND=" + claudetest.Command(t),
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("playground: %v", err)
		}
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if _, url, ok := strings.Cut(lines.Text(), "playground: "); ok {
			go func() {
				for lines.Scan() { // drain the pipe, so that the program does not block
				}
			}()
			return url
		}
	}
	t.Fatal("the playground did not say where it is")
	return ""
}

func TestThePlaygroundInABrowser(t *testing.T) {
	t.Parallel()
	b := consoletest.Browse(t, startPlayground(t))
	b.Until(`document.querySelector('#bridge[data-state=up]')`)
	if agent := b.Eval(`document.querySelector('#agent').textContent`); !strings.Contains(agent, "未登录") {
		t.Errorf("the page does not say that the model is a double: %q", agent)
	}
	say := func(text string) { b.Do(chromedp.SendKeys(chromedp.CSS("#composer"), text+"\r")) }
	last := `[...document.querySelectorAll('.card .body')].at(-1)`

	// A message is answered by a card that is whole in the end.
	say("数到 300")
	b.Until(`!document.querySelector('.card.live') && ` + last + `.textContent.includes('299 300')`)

	// The second grows, for minutes, and is stopped by its button.
	say("数到 5000")
	length := 0
	for range 3 {
		length = len(b.Until(`document.querySelector('.card.live') && ` + last + `.textContent.length > ` +
			strconv.Itoa(length+10) + ` && ` + last + `.textContent`))
	}
	b.ClickUntil(`.card.live button[data-do="stop"]`, `!document.querySelector('.card.live') &&
		[...document.querySelectorAll('.card')].at(-1).textContent.includes('已停止')`)

	// The session is deleted behind the bridge's back, which only the context panel shows.
	say("我叫小明")
	b.Until(`!document.querySelector('.card.live') && ` + last + `.textContent.includes('好的，小明')`)
	b.ClickUntil("#lose-session", `document.querySelector('#lost-line').textContent.includes('已删除')`)
	say("我叫什么名字？")
	b.Until(last + `.textContent.includes('你叫小明。')`)
	b.Until(`document.querySelector('.turn[data-lost]') &&
		document.querySelector('.turn pre').textContent.includes('我叫小明')`)
	if n := b.Eval(`document.querySelector('#violations').dataset.count`); n != "0" {
		t.Errorf("%s rules of the platform were broken", n)
	}
	b.RefuteComplaints()
}
