package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"magpie/internal/claude/claudetest"
	"magpie/internal/console/consoletest"
)

// visit is a client of a playground without a browser.
type visit struct {
	t   *testing.T
	url string
}

// pageState is the part of the page's state that a test reads.
type pageState struct {
	Connections int
	Bridge      struct {
		PID   int
		State string
	}
	Violations struct{ Count int }
	Refused    int
	Users      []struct{ ID string }
	Chats      []struct {
		ID       string
		Messages []struct {
			Origin struct{ Bot bool }
			Look   struct{ Text string }
		}
	}
}

func (v visit) state() (st pageState) {
	v.t.Helper()
	resp, err := http.Get(v.url + "api/state")
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		v.t.Fatal(err)
	}
	return st
}

func (v visit) post(path string, in map[string]any) {
	v.t.Helper()
	resp, err := http.Post(v.url+path, "application/json", bytes.NewReader(mustJSON(in)))
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		v.t.Fatalf("%s: %s", path, resp.Status)
	}
}

func (v visit) say(text string) {
	st := v.state()
	v.post("api/say", map[string]any{"chat": st.Chats[0].ID, "user": st.Users[0].ID, "text": text})
}

// answers counts the bot's texts in the first chat that contain words.
func (st pageState) answers(words string) (n int) {
	for _, m := range st.Chats[0].Messages {
		if m.Origin.Bot && strings.Contains(m.Look.Text, words) {
			n++
		}
	}
	return n
}

func (v visit) await(what string, cond func(pageState) bool) {
	v.t.Helper()
	for began := time.Now(); ; {
		switch st := v.state(); {
		case cond(st):
			return
		case time.Since(began) > patience:
			v.t.Fatalf("await %s: %+v", what, st)
		}
		time.Sleep(20 * time.Millisecond) // between two polls of the page's state
	}
}

func connected(st pageState) bool { return st.Connections == 1 && st.Bridge.State == "running" }

// visitorsBreakThings presses the buttons that break things, on the page and with the scripted agent. Messages that are
// sent while the platform is down, the disk is full or the bridge is dead are answered afterwards, once. All messages
// are there after a restart, unless the visitor starts over.
func visitorsBreakThings(t *testing.T, bin string) {
	folder := t.TempDir()
	args := []string{"--command", loggedIn(t), "--pace", "10ms", "--story", "200ms"}
	t.Run("buttons", func(t *testing.T) {
		v := visit{t, startPlayground(t, bin, folder, args...)}
		b := consoletest.Browse(t, v.url)
		b.Until(`document.querySelector('#bridge[data-state=up]')`)
		b.Until(`document.querySelector('#tour:not([hidden])')`)
		breakAStory(t, b)
		if runtime.GOOS == "linux" {
			fillTheDisk(t, b, v)
		}
		askFreely(t, b)
		administer(b)
		b.RefuteComplaints()
		if n := v.state().Violations.Count; n != 0 {
			t.Errorf("%d rules of the platform were broken", n)
		}
	})
	if err := os.WriteFile(filepath.Join(folder, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("restart", func(t *testing.T) {
		v := visit{t, startPlayground(t, bin, folder, args...)}
		if st := v.state(); st.answers("讲完了") != 1 || st.answers("二") != 1 || len(st.Users) != 3 {
			t.Errorf("after the restart: %+v", st)
		}
		v.await("the bridge", connected)
		v.say("/title")
		v.await("the title of before", func(st pageState) bool { return st.answers("二") == 2 })
	})
	t.Run("anew", func(t *testing.T) {
		v := visit{t, startPlayground(t, bin, folder, append(args, "--fresh")...)}
		if st := v.state(); len(st.Chats[0].Messages) != 0 || len(st.Users) != 3 {
			t.Errorf("anew: %+v", st)
		}
		if _, err := os.Stat(filepath.Join(folder, "mine.txt")); err != nil {
			t.Errorf("--fresh removes other files: %v", err)
		}
	})
	t.Run("the real model", func(t *testing.T) {
		b := consoletest.BrowseIn(t, startPlayground(t, bin, t.TempDir(), append(args, "--agent", "claude")...), "en-US")
		b.Until(`document.querySelector('#agent').textContent === 'Agent: real Claude Code with your own login, which may cost money'`)
		b.Until(`document.querySelector('#tour').hidden && document.querySelector('#tour-open').hidden`)
		b.Press("#chat-2") // the first one has the owner's welcome
		b.Until(`document.querySelector('#chat-2[aria-current=true]') &&
			document.querySelector('#messages .empty').textContent.includes('may cost money')`)
		b.Type("#composer", "/help\r") // a command has no language: that of the page counts
		b.Until(`(words => words.includes('/new') && !/\p{Script=Han}/u.test(words))(` + lastCard + `.innerText)`)
	})
}

// loggedIn is the scripted agent with a login, which a playground must not use without being asked.
func loggedIn(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "claude")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1 $2\" = \"auth status\" ] && exit 0\nexec %q \"$@\"\n", claudetest.Scripted(t))
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil { //nolint:gosec // it is executed
		t.Fatal(err)
	}
	return path
}

// pressed waits until a button has the pressed state, or has not.
func pressed(b *consoletest.Browser, button string, is bool) {
	b.Until(fmt.Sprintf(`document.querySelector('%s[aria-pressed=%t]:not(:disabled)')`, button, is))
}

const (
	storyEnds   = `[...document.querySelectorAll('.message[data-bot] .card')].filter(c => c.textContent.includes('讲完了')).length`
	troubleSays = `document.querySelector('#trouble-line:not([hidden])').textContent`
)

// breakAStory asks for a story, and disconnects the platform and then kills the bridge meanwhile.
func breakAStory(t *testing.T, b *consoletest.Browser) {
	t.Helper()
	b.Press(`.chip[data-text="讲个故事"]`)
	b.Until(`document.querySelector('.card.live') && ` + storyTold + `.includes('很久以前')`)
	b.Press("#unplug")
	pressed(b, "#unplug", true)
	b.Until(troubleSays + `.includes('飞书连不上了')`)
	b.Until(`document.querySelector('#bridge[data-state=off]').textContent === '飞书已断开'`)
	told := b.Eval(storyTold)
	b.Press("#unplug")
	pressed(b, "#unplug", false)
	b.Until(`document.querySelector('#bridge[data-state=up]') && document.querySelector('#trouble-line').hidden`)
	b.Until(fmt.Sprintf(`%s.length > %d`, storyTold, len([]rune(told)))) // the story continues
	if n := b.Eval(storyEnds); n != "0" {
		t.Errorf("the story ended %s times before the bridge was killed", n)
	}

	before, told := bridgeOf(b), b.Eval(storyTold)
	b.Press("#kill")
	b.Until(fmt.Sprintf(`document.querySelector('#bridge[data-state=up]') && %[1]s.includes('现在是进程') && !%[1]s.includes(' %[2]s')`,
		troubleSays, before))
	// It goes on by itself: nothing was changed.
	b.Until(storyEnds + ` === 1 && !document.querySelector('.card.live')`)
	if now := b.Eval(storyTold); !strings.HasPrefix(now, told) {
		t.Errorf("the story is %q, before the kill it was %q", now, told)
	}
	wholeStory(t, b)
}

// fillTheDisk asks while the disk is full: the bridge refuses the message, and answers when there is space again.
func fillTheDisk(t *testing.T, b *consoletest.Browser, v visit) {
	t.Helper()
	b.Press("#fill-disk")
	pressed(b, "#fill-disk", true)
	v.say("/title 二")
	b.Until(`document.querySelector('#trouble-line[data-refused="1"]').textContent.includes('1 条消息没能存下来')`)
	if n := v.state().answers("二"); n != 0 {
		t.Errorf("%d answers while the disk is full", n)
	}
	b.Press("#fill-disk")
	pressed(b, "#fill-disk", false)
	v.await("the answer", func(st pageState) bool { return st.answers("二") == 1 && st.Refused == 0 })
	b.Until(`!document.querySelector('#trouble-line').textContent.includes('没能存下来')`)
}

// askFreely asks something that the simulated model does not know, chooses a scene from its form, and sends a file.
func askFreely(t *testing.T, b *consoletest.Browser) {
	t.Helper()
	b.Type("#composer", "怎么做红烧肉？\r")
	b.PressIn(`.card .column`, "看价格图", `button[data-do="choose"]`)
	b.Until(`[...document.querySelectorAll('.message[data-bot] img.shot')].some(i => i.complete && i.naturalWidth > 0)`)
	b.Until(`[...document.querySelectorAll('.card')].some(c => c.textContent.includes('图发好了')) && !document.querySelector('.card.live')`)

	path := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(path, []byte("票务系统的笔记"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.Do(chromedp.SetUploadFiles(chromedp.CSS("#file"), []string{path}))
	b.Until(`document.querySelector('.pending').textContent.includes('notes.txt')`)
	b.Type("#composer", "里面写了什么？\r")
	b.Until(`[...document.querySelectorAll('.message[data-bot] .card')].some(c =>
		c.textContent.includes('notes.txt 的开头') && c.textContent.includes('票务系统的笔记')) && !document.querySelector('.card.live')`)
}

// administer sends a command for admins as the owner, and as somebody else.
func administer(b *consoletest.Browser) {
	b.Type("#composer", "/admin users\r")
	b.Until(lastCard + `.textContent.includes('所有者')`)
	b.Press("#chat-2")
	b.Until(`document.querySelector('#chat-2[aria-current=true]')`)
	b.Type("#composer", "/admin users\r")
	b.Until(lastCard + `.textContent.includes('只有管理员可以使用 /admin')`)
	b.Press("#chat-3")
	b.Until(`document.querySelector('#chat-3[aria-current=true]') && document.querySelector('#speaker').innerText === 'Alex（陌生人）'`)
	b.Type("#composer", "测试为什么不通过？\r")
	b.Until(lastCard + `.textContent.includes('你还不能使用这个机器人')`)
	b.Press("#chat-1")
	b.Until(`document.querySelector('#chat-1[aria-current=true]') && ` + lastCard + `.textContent.includes('Alex')`)
}

// refuteCharges fails if an amount does not say that it is simulated.
func refuteCharges(t *testing.T, b *consoletest.Browser) {
	t.Helper()
	if n := b.Eval(`(document.body.innerText.match(/\$\d+\.\d+(（模拟）| \(simulated\))/g) || []).length`); n == "0" {
		t.Error("no amount is shown")
	}
	if all := b.Eval(`document.body.innerText.match(/\$\d+\.\d+(?!\d|（模拟）| \(simulated\))/g)`); all != "null" {
		t.Errorf("amounts that seem to be charged: %s", all)
	}
}
