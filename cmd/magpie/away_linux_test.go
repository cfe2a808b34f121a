package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"magpie/internal/chat"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
	"magpie/internal/pgtest"
)

// outage is a bridge whose database server goes away while people write.
type outage struct {
	*rig
	server *pgtest.Server
	proxy  *pgtest.Proxy
	again  map[string]bool // texts that an agent may be asked again
	times  int             // that the server has been away
	chats  []string
	said   map[string][]string // by chat
	ids    map[string]string   // of the messages, by text
}

func newOutage(t *testing.T, change ...func(*config.Config)) *outage {
	t.Helper()
	server := pgtest.Start(t, pgtest.Config{})
	o := &outage{server: server, proxy: pgtest.NewProxy(t, server), said: map[string][]string{}, again: map[string]bool{}, ids: map[string]string{}}
	every := time.Second
	if *full {
		every = 5 * time.Second
	}
	redeliver := slices.Repeat([]time.Duration{every}, 600)
	o.rig = makeRig(t, feishusim.Config{AckTimeout: 3 * time.Second, Redeliver: redeliver}, func(c *config.Config) {
		c.DB.URL, c.Data = o.proxy.URL("postgres"), t.TempDir()
		for _, f := range change {
			f(c)
		}
	})
	o.start()
	t.Cleanup(func() { o.stop() })
	for i := range 4 {
		o.chats = append(o.chats, o.sim.PrivateChat(o.sim.AddUser(fmt.Sprintf("用户%d", i))))
	}
	o.chat = o.chats[0]
	return o
}

// say has somebody write in a chat, and returns the message.
func (o *outage) say(in string) (id string) {
	o.Helper()
	text := fmt.Sprintf("第 %d 条", len(o.ids))
	o.said[in] = append(o.said[in], text)
	o.ids[text] = o.sim.Say(in, o.memberOf(in), text)
	return o.ids[text]
}

// stored counts rows of the database.
func (o *outage) stored(query string) (n int) {
	o.Helper()
	side, err := sql.Open("pgx", o.server.URL("postgres"))
	must(o, err)
	must(o, errors.Join(side.QueryRowContext(o.Context(), query).Scan(&n), side.Close()))
	return n
}

// deliveries are those of a message with this answer of the bridge.
func deliveries(v *feishusim.View, id string, code int) (n int) {
	for _, d := range v.Deliveries() {
		if d.MessageID == id && d.AckCode == code {
			n++
		}
	}
	return n
}

// readiness is the status of /readyz, and what it says.
func (o *outage) readiness() (status int, body string) {
	w := httptest.NewRecorder()
	o.prog.healthPages().ServeHTTP(w, httptest.NewRequestWithContext(o.Context(), http.MethodGet, "/readyz", nil))
	return w.Code, w.Body.String()
}

// away lets people write while the server is away: in each chat once, and then once a second.
func (o *outage) away(leave func() error, least time.Duration) {
	o.Helper()
	must(o, leave())
	o.times++
	if !o.logs.await(isAway, o.times) {
		o.Fatal("nobody is told that the server is away")
	}
	var ids []string
	for rounds := range 1 + int(least/time.Second) {
		if rounds > 0 {
			time.Sleep(time.Second)
		}
		for _, in := range o.chats {
			ids = append(ids, o.say(in))
		}
		o.await("refusals", func(v *feishusim.View) bool {
			return !slices.ContainsFunc(ids, func(id string) bool { return deliveries(v, id, http.StatusInternalServerError) == 0 })
		})
		if code, body := o.readiness(); code != http.StatusServiceUnavailable || !strings.Contains(body, `"store":{"ok":false,"error":"write to the database`) {
			o.Errorf("ready: %d %s", code, body)
		}
	}
	o.await("anything", func(v *feishusim.View) bool {
		for _, id := range ids {
			if deliveries(v, id, http.StatusOK) > 0 {
				o.Errorf("%s is acknowledged, and not stored", id)
			}
		}
		return true
	})
}

// settle waits until everything is answered, and checks that it is answered once.
func (o *outage) settle() {
	o.Helper()
	o.until("all messages", func() bool { return o.stored(`SELECT COUNT(*) FROM messages WHERE role = 'user'`) == len(o.ids) })
	o.until("all answers", func() bool {
		return o.stored(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`)+o.stored(`SELECT COUNT(*) FROM outbox`) == 0
	})
	if n := o.stored(`SELECT COUNT(*) FROM turns WHERE state <> 'done'`); n > 0 {
		o.Errorf("%d turns have not ended well", n)
	}
	if code, body := o.readiness(); code != http.StatusOK {
		o.Errorf("not ready: %d %s", code, body)
	}
	asked := map[string]int{}
	for _, q := range o.model.Requests() {
		_, prompt, _ := readPrompt(q.LastUser())
		for text := range strings.SplitSeq(prompt, "\n\n") {
			asked[text]++
		}
	}
	for in, texts := range o.said {
		for _, text := range texts {
			if n := asked[text]; n == 0 || n > 1 && !o.again[text] {
				o.Errorf("the agent was asked %q %d times", text, asked[text])
			}
		}
		turns := o.stored(`SELECT COUNT(*) FROM turns WHERE chat_key = '` + chat.FeishuChat(in).String() + `'`)
		shown := 0
		for _, m := range o.sim.Messages(in) {
			if m.FromBot && !m.Deleted {
				shown++
			}
			if m.Last().Streaming {
				o.Errorf("a card streams on: %q", m.Text())
			}
		}
		if shown != turns {
			o.Errorf("%d answers of %d turns are visible", shown, turns)
		}
	}
}

// What the operator is told when the server goes away, and when it is back.
const (
	isAway = "the database server does not answer: nothing is stored"
	isBack = "the database server answers again"
)

// checkLog checks that the operator is told once each time, and nothing again and again.
func (o *outage) checkLog() {
	o.Helper()
	log := o.logs.String()
	for _, says := range []string{isAway, isBack} {
		if n := strings.Count(log, says); n != o.times {
			o.Errorf("%q is said %d times, want %d", says, n, o.times)
		}
	}
	if strings.Contains(log, "trying again") {
		o.Error("each try is logged")
	}
}

// The database server is away while an answer is written and people go on writing, with [full] for 20 seconds and for two
// minutes: the answer is shown to its end, nothing is acknowledged before it is stored, everything is answered once, and
// nobody has to restart the bridge.
func TestAnOutageOfTheDatabase(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	for _, in := range o.chats {
		o.say(in)
	}
	o.settle()
	outages := []struct {
		leave func() error
		least time.Duration
		ends  bool // the agent of the answer
	}{{o.server.Stop, 0, false}, {o.server.Kill, 0, false}, {o.server.Kill, 0, true}}
	if *full {
		outages[0].least, outages[1].least = 20*time.Second, 2*time.Minute
	}
	for _, outage := range outages {
		more := make(chan struct{})
		o.model.Script(modelsim.Rule{Times: 1, Match: asksFor(fmt.Sprintf("第 %d 条", len(o.ids))), Steps: []modelsim.Step{
			modelsim.Text("前半，"), modelsim.Hold(more), modelsim.Text("后半。"),
		}})
		held := fmt.Sprintf("第 %d 条", len(o.ids))
		o.again[held] = outage.ends || outage.least > 0 // by then another bridge may have its chat, so its agent has ended
		id := o.say(o.chats[0])
		o.shows(o.chats[0], id, "前半")
		agent, began := o.agent(), time.Now()
		o.away(outage.leave, outage.least)
		if outage.ends { // its answer begins again when the server is back
			must(t, syscall.Kill(agent, syscall.SIGKILL))
		}
		close(more)
		if !outage.ends && outage.least == 0 {
			o.shows(o.chats[0], id, "前半，后半。") // although it is not stored yet
		}
		t.Logf("away for %v: %d messages, %d goroutines, %d bytes of logs", time.Since(began), len(o.ids),
			runtime.NumGoroutine(), len(o.logs.String()))
		must(t, o.server.Start(context.WithoutCancel(t.Context())))
		o.settle()
		o.checkLog()
	}
}

// The server goes away after a question was taken up and before its History was read: it waits, and is not asked without it.
func TestAQuestionWaitsForItsHistory(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	o.say(o.chat)
	o.settle()
	side, err := sql.Open("pgx", o.server.URL("postgres"))
	must(t, err)
	t.Cleanup(func() { _ = side.Close() })
	held, err := side.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = held.ExecContext(t.Context(), `LOCK TABLE memories`)
	must(t, err)
	must(t, syscall.Kill(o.agent(), syscall.SIGKILL)) // what it knows is in its session only
	o.say(o.chat)
	o.until("the reading of memories", func() bool {
		return o.stored(`SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND relation = 'memories'::regclass`) > 0
	})
	must(t, o.server.Kill())
	if !o.logs.await("history not read", 1) {
		t.Error("the history was read")
	}
	must(t, o.server.Start(context.WithoutCancel(t.Context())))
	o.settle()
	for _, q := range o.model.Requests() {
		if prompt := q.LastUser(); strings.Contains(prompt, "第 1 条") && !strings.Contains(prompt, "第 0 条") {
			t.Errorf("asked without the history: %q", prompt)
		}
	}
}

// The connection breaks after a commit, again and again, so that the bridge does not know whether it took effect:
// everything is answered once.
func TestLostCommits(t *testing.T) {
	t.Parallel()
	o := newOutage(t)
	for range 5 {
		for n := range int64(4) { // of a message, its answer and its delivery
			o.proxy.LoseCommits(1 + n%2)
			o.say(o.chats[n])
			o.until("the commits", func() bool { return o.proxy.Left() == 0 })
		}
		o.settle()
	}
}
