package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/tidwall/gjson"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

func median(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	d = slices.Sorted(slices.Values(d))
	return d[len(d)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// rounds is how often a benchmark measures in each loop: a short run only checks that it works.
func rounds(n int) int {
	if testing.Short() {
		return max(1, n/8)
	}
	return n
}

// bareCLI is the CLI alone: the same arguments and environment, with nothing between it and the model.
type bareCLI struct {
	stdin   io.WriteCloser
	cmd     *exec.Cmd
	results chan struct{} // one per completed turn
}

func startBareCLI(b *testing.B, r *rig, session string, resume bool) *bareCLI {
	b.Helper()
	args := []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
		"--include-partial-messages", "--permission-prompt-tool", "stdio", "--permission-mode=default"}
	if resume {
		args = append(args, "--resume="+session)
	} else {
		args = append(args, "--session-id="+session)
	}
	cmd := exec.Command(r.cfg.Claude.Command, args...)
	cmd.Dir = r.cfg.Claude.Project
	cmd.Env = append(slices.Clone(r.cfg.Claude.Environ),
		"CLAUDE_CODE_DISABLE_FILE_MENTIONS=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1")
	p := &bareCLI{cmd: cmd, results: make(chan struct{}, 1)}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p.stdin = stdin
	go func() {
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if gjson.GetBytes(lines.Bytes(), "type").String() == "result" { // not always its first field
				p.results <- struct{}{}
			}
		}
	}()
	return p
}

func (p *bareCLI) say(b *testing.B, text string) {
	b.Helper()
	message := map[string]any{"role": "user", "content": text}
	line, err := json.Marshal(map[string]any{"type": "user", "message": message})
	if err == nil {
		_, err = p.stdin.Write(append(line, '\n'))
	}
	if err != nil {
		b.Fatal(err)
	}
}

// asked sends text and returns the time until the model request. It waits for the end of the turn, so that the next
// measurement does not find a busy CLI.
func (p *bareCLI) asked(b *testing.B, r *rig, text string) time.Duration {
	b.Helper()
	n := len(r.model.Requests()) + 1
	began := time.Now()
	p.say(b, text)
	req := r.requested(n)
	select {
	case <-p.results:
	case <-time.After(patience):
		b.Fatal("the CLI alone did not end its turn")
	}
	return req.At.Sub(began)
}

func (p *bareCLI) close() { _, _ = p.stdin.Close(), p.cmd.Wait() }

// requested waits for the n-th model request and for its end.
func (r *rig) requested(n int) modelsim.Request {
	r.Helper()
	var got modelsim.Request
	r.awaitModel(fmt.Sprintf("request %d", n), func(list []modelsim.Request) bool {
		if len(list) < n || list[n-1].End.IsZero() {
			return false
		}
		got = list[n-1]
		return true
	})
	return got
}

// untilRequest asks through the bridge and returns the time from the event's push to the model request.
func (r *rig) untilRequest(text string) time.Duration {
	r.Helper()
	return r.untilRequestOf(r.chat, r.user, text)
}

// untilRequestOf is untilRequest for another chat and user.
func (r *rig) untilRequestOf(chatID string, user feishusim.User, text string) time.Duration {
	r.Helper()
	n := len(r.model.Requests()) + 1
	id := r.sim.Say(chatID, user, text)
	req := r.requested(n)
	r.answer(chatID, id)
	for _, d := range r.sim.Deliveries() {
		if d.MessageID == id {
			return req.At.Sub(d.SentAt)
		}
	}
	r.Fatal("the event was never pushed")
	return 0
}

// ownShare is what the bridge may add to the answer of a running process, in addition to the CLI's own time. Benchmarks
// fail at a third more.
const ownShare = 3 * time.Millisecond

// BenchmarkLivingProcess compares the time from a message to the model request: with the bridge, event to request;
// alone, the line on the CLI's stdin to the request. Both processes have completed a turn before.
func BenchmarkLivingProcess(b *testing.B) {
	r := newRig(b, realCLI(b))
	alone := startBareCLI(b, r, uuid.NewString(), false)
	defer alone.close()
	r.untilRequest("warm up")
	alone.asked(b, r, "warm up")
	var bridged, cli []time.Duration
	for b.Loop() {
		for range rounds(10) { // alternating, so that both see the same load
			bridged = append(bridged, r.untilRequest("hello"))
			cli = append(cli, alone.asked(b, r, "hello"))
		}
	}
	report(b, bridged, cli, 2.5) // generous, for a busy machine
	if added := median(bridged) - median(cli); !testing.Short() && added > ownShare*13/10 {
		b.Errorf("%v are added", added)
	}
}

// BenchmarkNewProcess is the same for a process that has to be started and resumes a session.
func BenchmarkNewProcess(b *testing.B) {
	r := newRig(b, realCLI(b), oneProcessPerTurn)
	session := uuid.NewString()
	r.untilRequest("warm up")
	once(b, r, session, false)
	var bridged, cli []time.Duration
	for b.Loop() {
		for range rounds(5) {
			bridged = append(bridged, r.untilRequest("hello"))
			cli = append(cli, once(b, r, session, true))
		}
	}
	report(b, bridged, cli, 1.5)
}

// BenchmarkFirstMessage is the same for the first message of a chat, compared with a CLI that is started for one
// question: with a spare process, and without.
func BenchmarkFirstMessage(b *testing.B) {
	for name, tc := range map[string]struct {
		spares int
		times  float64 // allowed multiple of the CLI's time, a third above the target
	}{"spare": {1, 0.25 * 1.3}, "without": {0, 1.05 * 1.3}} {
		b.Run(name, func(b *testing.B) {
			r := newRig(b, realCLI(b), func(c *config.Config) { c.Claude.Spare = tc.spares })
			var bridged, cli []time.Duration
			for b.Loop() {
				for range rounds(2) {
					r.awaitSpares(tc.spares)
					user := r.sim.AddUser("小红")
					bridged = append(bridged, r.untilRequestOf(r.sim.PrivateChat(user), user, "hello"))
					r.awaitSpares(tc.spares)
					cli = append(cli, once(b, r, uuid.NewString(), false))
				}
			}
			report(b, bridged, cli, tc.times)
		})
	}
}

// BenchmarkOpenedChat is the same for a chat whose session has to be resumed, and which its user opened before the
// question: the process started then has already read the session.
func BenchmarkOpenedChat(b *testing.B) {
	r := newRig(b, realCLI(b))
	r.untilRequest("warm up")
	var bridged, cli []time.Duration
	for b.Loop() {
		for range rounds(2) {
			r.dropProcess()
			starts := r.started()
			r.sim.EnterChat(r.user)
			r.hasProcess(starts + 1)
			awaitStart()
			bridged = append(bridged, r.untilRequest("hello"))
			if b := r.lastBuilt(); b.Live || !b.Prompt.UseResume {
				r.Fatalf("live %v, resumed %v", b.Live, b.Prompt.UseResume)
			}
			cli = append(cli, once(b, r, uuid.NewString(), false))
		}
	}
	report(b, bridged, cli, 0.25*1.3)
}

// BenchmarkRestartedChat is the same for the first question after a restart of the bridge, compared with a CLI that is
// started to resume a session: the chat's process has started before the question.
func BenchmarkRestartedChat(b *testing.B) {
	r := newRig(b, realCLI(b))
	session := uuid.NewString()
	r.untilRequest("warm up")
	once(b, r, session, false)
	var bridged, cli []time.Duration
	for b.Loop() {
		for range rounds(2) {
			r.stop()
			r.start()
			r.hasProcess(1)
			awaitStart()
			bridged = append(bridged, r.untilRequest("hello"))
			if b := r.lastBuilt(); b.Live || !b.Prompt.UseResume {
				r.Fatalf("live %v, resumed %v", b.Live, b.Prompt.UseResume)
			}
			cli = append(cli, once(b, r, session, true))
		}
	}
	report(b, bridged, cli, 0.25*1.3)
}

// startTime is how long the CLI's start keeps a core busy, at most.
const startTime = 3 * time.Second

// awaitSpares waits until the spare processes have started, so that their starts do not affect the next measurement.
func (r *rig) awaitSpares(n int) {
	r.Helper()
	if n == 0 {
		return
	}
	r.hasSpare()
	awaitStart()
}

// awaitStart waits long enough for a CLI to start. There is no event: without a question it prints nothing.
func awaitStart() {
	if !testing.Short() {
		time.Sleep(startTime)
	}
}

// once is the time from the start of a CLI for one question to its model request.
func once(b *testing.B, r *rig, session string, resume bool) time.Duration {
	b.Helper()
	began := time.Now()
	p := startBareCLI(b, r, session, resume)
	defer p.close()
	started := time.Since(began)
	return started + p.asked(b, r, "hello")
}

// report reports both times, and fails if the bridge takes more than times as long as the CLI alone. A short run has
// too few samples for that.
func report(b *testing.B, bridged, cli []time.Duration, times float64) {
	b.Helper()
	if with, alone := median(bridged), median(cli); !testing.Short() && float64(with) > times*float64(alone) {
		b.Errorf("%v with the bridge, %v with the CLI alone", with, alone)
	}
	b.ReportMetric(ms(median(bridged)), "ms-bridged")
	b.ReportMetric(ms(median(cli)), "ms-alone")
	b.ReportMetric(ms(median(bridged)-median(cli)), "ms-added")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkStream measures what a user sees of a long answer that the model writes in two seconds: how long after the
// model's first and last words they are visible, and how often the card is updated in between.
func BenchmarkStream(b *testing.B) {
	r := newRig(b, realCLI(b))
	r.untilRequest("warm up")
	var first, last []time.Duration
	var rate []float64
	for b.Loop() {
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
			modelsim.Chunks(strings.Repeat("鹊桥相会，", 400), 20, 20*time.Millisecond), modelsim.Text("END"),
		}})
		n := len(r.model.Requests()) + 1
		m := r.answer(r.chat, r.sim.Say(r.chat, r.user, "go"))
		req := r.requested(n)
		begin, end := seen(m, "鹊"), seen(m, "END")
		first = append(first, begin.At.Sub(req.FirstDelta))
		last = append(last, end.At.Sub(req.LastDelta))
		growing := 0
		for i, s := range m.States {
			if i > 0 && len(s.Text) > len(m.States[i-1].Text) {
				growing++
			}
		}
		rate = append(rate, float64(growing)/req.LastDelta.Sub(req.FirstDelta).Seconds())
	}
	b.ReportMetric(ms(median(first)), "ms-first-text")
	b.ReportMetric(ms(median(last)), "ms-last-text")
	b.ReportMetric(slices.Min(rate), "states/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkShortAnswer measures how long after the model's last word a short answer stands on the card as a whole. It
// fails if that takes more than 40 ms.
func BenchmarkShortAnswer(b *testing.B) {
	r := newRig(b, realCLI(b))
	r.untilRequest("warm up")
	var last []time.Duration
	for b.Loop() {
		for chunks := range rounds(16) { // the end falls anywhere between two drawings
			r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
				modelsim.Chunks(strings.Repeat("好的，", 8+chunks), 3, 17*time.Millisecond), modelsim.Text("END"),
			}})
			n := len(r.model.Requests()) + 1
			m := r.answer(r.chat, r.sim.Say(r.chat, r.user, "go"))
			last = append(last, seen(m, "END").At.Sub(r.requested(n).LastDelta))
		}
	}
	if !testing.Short() && median(last) > 40*time.Millisecond { // beside all other tests it says nothing
		b.Errorf("the last words are visible after %v", median(last))
	}
	b.ReportMetric(ms(median(last)), "ms-last-text")
	b.ReportMetric(0, "ns/op")
}

// seen is the first state of a message that shows a text.
func seen(m feishusim.Message, text string) feishusim.State {
	for _, s := range m.States {
		if strings.Contains(s.Text, text) {
			return s
		}
	}
	return feishusim.State{}
}

// BenchmarkHundredAnswers gives 100 answers in 4 chats. The rig fails if a rule of the platform was broken.
func BenchmarkHundredAnswers(b *testing.B) {
	r := newRig(b, realCLI(b))
	chats := map[string]feishusim.User{r.chat: r.user}
	for i := range 3 {
		u := r.sim.AddUser(fmt.Sprintf("user %d", i))
		chats[r.sim.PrivateChat(u)] = u
	}
	for b.Loop() {
		for range rounds(25) {
			asked := map[string]string{}
			for id, u := range chats {
				asked[id] = r.sim.Say(id, u, "数到 100")
			}
			for id, q := range asked {
				if got := visibleText(r.answer(id, q)); !strings.HasSuffix(got, " 99 100") {
					b.Errorf("answer %q", got)
				}
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(4*rounds(25)*b.N), "ms/answer")
	b.ReportMetric(float64(len(r.sim.Violations())), "violations")
	b.ReportMetric(0, "ns/op")
}
