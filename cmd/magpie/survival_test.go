package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/db/dbtest"
	"magpie/db/engine"
	"magpie/feishu"
	"magpie/internal/claude/claudetest"
	"magpie/internal/door"
	"magpie/internal/door/doortest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
	"magpie/internal/smalldisk"
)

// The bridge is killed while the agent runs a long command with a child in a session of its own. After the restart, all
// of them have ended before the end of the answer is reported, whether the agent was killed, too, or works on until
// somebody stops it.
func TestAKilledBridgeLeavesNoTool(t *testing.T) {
	t.Parallel()
	for how, want := range map[string]string{"stopped": "已停止", "agent killed": "中断"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, realCLI(t), allowBash, oneProcessPerTurn) // none is started ahead
			mark := filepath.Join(s.TempDir(), "pids")
			s.model.Script(
				modelsim.Rule{Match: doortest.AfterTool, Steps: []modelsim.Step{modelsim.Text("完了")}},
				modelsim.Rule{Times: 1, Steps: []modelsim.Step{
					modelsim.Text("开始"),
					bash("echo $$ >> " + mark + "; (setsid nohup sleep 301 & echo $! >> " + mark + "); sleep 300"),
				}})
			s.run()
			s.connected()
			id := s.sim.Say(s.chat, s.user, "等一下")
			s.until("the tool", func() bool {
				pids, _ := os.ReadFile(mark)
				// between fork and exec a process has no environment for a moment
				return bytes.Count(pids, []byte("\n")) == 2 && strings.Contains(s.transcript(), "开始") &&
					len(s.agents()) >= 3
			})
			s.kill()
			if how == "agent killed" {
				s.killCLIs()
			}
			if len(s.agents()) < 2 {
				t.Fatalf("the tools have ended with the bridge: %v", s.agents())
			}
			s.run()
			s.connected()
			if how == "stopped" {
				s.shows(s.chat, id, "服务重启了，回答没有中断")
				if len(s.agents()) < 3 {
					t.Errorf("the agent does not go on: %v", s.agents())
				}
				s.press(replies(s.sim.View(), s.chat, id)[0], "stop")
			}
			card := s.answer(s.chat, id)
			if text := card.Text(); !strings.Contains(text, "开始") || !strings.Contains(text, want) {
				t.Errorf("card %q", text)
			}
			if offers(card, doContinue) != (how == "agent killed") {
				t.Errorf("the card offers to continue, or should: %s", card.Last().Card)
			}
			// The end is reported when none of them is left; alone the tools would run for five minutes. A sweep waits
			// five seconds for them, counted in polls, and a start logs if that was not enough.
			if left := s.agents(); len(left) > 0 || strings.Contains(s.logs.String(), "do not end") {
				t.Errorf("still there: %v", left)
			}
			s.terminate()
			s.clean()
		})
	}
}

// killCLIs kills the agents, but not what they have started.
func (s *service) killCLIs() {
	s.Helper()
	for _, agent := range s.agents() {
		pid, _, _ := strings.Cut(agent, " ")
		if env, err := os.ReadFile("/proc/" + pid + "/environ"); err != nil || bytes.Contains(env, []byte("CLAUDECODE=")) {
			continue // a tool
		}
		n, err := strconv.Atoi(pid)
		must(s, err)
		_ = syscall.Kill(n, syscall.SIGKILL) // it may have ended
		s.until("the end of the agent", func() bool {
			return !slices.ContainsFunc(s.agents(), func(left string) bool { return strings.HasPrefix(left, pid+" ") })
		})
	}
}

// The service is asked to end in mid-answer, as by systemd and pm2. The answer goes on by itself, or, if something was
// changed, when somebody asks for it.
func TestATerminatedServiceAnnouncesItAndContinues(t *testing.T) {
	t.Parallel()
	for name, changed := range map[string]bool{"nothing changed": false, "something changed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{}, longShutdown, allowBash)
			half := modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}}
			s.model.Script(half, modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("另外一半")}})
			announced, cards := "重启", 1
			if changed {
				announced, cards = "中断", 2
				s.calls(bash(appendLine("out.txt")))
			}
			s.run()
			s.connected()
			id := s.sim.Say(s.chat, s.user, "说点什么")
			s.until("text", func() bool { return strings.Contains(s.transcript(), "说到一半") })
			took := s.terminate()
			if took > s.cfg.Shutdown.Duration+busy {
				t.Errorf("the stop took %v", took)
			}
			s.awaitNoAgents(patience)
			card := replies(s.sim.View(), s.chat, id)[0]
			late := s.leftUndelivered(took) || strings.Contains(s.logs.String(), "card not drawn")
			if !late && (!strings.Contains(card.Text(), announced) || card.Last().Streaming) {
				t.Errorf("after the stop the card says %q", card.Text())
			}
			s.run()
			s.connected()
			if changed {
				s.press(s.answer(s.chat, id), doContinue)
			}
			s.until("the rest", func() bool {
				list := replies(s.sim.View(), s.chat, id)
				return len(list) == cards && visibleText(list[cards-1]) == "另外一半" && !list[cards-1].Last().Streaming &&
					!running(list[cards-1])
			})
			s.terminate()
			s.clean()
		})
	}
}

// Somebody stops an answer, and the program is killed at once: the answer stays stopped.
func TestAStopOutlivesTheProgram(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"button", "word"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newService(t, feishusim.Config{})
			s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Hang()}},
				modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("还是说了")}})
			s.run()
			s.connected()
			id := s.sim.Say(s.chat, s.user, "说点什么")
			s.awaitModel("the question", func(list []modelsim.Request) bool { return len(list) == 1 })
			s.await("a card that can be stopped", func(v *feishusim.View) bool {
				list := replies(v, s.chat, id)
				return len(list) == 1 && running(list[0])
			})
			if how == "button" {
				// storing it takes long
				if got := s.press(replies(s.sim.View(), s.chat, id)[0], "stop"); !strings.Contains(got, "正在停止") {
					s.until("the stop to be stored", func() bool {
						return s.count(`SELECT COUNT(*) FROM turns WHERE stopped OR state = 'cancelled'`) == 1
					})
				}
			} else {
				s.answer(s.chat, s.sim.Say(s.chat, s.user, "/停止"))
			}
			s.kill()
			s.run()
			s.connected()
			if got := s.answer(s.chat, id).Text(); !strings.Contains(got, "已停止") {
				t.Errorf("the card says %q", got)
			}
			s.terminate()
			if n := len(s.model.Requests()); n != 1 {
				t.Errorf("the model was asked %d times", n)
			}
			s.clean()
		})
	}
}

// 200 messages to 20 chats, each delivered five times over two connections, some with new event ids, with three
// restarts in between.
func TestRedeliveredMessagesAreAnsweredOnce(t *testing.T) {
	t.Parallel()
	// Two programs cannot keep to the app's rate limits together, and 200 messages at once may take a busy machine
	// longer than the platform waits.
	platform := feishusim.Config{AckTimeout: patience, Limits: feishusim.Limits{AppPerSecond: 200}}
	r := makeRig(t, platform, func(c *config.Config) {
		c.Claude = claudetest.ScriptedConfig(t)
		// A busy machine needs long for the final notices. Cancelled calls may still be running when the next program
		// draws the same card.
		c.Shutdown.Duration = patience
	})
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	var chats []string
	for i := range 20 {
		chats = append(chats, r.sim.PrivateChat(r.sim.AddUser(fmt.Sprintf("用户%d", i))))
	}
	now := time.Now()
	want := map[string][]string{}
	for round := range 4 {
		stop := r.second()
		var ids []string
		for i := range 50 {
			n := round*50 + i
			c := chats[n%20]
			text := fmt.Sprintf("第 %d 条", n)
			want[c] = append(want[c], text)
			ids = append(ids, r.sim.Say(
				c, r.memberOf(c), text, feishusim.Time(now.Add(time.Duration(n)*time.Millisecond)),
			))
			// people wait until their first message has been delivered before they send the next one; the two
			// connections are not synchronized
			if n%20 == 19 {
				r.await("the messages to be acknowledged", func(v *feishusim.View) bool { return unacked(v, ids) == 0 })
			}
		}
		r.await("the messages to be acknowledged", func(v *feishusim.View) bool { return unacked(v, ids) == 0 })
		for k := range 4 {
			for i, id := range ids {
				r.sim.Redeliver(id, (i+k)%3 == 0)
			}
		}
		stop()
		if round < 3 {
			r.stop()
			r.start()
		}
	}
	r.until("every message at the agent", func() bool {
		return r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0 &&
			r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`) >= 200
	})
	r.stop()
	if n := r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`); n != 200 {
		t.Errorf("%d messages are stored", n)
	}
	got := r.promptedTexts(want)
	for c, texts := range want {
		if !slices.Equal(got[c], texts) {
			t.Errorf("chat %s: the agent was asked %q, want %q", c, got[c], texts)
		}
	}
}

// second opens another connection of the same app to the same bridge; the platform picks one for each event.
func (r *rig) second() (stop func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func(b door.Handler) {
		defer close(done)
		_ = feishu.New(r.cfg.FeishuConfig(), zerolog.Nop()).Run(ctx, b)
	}(r.prog.bridge)
	r.await("two connections", func(v *feishusim.View) bool { return v.Connections() == 2 })
	return func() { cancel(); <-done }
}

// promptedTexts reads from the agent's transcripts which of the texts were asked, by chat and in order.
func (r *rig) promptedTexts(texts map[string][]string) map[string][]string {
	r.Helper()
	files, err := filepath.Glob(filepath.Join(r.agentsFolder(), "*", "projects", "*", "*.jsonl"))
	must(r, err)
	owner := map[string]string{}
	for c, list := range texts {
		for _, text := range list {
			owner[text] = c
		}
	}
	got := map[string][]string{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(r, err)
		for line := range strings.Lines(string(data)) {
			if gjson.Get(line, "type").String() != "user" {
				continue
			}
			_, prompt, _ := readPrompt(gjson.Get(line, "message.content").String())
			for text := range strings.SplitSeq(prompt, "\n\n") {
				if c, ok := owner[text]; ok {
					got[c] = append(got[c], text)
				}
			}
		}
	}
	return got
}

// unacked counts the messages without an acknowledged delivery.
func unacked(v *feishusim.View, ids []string) int {
	taken := map[string]bool{}
	for _, d := range v.Deliveries() {
		taken[d.MessageID] = taken[d.MessageID] || d.AckCode == http.StatusOK
	}
	n := 0
	for _, id := range ids {
		if !taken[id] {
			n++
		}
	}
	return n
}

// Faults of every kind, a thousand over sixty turns with [full]: each answer is visible once and complete, and no rate
// limit or sequence is violated.
func TestAStormOfFaults(t *testing.T) {
	const people = 8
	turns, faults := 24, 200
	if *full {
		turns, faults = 60, 1000
	}
	t.Parallel()
	r := makeRig(t,
		feishusim.Config{AckTimeout: 3 * time.Second, PingInterval: time.Second, Redeliver: []time.Duration{
			time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		}},
		func(c *config.Config) {
			c.Claude.MaxProcesses, c.Feishu.CircuitTimeout, c.Feishu.NameWait = people, time.Second, 0
		})
	r.start()
	t.Cleanup(func() {
		r.stop()
		for _, v := range r.sim.Violations() {
			switch {
			case v.Rule == feishusim.RuleParallel: // a cancelled call may still be running there
			case v.Rule == feishusim.RuleAck && strings.Contains(v.Detail, "not acknowledged within"):
				// the connection was frozen; the event is delivered again
			default:
				t.Errorf("rule of the platform broken: %s: %s", v.Rule, v.Detail)
			}
		}
	})
	r.model.Script(modelsim.Rule{Steps: []modelsim.Step{
		modelsim.Chunks(strings.Repeat("一二三四五六七八九十", 10)+"。完。", 2, 25*time.Millisecond),
	}})
	var chats []string
	for i := range people {
		chats = append(chats, r.sim.PrivateChat(r.sim.AddUser(fmt.Sprintf("用户%d", i))))
	}
	dice := rand.New(rand.NewPCG(7, 7))
	began, stop := time.Now(), r.sim.Storm(7, 0.7)
	var asked []question
	dropped := 0
	for i := 0; i < turns || i < 3*turns && r.sim.Dealt()+dropped < faults; i++ {
		q := question{chat: chats[i%people]}
		q.id = r.sim.Say(q.chat, r.memberOf(q.chat), fmt.Sprintf("第 %d 个问题", i))
		asked = append(asked, q)
		switch dice.IntN(6) {
		case 0:
			r.sim.DropConnections(dice.IntN(2) == 0)
			dropped++
		case 1:
			r.sim.Redeliver(q.id, dice.IntN(2) == 0)
		case 2:
			r.sim.Freeze(true)
			time.AfterFunc(time.Second, func() { r.sim.Freeze(false) })
			dropped++
		}
		if i%people == people-1 {
			t.Logf("%v: %d turns, %d faults", time.Since(began), i+1, r.sim.Dealt())
			r.until("the turns", func() bool {
				// lost messages are delivered later
				return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`) > i-people &&
					r.count(`SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')`) == 0
			})
		}
	}
	t.Logf("%d turns, %d faults, %d lost connections", len(asked), stop(), dropped)
	r.sim.Freeze(false)
	// A delivery that failed several times is retried after up to five minutes.
	r.within(10*time.Minute, "all answers", func() bool { return r.allDelivered(asked) })
	ended := r.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`)
	whole := 0
	for _, c := range chats {
		for _, m := range r.sim.Messages(c) {
			if m.FromBot {
				if m.Last().Streaming || strings.Count(m.Text(), "一二三四五六七八九十") != 10 ||
					!strings.HasSuffix(visibleText(m), "。完。") {
					t.Errorf("an incomplete answer: %q", m.Text())
				}
				whole++
			}
		}
	}
	if whole != ended || ended < turns/2 {
		t.Errorf("%d answers are visible, %d turns have ended", whole, ended)
	}
}

type question struct{ chat, id string }

// allDelivered reports whether everything is answered and delivered.
func (r *rig) allDelivered(asked []question) bool {
	return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`) >= len(asked) &&
		r.count(`SELECT (SELECT COUNT(*) FROM turns WHERE state IN ('queued', 'running')) +
			(SELECT COUNT(*) FROM outbox)`) == 0
}

// memberOf is the person of a private chat.
func (r *rig) memberOf(chatID string) feishusim.User {
	r.Helper()
	for _, c := range r.sim.Chats() {
		if c.ID == chatID {
			return c.Members[0]
		}
	}
	r.Fatalf("no chat %s", chatID)
	return feishusim.User{}
}

// A platform that does not respond does not delay the program's end. Undelivered cards are shown after the next start.
func TestAStopEndsInTimeWhenThePlatformHangs(t *testing.T) {
	s := newService(t, feishusim.Config{}, allowBash)
	s.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Text("说到一半"), modelsim.Hang()}})
	s.calls(bash(appendLine("out.txt"))) // so that the end of the turn is decided, and must be shown
	s.run()
	s.connected()
	s.sim.Say(s.chat, s.user, "说点什么")
	s.until("text", func() bool { return s.count(`SELECT COUNT(*) FROM turns WHERE draft <> ''`) == 1 })
	s.sim.Inject(feishusim.Fault{Path: "/open-apis/", Delay: time.Minute, Status: 502})
	if took := s.terminate(); took > s.cfg.Shutdown.Duration+busy {
		t.Errorf("the stop took %v", took)
	}
	if n := s.count(`SELECT COUNT(*) FROM outbox`); n != 1 {
		t.Errorf("%d deliveries wait", n)
	}
}

// retold are the redelivery intervals of a platform that redelivers unacknowledged events soon, and for long enough for
// a slow machine.
var retold = []time.Duration{
	time.Second, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second,
}

// The disk is full for a while: a message that cannot be stored is not acknowledged, so it is redelivered and answered
// later.
func TestAFullDisk(t *testing.T) {
	dbtest.OfSQLite(t)
	t.Parallel()
	smalldisk.Run(t, "8m", fullDisk)
}

func fullDisk(t *testing.T, dir string) {
	r := makeRig(t, feishusim.Config{Redeliver: retold},
		func(c *config.Config) { c.DB.URL = "sqlite://" + filepath.Join(dir, "magpie.db") })
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	r.ask("我叫小明")

	filler := filepath.Join(dir, "filler")
	f, err := os.Create(filler)
	must(t, err)
	for n := 64 << 10; n > 0; {
		if _, err := f.Write(make([]byte, n)); err != nil {
			n /= 2
		}
	}
	must(t, f.Close())
	id := r.sim.Say(r.chat, r.user, "我叫什么名字？")
	r.await("a refusal", func(v *feishusim.View) bool {
		for _, d := range v.Deliveries() {
			if d.MessageID == id && d.AckCode == http.StatusInternalServerError {
				return true
			}
		}
		return false
	})
	if err := r.store().CheckHealth(t.Context()); !errors.Is(err, engine.ErrFull) {
		t.Errorf("the error of the store: %v", err)
	}
	must(t, os.Remove(filler))
	if got := visibleText(r.answer(r.chat, id)); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
}

// Another process keeps the database locked for a while: nothing is lost, nothing is answered twice.
func TestALockedDatabase(t *testing.T) {
	t.Parallel()
	r := makeRig(t, feishusim.Config{Redeliver: retold})
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	r.ask("我叫小明")
	free := lockDatabase(t, databaseOf(r.cfg), 8*time.Second)
	id := r.sim.Say(r.chat, r.user, "我叫什么名字？")
	<-free
	if got := visibleText(r.answer(r.chat, id)); got != "你叫小明。" {
		t.Errorf("answer %q", got)
	}
	if n := r.count(`SELECT COUNT(*) FROM messages WHERE role = 'user'`); n != 2 {
		t.Errorf("%d messages are stored", n)
	}
}

// lockDatabase holds the database's lock for the duration d, and then closes free.
func lockDatabase(t *testing.T, path string, d time.Duration) (free <-chan struct{}) {
	t.Helper()
	raw := dbtest.Side(t, path)
	conn, err := raw.Conn(t.Context())
	must(t, err)
	_, err = conn.ExecContext(t.Context(), dbtest.KeepOut())
	must(t, err)
	done := make(chan struct{})
	time.AfterFunc(d, func() {
		defer close(done)
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		if err := errors.Join(err, conn.Close(), raw.Close()); err != nil {
			t.Error(err)
		}
	})
	return done
}
