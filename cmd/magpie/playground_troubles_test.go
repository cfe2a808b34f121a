package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// visit is somebody at a playground without a browser.
type visit struct {
	t   *testing.T
	url string
}

// pageState is what a test reads of the state that the page gets.
type pageState struct {
	Connections int
	Bridge      struct {
		PID   int
		State string
	}
	Violations struct{ Count int }
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

// answers are the texts of the bot in the first chat that contain words.
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
		time.Sleep(20 * time.Millisecond) // between two looks
	}
}

func connected(st pageState) bool { return st.Connections == 1 && st.Bridge.State == "running" }

// visitorsBreakThings: what is said while the platform is away, the disk is full or the bridge is dead is answered
// afterwards, once; and all that was said is there after a restart, unless somebody begins anew.
func visitorsBreakThings(t *testing.T, bin string) {
	folder := t.TempDir()
	t.Run("troubles", func(t *testing.T) {
		v := visit{t, startPlayground(t, bin, folder, "--agent", "simulated")}
		v.await("the bridge", connected)
		v.post("api/unplug", map[string]any{"on": true})
		v.await("the outage", func(st pageState) bool { return st.Connections == 0 })
		v.say("/title 一")
		v.post("api/unplug", map[string]any{"on": false})
		v.await("the first answer", func(st pageState) bool { return st.answers("一") == 1 })

		if runtime.GOOS == "linux" {
			v.post("api/disk", map[string]any{"on": true})
			v.say("/title 二")
			v.post("api/disk", map[string]any{"on": false})
			v.await("the second answer", func(st pageState) bool { return st.answers("二") == 1 })
		}
		before := v.state().Bridge.PID
		v.post("api/kill", nil)
		v.say("/title 三")
		v.await("the third answer", func(st pageState) bool { return st.answers("三") == 1 })
		v.await("another process", func(st pageState) bool { return connected(st) && st.Bridge.PID != before })
		if n := v.state().Violations.Count; n != 0 {
			t.Errorf("%d rules of the platform were broken", n)
		}
	})
	if err := os.WriteFile(filepath.Join(folder, "mine.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("restart", func(t *testing.T) {
		v := visit{t, startPlayground(t, bin, folder, "--agent", "simulated")}
		if st := v.state(); st.answers("一") != 1 || st.answers("三") != 1 || len(st.Users) != 3 {
			t.Errorf("after the restart: %+v", st)
		}
		v.await("the bridge", connected)
		v.say("/title")
		v.await("the title of before", func(st pageState) bool { return st.answers("三") == 2 })
	})
	t.Run("anew", func(t *testing.T) {
		v := visit{t, startPlayground(t, bin, folder, "--agent", "simulated", "--fresh")}
		if st := v.state(); len(st.Chats[0].Messages) != 0 || len(st.Users) != 3 {
			t.Errorf("anew: %+v", st)
		}
		if _, err := os.Stat(filepath.Join(folder, "mine.txt")); err != nil {
			t.Errorf("--fresh removes what is not its own: %v", err)
		}
	})
}
