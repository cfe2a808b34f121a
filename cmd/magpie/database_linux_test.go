package main

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The program copies everything to PostgreSQL and back, although it is killed again and again, says how to use the copy,
// and shows no password.
func TestACopyThatIsKilledGoesOn(t *testing.T) {
	t.Parallel()
	_, at := startPostgres(t)
	p := newWorkFolder(t)
	const messages = 40_000
	var in strings.Builder
	for i := range messages {
		fmt.Fprintf(&in, `{"channel":"feishu","chat_id":"oc_%d","chat_kind":"p2p","user_id":"ou_1","user_name":"小明",`+
			`"message_id":"om_%d","ts":"2026-05-04T12:00:00.001Z","role":"user","epoch":0,"content":"message %d of them 😀"}`+"\n",
			i%50, i, i)
	}
	p.write("in.jsonl", in.String())
	if out, err := magpie(t, p.dir, "history", "import", "in.jsonl").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	must(t, os.Mkdir(filepath.Join(p.dir, "back"), 0o700))
	file, back := "sqlite://"+filepath.Join(p.dir, "data", "magpie.db"), "sqlite://"+filepath.Join(p.dir, "back", "magpie.db")
	data := fmt.Sprintf("data = %q\n", filepath.Join(p.dir, "data"))
	configure := func(url string) { p.write("magpie.toml", data+"[db]\nurl = \""+url+"\"\n") }
	export := func(name string) string {
		if out, err := magpie(t, p.dir, "history", "export", name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return p.read(name)
	}
	want := export("before.jsonl")
	for i, way := range []struct{ from, to, shown, driver, source string }{
		{file, at, strings.Replace(strings.Split(at, "?")[0], ":"+passwordOfBot, "", 1), "pgx", at},
		{at, back, back, "sqlite3", "file:" + strings.TrimPrefix(back, "sqlite://") + "?_busy_timeout=5000"},
	} {
		configure(way.from)
		side, err := sql.Open(way.driver, way.source)
		must(t, err)
		defer side.Close() //nolint:errcheck // nothing is left to do
		out := copyKilled(t, side, messages, func() *exec.Cmd { return magpie(t, p.dir, "db", "copy", "--to", way.to) })
		want := data + "\n[db]\nurl = \"" + way.shown + "\"\n"
		if !strings.Contains(out, want) || !strings.Contains(out, "equal on both sides") || strings.Contains(out, passwordOfBot) {
			t.Errorf("%d: it says %s, want %s", i, out, want)
		}
	}
	for i, url := range []string{file, at, back} {
		configure(url)
		if got := export(fmt.Sprintf("after_%d.jsonl", i)); got != want || len(got) < messages*80 {
			t.Errorf("the export of copy %d has %d bytes, want %d", i, len(got), len(want))
		}
	}
	var out bytes.Buffer
	for _, lang := range []string{"LANG=zh_CN.UTF-8", "LANG=C.UTF-8"} {
		for _, to := range []string{"nowhere", at, "sqlite://" + filepath.Join(p.dir, "data", "magpie.db")} {
			cmd := magpie(t, p.dir, "db", "copy", "--to", to)
			cmd.Env, cmd.Stdout, cmd.Stderr = append(cmd.Env, lang), &out, &out
			if err := cmd.Run(); err == nil {
				t.Errorf("%s is taken", to)
			}
		}
	}
	for _, want := range []string{"--to：[db] url：应写成", "--to: [db] url: must be like", "那里已经有数据", "data is there already"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q: %s", want, &out)
		}
	}
}

// copyKilled runs a copy that is killed whenever it has stored some more messages, until it has stored all. It returns what
// the last one says.
func copyKilled(t *testing.T, side *sql.DB, messages int, command func() *exec.Cmd) string {
	t.Helper()
	stored, middle := 0, 0
	for range 40 {
		cmd := command()
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		must(t, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		more := stored
		for {
			select {
			case err := <-done:
				if err != nil {
					t.Fatalf("%v: %s", err, &out)
				}
				if middle == 0 {
					t.Error("it was never killed in the middle")
				}
				return out.String()
			case <-time.After(2 * time.Millisecond):
				_ = side.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM messages`).Scan(&more) // there may be no table yet
			}
			if stored < more && more < messages {
				must(t, cmd.Process.Kill())
				<-done
				middle++
				break
			}
		}
		stored = more
	}
	t.Fatal("it never ends")
	return ""
}
