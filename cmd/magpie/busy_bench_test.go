package main

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// BenchmarkEightChats has eight people write in turn, a message every 250 ms: for 10 s in each loop, so -benchtime 4x
// is 40 s. It reports the time from a message to the model request, that of a running CLI alone, which is asked in
// between, how long the CLI alone takes for the first message after a start, and how many processes were started.
func BenchmarkEightChats(b *testing.B) {
	const people, pause = 8, 250 * time.Millisecond
	loop := 10 * time.Second
	if testing.Short() {
		loop = time.Second
	}
	r := newRig(b, realCLI(b), func(c *config.Config) { c.Context.Titles = true })
	began := time.Now()
	alone := startBareCLI(b, r, uuid.NewString(), false)
	defer alone.close()
	start := time.Since(began) + alone.asked(b, r, "bare start")
	go func() {
		for range alone.results { // drain: nothing waits for them
		}
	}()
	type seat struct {
		chat string
		user feishusim.User
	}
	seats := make([]seat, people)
	for i := range seats {
		u := r.sim.AddUser(fmt.Sprintf("user %d", i))
		seats[i] = seat{r.sim.PrivateChat(u), u}
	}
	marks := map[string]string{}    // by message
	asked := map[string]time.Time{} // by mark, of the CLI alone
	expected := func() int { return len(marks) + len(asked) }
	for b.Loop() {
		tick := time.NewTicker(pause)
		for range int(loop / pause) {
			<-tick.C
			n := len(marks)
			s, mark := seats[n%people], fmt.Sprintf("mark-%d.", n)
			marks[r.sim.Say(s.chat, s.user, "what about "+mark)] = mark
			if n%people == people/2 {
				time.Sleep(pause / 2) // the rate of the load
				own := fmt.Sprintf("own-%d.", n)
				asked[own] = time.Now()
				alone.say(b, own)
			}
		}
		tick.Stop()
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute) // eight starts on a busy machine
		err := r.model.Await(ctx, func(list []modelsim.Request) bool { return len(requestTimes(list)) >= expected() })
		if err != nil {
			b.Fatalf("%v; asked about %d of %d; %+v",
				err, len(requestTimes(r.model.Requests())), expected(), r.pool().Stats())
		}
		cancel()
	}
	times := requestTimes(r.model.Requests())
	var bridged, cli []time.Duration
	for _, d := range r.sim.Deliveries() {
		if mark := marks[d.MessageID]; mark != "" {
			bridged = append(bridged, times[mark].Sub(d.SentAt))
			delete(marks, d.MessageID) // it may be delivered twice
		}
	}
	for mark, at := range asked {
		cli = append(cli, times[mark].Sub(at))
	}
	slices.Sort(bridged)
	usual, slow := median(bridged), bridged[len(bridged)*95/100]
	whole := len(bridged) >= 20*people // otherwise the eight starts dominate
	if whole && usual > 2*median(cli)+10*time.Millisecond {
		b.Errorf("half of the messages reach the model within %v, with the CLI alone within %v", usual, median(cli))
	}
	// A start keeps a core busy for about its whole duration, so the last of eight waits for the others.
	if most := start * 3 / 2 * time.Duration(max(1, people/runtime.NumCPU())); whole && slow > most {
		b.Errorf("95 of 100 messages reach the model within %v, want %v; a start takes %v", slow, most, start)
	}
	if n := r.started(); n > people {
		b.Errorf("%d processes were started for %d chats", n, people)
	}
	b.ReportMetric(ms(usual), "ms-bridged")
	b.ReportMetric(ms(slow), "ms-bridged-p95")
	b.ReportMetric(ms(median(cli)), "ms-alone")
	b.ReportMetric(ms(start), "ms-start-alone")
	b.ReportMetric(float64(r.started()), "starts")
	b.ReportMetric(0, "ns/op")
}

var markOf = regexp.MustCompile(`(?:mark|own)-\d+\.`)

// requestTimes is when the model was first asked about each mark. Messages that arrive during a turn share the next
// one.
func requestTimes(list []modelsim.Request) map[string]time.Time {
	times := map[string]time.Time{}
	for _, q := range list {
		if len(q.Tools) == 0 { // a request for a title
			continue
		}
		for _, mark := range markOf.FindAllString(q.LastUser(), -1) {
			if _, known := times[mark]; !known {
				times[mark] = q.At
			}
		}
	}
	return times
}
