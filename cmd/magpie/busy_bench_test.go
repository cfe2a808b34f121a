package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
)

// BenchmarkEightChats has eight people write in turn, a message every 250 ms: for 10 s in each loop, so that -benchtime 4x
// is 40 s. It tells the time from a message to the model request, that of a living CLI alone on the same machine, what the
// first message after a start takes the CLI alone, and how many processes were started.
func BenchmarkEightChats(b *testing.B) {
	const people, pause, loop = 8, 250 * time.Millisecond, 10 * time.Second
	r := newRig(b, func(c *config) { c.Context.Titles = true })
	began := time.Now()
	alone := startBare(b, r, uuid.NewString(), false)
	defer alone.end()
	start := time.Since(began) + alone.asked(b, r, "bare 0")
	type seat struct {
		chat string
		user feishusim.User
	}
	seats := make([]seat, people)
	for i := range seats {
		u := r.sim.AddUser(fmt.Sprintf("user %d", i))
		seats[i] = seat{r.sim.PrivateChat(u), u}
	}
	asked := map[string]string{} // marks, by message
	var cli []time.Duration
	n := 0
	for b.Loop() {
		tick := time.NewTicker(pause)
		for range int(loop / pause) {
			<-tick.C
			s, mark := seats[n%people], fmt.Sprintf("mark-%d.", n)
			asked[r.sim.Say(s.chat, s.user, "what about "+mark)] = mark
			n++
		}
		tick.Stop()
		ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute) // eight starts on a machine with much else to do
		if err := r.model.Await(ctx, func(list []modelsim.Request) bool { return len(requestTimes(list, asked)) == len(asked) }); err != nil {
			b.Fatalf("%v; asked about %d of %d; %+v", err, len(requestTimes(r.model.Requests(), asked)), len(asked), r.prog.pool.Stats())
		}
		cancel()
		for i := range 10 { // in the same run
			line := fmt.Sprintf("bare %d.", n+i)
			at := time.Now()
			alone.say(b, line)
			r.awaitModel("the CLI alone", func(list []modelsim.Request) bool {
				k := slices.IndexFunc(list, func(q modelsim.Request) bool { return strings.Contains(q.LastUser(), line) })
				if k < 0 || list[k].End.IsZero() {
					return false
				}
				cli = append(cli, list[k].At.Sub(at))
				return true
			})
			<-alone.results
		}
	}
	times := requestTimes(r.model.Requests(), asked)
	var waits []time.Duration
	for _, d := range r.sim.Deliveries() {
		if at, ok := times[asked[d.MessageID]]; ok && asked[d.MessageID] != "" {
			waits = append(waits, at.Sub(d.SentAt))
			delete(asked, d.MessageID)
		}
	}
	slices.Sort(waits)
	b.ReportMetric(ms(median(waits)), "ms-bridged")
	b.ReportMetric(ms(waits[len(waits)*95/100]), "ms-bridged-p95")
	b.ReportMetric(ms(median(cli)), "ms-alone")
	b.ReportMetric(ms(start), "ms-start-alone")
	b.ReportMetric(float64(r.prog.pool.Stats().Started), "starts")
	b.ReportMetric(0, "ns/op")
}

// requestTimes is when the model was first asked about each mark. What is said while an answer is being written is asked
// together.
func requestTimes(list []modelsim.Request, asked map[string]string) map[string]time.Time {
	times := map[string]time.Time{}
	for _, q := range list {
		if len(q.Tools) == 0 { // a title
			continue
		}
		said := q.LastUser()
		for _, mark := range asked {
			if _, known := times[mark]; !known && strings.Contains(said, mark) {
				times[mark] = q.At
			}
		}
	}
	return times
}
