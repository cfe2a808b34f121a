package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"magpie/internal/racetest"
)

// workFolder is a folder with a configuration and its database, in which commands are run.
type workFolder struct {
	testing.TB
	dir string
}

func newWorkFolder(t testing.TB) *workFolder {
	t.Helper()
	p := &workFolder{t, t.TempDir()}
	p.write("magpie.toml", "[db]\nurl = \"sqlite://data/magpie.db\"\n")
	return p
}

func (p *workFolder) write(name, text string) {
	p.Helper()
	must(p, os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600))
}

func (p *workFolder) read(name string) string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	must(p, err)
	return string(data)
}

// run runs the program there and returns its output and exit code.
func (p *workFolder) run(stdin string, args ...string) (stdout, stderr string, code int) {
	p.Helper()
	cmd := magpie(p, p.dir, args...)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &complaints
	var exit *exec.ExitError
	if err := cmd.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		must(p, err)
	}
	return out.String(), complaints.String(), code
}

// ok runs the program, which must not report an error.
func (p *workFolder) ok(stdin string, args ...string) string {
	p.Helper()
	out, complaints, code := p.run(stdin, args...)
	if code != 0 || complaints != "" {
		p.Fatalf("%v: exit code %d: %s", args, code, complaints)
	}
	return out
}

// sample is a History with every kind of record.
const sample = `{"channel":"feishu","chat_id":"oc_1","chat_kind":"p2p","user_id":"ou_1","user_name":"小明",` +
	`"message_id":"om_1","ts":"2026-05-04T12:00:00.001Z","role":"user","epoch":0,` +
	`"content":"我叫小明\n<b>&\u2028�😀"}` + "\n" +
	`{"channel":"feishu","chat_id":"oc_1","chat_kind":"p2p","user_id":"","user_name":"",` +
	`"message_id":"answer:7","ts":"2026-05-04T12:00:09.000Z","role":"assistant","epoch":0,"content":"好的"}` + "\n" +
	`{"channel":"feishu","chat_id":"oc_1","chat_kind":"p2p","user_id":"ou_1","user_name":"小明",` +
	`"message_id":"om_2","ts":"2026-05-04T12:01:00.000Z","role":"user","class":"command","epoch":0,` +
	`"content":"/new"}` + "\n" +
	`{"channel":"feishu","chat_id":"oc_1","chat_kind":"p2p","user_id":"ou_1","user_name":"小明",` +
	`"message_id":"om_3","ts":"2026-05-04T12:00:59.000Z","role":"user","content":""}` + "\n" +
	`{"channel":"feishu","chat_id":"oc_2","chat_kind":"group","user_id":"ou_2","user_name":"小红",` +
	`"message_id":"om_1","ts":"2026-05-04T12:02:00.000Z","role":"user","class":"overheard","content":"大家好"}` + "\n" +
	`{"channel":"feishu","chat_id":"oc_2","chat_kind":"group","thread_id":"omt_1","user_id":"ou_2","user_name":"小红",` +
	`"message_id":"om_9","ts":"2026-05-04T12:02:00.000Z","role":"tool","content":"x"}` + "\n" +
	`{"channel":"telegram","container":"topic","chat_id":"5","chat_kind":"group","user_id":"7","user_name":"Ann",` +
	`"message_id":"1","ts":"1970-01-01T00:00:00.000Z","role":"system","content":"y"}` + "\n" +
	`{"channel":"web","chat_id":"0b8f6c2e-0000-4000-8000-000000000000","chat_kind":"p2p","user_id":"u",` +
	`"user_name":"Ann","message_id":"1","ts":"2026-05-04T12:02:00.000Z","role":"user","content":"z"}` + "\n"

func TestAnExportComesBackByteForByte(t *testing.T) {
	t.Parallel()
	a, b := newWorkFolder(t), newWorkFolder(t)
	// PostgreSQL stores no NUL, so neither engine does.
	a.write("in.jsonl", strings.Replace(sample, "�", `\u0000`, 1))
	if out := a.ok("", "history", "import", "in.jsonl"); !strings.HasPrefix(out, "8 read: 8 new, 0 known, 0 bad, in ") {
		t.Errorf("said %q", out)
	}
	if diff := cmp.Diff(sample, a.ok("", "history", "export")); diff != "" {
		t.Error(diff)
	}
	if out := a.ok(sample, "history", "import", "-"); !strings.HasPrefix(out, "8 read: 0 new, 8 known, 0 bad, in ") {
		t.Errorf("the second time: %q", out)
	}
	if out := a.ok("", "history", "export", "out.jsonl"); !strings.HasSuffix(out, "out.jsonl: 8 messages\n") {
		t.Errorf("said %q", out)
	}
	b.ok(a.read("out.jsonl"), "history", "import", "-")
	if diff := cmp.Diff(a.read("out.jsonl"), b.ok("", "history", "export", "-")); diff != "" {
		t.Error(diff)
	}
	for _, key := range []string{"oc_1", "feishu:chat:oc_1"} {
		want := strings.Join(strings.SplitAfter(sample, "\n")[:4], "")
		if diff := cmp.Diff(want, b.ok("", "history", "export", "--chat", key)); diff != "" {
			t.Error(diff)
		}
	}
	for _, args := range [][]string{{"--chat", "oc_3"}, {"--chat", "nonsense"}, {"out.jsonl"}, {"none/out.jsonl"}} {
		want := 1
		if slices.Contains(args, "nonsense") { // no chat at all, so it is wrong usage
			want = 2
		}
		_, complaints, code := a.run("", append([]string{"history", "export"}, args...)...)
		if code != want || complaints == "" || strings.Contains(complaints, ".part") {
			t.Errorf("export %v: exit code %d, %q", args, code, complaints)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(a.dir, "*.part")); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
	if info, err := os.Stat(filepath.Join(a.dir, "out.jsonl")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("an export is readable for other users: %v, %v", info.Mode(), err)
	}
}

func goodLine(id, more string) string {
	return fmt.Sprintf(`{"channel":"feishu","chat_id":"oc_1","user_id":"ou_1","message_id":%q,`+
		`"ts":"2026-05-04T20:00:00+08:00","role":"user","content":"x"%s}`, id, more)
}

func TestBadLinesAreReportedAndOthersImported(t *testing.T) {
	t.Parallel()
	without := func(field string) string {
		return strings.Replace(goodLine("om_bad", ""), `"`+field+`":`, `"other":`, 1)
	}
	lines := []struct{ text, complaint string }{
		{"\xef\xbb\xbf" + goodLine("om_1", ""), ""},
		{goodLine("om_2", `,"likes":[1,{"a":2}]`) + "\r", ""},
		{"", ""},
		{"not json", "line 4: not JSON"},
		{`["a"]`, "line 5: not a JSON object: a list"},
		{goodLine("om_bad", "")[:60], "line 6: not JSON"},
		{strings.Replace(goodLine("cafe", ""), "cafe", "caf\xe9", 1), "line 7: not UTF-8"},
		{without("channel"), "line 8: channel is missing"},
		{without("message_id"), "line 9: message_id is missing"},
		{without("ts"), "line 10: ts is missing"},
		{strings.Replace(goodLine("om_bad", ""), "T20:00:00+08:00", "", 1), "line 11: ts: must be a time such as"},
		{
			strings.Replace(goodLine("om_bad", ""), `"user",`, `"bot",`, 1),
			"line 12: role: must be user, assistant, tool or system",
		},
		{without("content"), "line 13: content is missing"},
		{strings.Replace(goodLine("om_bad", ""), `"x"`, `7`, 1), "line 14: content: wrong type: a number"},
		{goodLine("om_bad", `,"class":"gossip"`), "line 15: class: must be talk, command or overheard"},
		{goodLine("om_bad", `,"chat_kind":"room"`), "line 16: chat_kind: must be p2p or group"},
		{strings.Replace(goodLine("om_bad", ""), "oc_1", "oc:1", 1), "line 17: chat_id: must not contain a colon"},
		{goodLine("om_bad", `,"epoch":9223372036854775807`), "line 18: epoch: must"},
		{`{"channel":"feishu","content":"` + strings.Repeat("x", longestLine) + `"}`, "line 19: longer than 16 MB"},
		{
			`{}`,
			"line 20: channel is missing; chat_id is missing; message_id is missing; " +
				"role is missing; ts is missing; content is missing",
		},
		{
			strings.Replace(goodLine("om_bad", ""), "oc_1", "oc\\n1", 1),
			"line 21: chat_id: must not contain spaces or invisible characters",
		},
		{
			goodLine("om_bad", `,"thread_id":"`+strings.Repeat("o", 300)+`"`),
			"line 22: thread_id: longer than 256 bytes",
		},
		{goodLine("om_3", ""), ""},
	}
	var all, want []string
	for _, l := range lines {
		all = append(all, l.text)
		if l.complaint != "" {
			want = append(want, l.complaint)
		}
	}
	p := newWorkFolder(t)
	p.write("in.jsonl", strings.Join(all, "\n")) // the last line has no newline
	out, complaints, code := p.run("", "history", "import", "in.jsonl")
	if code != 1 || !strings.HasPrefix(out, "22 read: 3 new, 0 known, 19 bad, in ") {
		t.Errorf("exit code %d, output %q", code, out)
	}
	got := strings.Split(strings.TrimSpace(complaints), "\n")
	if len(got) != len(want)+1 || !strings.Contains(got[len(got)-1], "19") {
		t.Fatalf("complaints:\n%s", complaints)
	}
	for i, w := range want {
		if !strings.HasPrefix(got[i], w) || len(got[i]) > 300 {
			t.Errorf("complaint %q, want %q", got[i], w)
		}
	}
	if n := strings.Count(p.ok("", "history", "export"), "\n"); n != 3 {
		t.Errorf("%d messages", n)
	}

	p = newWorkFolder(t)
	p.write("in.jsonl", strings.Join(all, "\n"))
	out, complaints, code = p.run("", "history", "import", "--strict", "in.jsonl")
	if code != 1 || !strings.HasPrefix(out, "3 read: 2 new, 0 known, 1 bad, in ") ||
		strings.Count(complaints, "line 4: ") != 1 {
		t.Errorf("strict: exit code %d, said %q, complained %q", code, out, complaints)
	}
	_, complaints, code = p.run("\x1f\x8b\x08\x00binary", "history", "import", "-")
	if code != 1 || !strings.Contains(complaints, "gunzip") {
		t.Errorf("compressed: exit code %d: %s", code, complaints)
	}
	_, complaints, code = p.run("", "history", "import", "none.jsonl")
	if code != 2 || !strings.Contains(complaints, "none.jsonl") {
		t.Errorf("no file: exit code %d: %s", code, complaints)
	}
}

func TestManyBadLinesAreCounted(t *testing.T) {
	t.Parallel()
	out, complaints, code := newWorkFolder(t).run(strings.Repeat("x\n", 1000), "history", "import", "-")
	if code != 1 || !strings.HasPrefix(out, "1000 read: 0 new, 0 known, 1000 bad") ||
		strings.Count(complaints, "\n") != maxComplaints+2 {
		t.Errorf("exit code %d, said %q, %d complaints", code, out, strings.Count(complaints, "\n"))
	}
}

func TestImportAndExportBesideARunningBridge(t *testing.T) {
	t.Parallel()
	sim, p := startSim(t), &workFolder{t, t.TempDir()}
	user := sim.AddUser("小明")
	writeService(t, p.dir, sim, "allow = [\""+user.OpenID+"\"]\n")
	p.ok(sample, "history", "import", "-")
	service := startProcess(t, magpie(t, p.dir, "serve"))
	service.await("feishu: connected")
	if diff := cmp.Diff(sample, p.ok("", "history", "export")); diff != "" {
		t.Error(diff)
	}
	_, complaints, code := p.run(sample, "history", "import", "-")
	want := fmt.Sprintf("(process %d): stop it (systemctl stop magpie, or pm2 stop feishu), run this command again, and start it\n",
		service.pid())
	if code != 1 || !strings.HasSuffix(complaints, want) || strings.Contains(complaints, "[db]") {
		t.Errorf("exit code %d: %s", code, complaints)
	}
	service.stop()
	p.ok(sample, "history", "import", "-")
}

// Many messages (a hundred thousand at full size) with a memory that does not grow with their number.
func TestALargeImportIsFast(t *testing.T) { // not parallel: Linux counts the parent's memory at the start for the child
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	p := newWorkFolder(t)
	in, out := io.Pipe()
	// Small ones take the time, large ones would take the memory.
	small, large := 5_000, 8_000
	if *full {
		small = 100_000
	}
	messages := small + large
	go func() {
		w := bufio.NewWriter(out)
		for i := range messages {
			role, content := []string{"user", "assistant"}[i%2], strings.Repeat("鹊桥相会 meeting ", 10)
			if i < large {
				content = strings.Repeat("-", 10_000)
			}
			fmt.Fprintf(w,
				`{"channel":"feishu","chat_id":"oc_%d","chat_kind":"p2p","user_id":"ou_1","message_id":"om_%d",`+
					`"ts":"2026-05-04T20:00:00+08:00","role":%q,"content":"第 %d 条：%s"}`+"\n",
				i%20, i, role, i, content)
		}
		_ = out.CloseWithError(w.Flush())
	}()
	cmd := magpie(t, p.dir, "history", "import", "-")
	cmd.Stdin = in
	report, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(report),
		fmt.Sprintf("%[1]d read: %[1]d new, 0 known, 0 bad, in ", messages)) {
		t.Fatalf("%v: %s", err, report)
	}
	// other load on the machine does not count
	took := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	memory := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss >> 10 // MB
	t.Logf("%v, %d MB", took, memory)
	most := int64(200) // some batches of 8 MB, and not the 80 MB of all messages beside them
	if racetest.Enabled {
		most *= 3 // its own bookkeeping takes memory
	}
	if took > time.Duration(messages)*700*time.Microsecond || memory > most {
		t.Errorf("took %v and %d MB", took, memory)
	}
}

func TestLinesAreRead(t *testing.T) {
	long := strings.Repeat("x", longestLine)
	r := newLineReader(strings.NewReader("\xef\xbb\xbfa\r\n\n \t\n" + long + "\n" + long + "x\nb"))
	for _, want := range []line{
		{1, []byte("a"), false}, {4, []byte(long), true}, {5, nil, true}, {6, []byte("b"), false},
	} {
		got, err := r.next()
		if err != nil || got.number != want.number || got.long != want.long ||
			!got.long && !bytes.Equal(got.text, want.text) {
			t.Errorf("line %d of %d bytes, long %v, %v; want line %d",
				got.number, len(got.text), got.long, err, want.number)
		}
	}
	if _, err := r.next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v", err)
	}
}
