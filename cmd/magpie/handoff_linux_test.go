package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"magpie/db/dbtest"
	"magpie/db/programs"
	"magpie/internal/chat"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
	"magpie/internal/door/terminal"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// hasTyped says that the machine's user has used the CLI in the project before.
func hasTyped(t *testing.T) func(*config.Config) {
	return func(c *config.Config) {
		for _, kv := range c.Claude.Environ {
			if dir, ok := strings.CutPrefix(kv, "CLAUDE_CONFIG_DIR="); ok {
				must(t, os.MkdirAll(dir, 0o700))
				must(t, os.WriteFile(filepath.Join(dir, ".claude.json"), fmt.Appendf(nil, `{"hasCompletedOnboarding":true,
					"customApiKeyResponses":{"approved":["sk-test-dummy"],"rejected":[]},
					"projects":{%q:{"hasTrustDialogAccepted":true}}}`, c.Claude.Project), 0o600))
			}
		}
	}
}

// newHandoffRig is a rig whose chats can go on in a terminal, with that CLI. Its user is an admin.
func newHandoffRig(t *testing.T, command string, change ...func(*config.Config)) *chatRig {
	t.Helper()
	r := newChatRig(t, append([]func(*config.Config){func(c *config.Config) { c.Claude.Command = command }}, change...)...)
	r.letUserAdminister()
	return r
}

func (r *rig) letUserAdminister() {
	rules := r.cfg.Access
	rules.Admins = []string{r.user.OpenID}
	r.setAccess(rules)
}

// attach is magpie attach of the private chat.
func (r *chatRig) attach() *exec.Cmd { return r.attachTo(r.chat) }

func (r *chatRig) attachTo(key string) *exec.Cmd {
	r.Helper()
	cmd := magpie(r, r.TempDir(), "attach", "--config", r.config, key)
	cmd.Env = append(cmd.Environ(), "LC_ALL=en_US.UTF-8", "TERM=xterm", "OPERATORS_SECRET=1")
	return cmd
}

// attached opens a terminal with the chat.
func (r *chatRig) attached() *typist {
	r.Helper()
	t := openTerminal(r, r.attach())
	t.await("shortcuts")
	return t
}

// sends types a line in the CLI, and sends it once the CLI shows it, until done. When the CLI has drawn its line it may not
// read from it yet.
func (r *chatRig) sends(who *typist, text string, done func() bool) {
	r.Helper()
	_, err := who.tty.Write([]byte(text))
	must(r, err)
	who.await(text[strings.LastIndexAny(text, " /")+1:])
	r.until(text+" to be sent", func() bool {
		if done() {
			return true
		}
		_, _ = who.tty.Write([]byte("\r")) // an empty line sends nothing
		return false
	})
}

// leaves leaves the CLI.
func (r *chatRig) leaves(who *typist) {
	r.Helper()
	r.sends(who, "/exit", func() bool {
		select {
		case <-who.done:
			return true
		default:
			return false
		}
	})
	who.exit()
}

// types types a question in the CLI, and waits until its answer is in the transcript. meanwhile is called before that.
func (r *chatRig) types(who *typist, text string, meanwhile ...func()) {
	r.Helper()
	requests := func() int { return len(r.model.Requests()) }
	asked := requests()
	r.until("the last answer to be in the transcript", func() bool { return r.inTranscripts(ofAnswer) == asked })
	before := r.inTranscripts(ofAnswer)
	r.sends(who, text, func() bool { return requests() > asked })
	for _, do := range meanwhile {
		do()
	}
	r.until("the answer to be in the transcript", func() bool { return r.inTranscripts(ofAnswer) > before })
}

// ofAnswer is in the last line of each answer in a transcript.
const ofAnswer = `"stop_reason":"end_turn"`

// inTranscripts counts a text in all transcripts.
func (r *chatRig) inTranscripts(text string) (n int) {
	r.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(r.config), "agents", "*", "projects", "*", "*.jsonl"))
	must(r, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		must(r, err)
		n += strings.Count(string(data), text)
	}
	return n
}

// terminalPid is the process in the terminal of the only chat in one.
func (r *chatRig) terminalPid() int {
	r.Helper()
	return r.count(`SELECT pid FROM handoffs`)
}

// isOnce checks that each question is once in the History, answered once.
func (r *chatRig) isOnce(questions ...string) {
	r.Helper()
	for _, q := range questions {
		if n := r.count(`SELECT COUNT(*) FROM messages WHERE content = ?1 AND role = 'user' AND turn_id > 0`, q); n != 1 {
			r.Errorf("%q is %d times in the History", q, n)
		}
		if n := r.count(`SELECT COUNT(*) FROM messages a JOIN messages q ON q.turn_id = a.turn_id AND q.content = ?1
			WHERE a.role = 'assistant' AND a.turn_id > 0`, q); n != 1 {
			r.Errorf("%q has %d answers in the History", q, n)
		}
	}
}

// isWhole is isOnce in the private chat, all in one session that was never given up.
func (r *chatRig) isWhole(session string, questions ...string) {
	r.Helper()
	r.isOnce(questions...)
	if now := r.chatNow().Session.ID; now != session {
		r.Errorf("the session %s is another one than %s", now, session)
	}
	for _, said := range []string{"session lost", "session is behind"} {
		if strings.Contains(r.logs.String(), said) {
			r.Errorf("the log says: %s", said)
		}
	}
}

// Asked in Feishu, at the bridge's own terminal, and in the CLI itself; a question meanwhile, and a second terminal; taken
// back, and asked over HTTP and in Feishu again: one session, and each turn once in the History.
func TestAChatGoesOnInATerminal(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newHandoffRig(t, command, withPages)
		r.ask("asked in Feishu")
		if out, notes, err := r.piped("--chat", r.chat, "asked at a terminal"); err != nil {
			t.Fatalf("%v: %q, %q", err, out, notes)
		}
		session := r.chatNow().Session.ID
		r.shows(r.chat, r.sim.Say(r.chat, r.user, "/handoff"), "magpie attach feishu:chat:"+r.chat)
		who := r.attached()
		r.types(who, "typed in the CLI")
		waits := r.sim.Say(r.chat, r.user, "asked meanwhile")
		r.shows(r.chat, waits, "goes on in a terminal")
		r.until("what was typed to be in the History before the terminal ends", func() bool {
			return r.count(`SELECT COUNT(*) FROM messages WHERE content = 'typed in the CLI'`) == 1
		})
		second := openTerminal(t, r.attach())
		second.await("has been in another terminal since")
		if second.exit() == 0 {
			t.Error("a second terminal does not fail")
		}
		r.types(who, "typed once more")
		r.press(replies(r.sim.View(), r.chat, waits)[0], "order")
		if got := visibleText(r.answer(r.chat, waits)); !strings.Contains(got, "asked meanwhile") {
			t.Errorf("answer %q", got)
		}
		asked := fmt.Sprint(r.lastRequest().Messages)
		if strings.Contains(asked, "the service was restarted") {
			t.Errorf("a question that has only waited is asked as if it were half answered: %s", asked)
		}
		for _, q := range []string{"typed in the CLI", "typed once more"} {
			if strings.Count(asked, q) < 1 {
				t.Errorf("the agent does not know %q: %s", q, asked)
			}
		}
		who.exit()
		r.ask("and on")
		program := r.tokenOf(programs.Token{Name: "ci", Chat: chat.FeishuChat(r.chat).Room()})
		if got := program.answers("asked over HTTP"); !strings.Contains(got, "asked over HTTP") {
			t.Errorf("answer %q", got)
		}
		r.isWhole(session, "asked in Feishu", "asked at a terminal", "typed in the CLI", "typed once more", "asked meanwhile", "and on", "asked over HTTP")
		if n := r.count(`SELECT COUNT(*) FROM handoffs`); n != 0 {
			t.Errorf("%d chats are still in a terminal", n)
		}
	})
}

// clears types /clear, and waits until the CLI notes that it has another session.
func (r *chatRig) clears(who *typist) {
	r.Helper()
	session := func() (all string) { // empty if the CLI is just writing it
		files, err := filepath.Glob(filepath.Join(filepath.Dir(r.config), "agents", "*", "sessions", "*.json"))
		must(r, err)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil {
				all += gjson.GetBytes(data, "sessionId").String()
			}
		}
		return all
	}
	var before string
	r.until("the session", func() bool { before = session(); return before != "" })
	r.sends(who, "/clear", func() bool { now := session(); return now != "" && now != before })
}

// With /clear people go on in another session, which is the chat's then.
func TestAnotherSessionInATerminal(t *testing.T) {
	r := newHandoffRig(t, claudetest.Command(t))
	r.ask("asked in Feishu")
	before := r.chatNow().Session.ID
	who := r.attached()
	r.types(who, "typed before")
	r.clears(who)
	r.types(who, "typed after")
	r.until("what was typed to be in the History before the terminal ends", func() bool {
		return r.count(`SELECT COUNT(*) FROM messages WHERE content = 'typed after'`) == 1
	})
	r.clears(who)
	r.types(who, "typed at last")
	r.leaves(who)
	r.until("the end of the lease", func() bool { return r.count(`SELECT COUNT(*) FROM handoffs`) == 0 })
	if got := r.ask("and on"); !strings.Contains(got, "2 in the session") {
		t.Errorf("the answer %q is not that of the last session", got)
	}
	r.isOnce("asked in Feishu", "typed before", "typed after", "typed at last", "and on")
	if now := r.chatNow().Session.ID; now == before {
		t.Error("the session is the old one")
	}
}

// The terminal is at the machine of another bridge than the one where everything arrives: that one stores what is typed and
// ends it. When it has gone, nobody there could take the chat back; it goes on without the terminal.
func TestATerminalAtAnotherBridge(t *testing.T) {
	dbtest.OfPostgres(t)
	r := newHandoffRig(t, claudetest.Command(t))
	r.ask("asked in Feishu")
	session := r.chatNow().Session.ID
	b := &chatRig{r.beside(), r.config}
	b.letUserAdminister()
	who := r.attached()
	r.types(who, "typed in the CLI")
	waits := r.sim.Say(r.chat, r.user, "asked meanwhile")
	r.shows(r.chat, waits, "goes on in a terminal")
	r.sim.Say(r.chat, r.user, "/handoff back")
	if got := visibleText(r.answer(r.chat, waits)); !strings.Contains(got, "asked meanwhile") {
		t.Errorf("answer %q", got)
	}
	who.exit()
	r.isWhole(session, "asked in Feishu", "typed in the CLI", "asked meanwhile")

	who = r.attached()
	r.types(who, "typed before the bridge ended")
	r.until("what was typed to be in the History", func() bool {
		return r.count(`SELECT COUNT(*) FROM messages WHERE content = 'typed before the bridge ended'`) == 1
	})
	terminal := r.terminalPid()
	r.stop()
	waits = b.sim.Say(b.chat, b.user, "asked when it has gone")
	b.shows(b.chat, waits, "goes on in a terminal")
	b.sim.Say(b.chat, b.user, "/handoff back")
	if got := visibleText(b.answer(b.chat, waits)); !strings.Contains(got, "asked when it has gone") {
		t.Errorf("answer %q", got)
	}
	r.isOnce("asked in Feishu", "typed in the CLI", "asked meanwhile", "typed before the bridge ended", "asked when it has gone")
	must(t, syscall.Kill(terminal, syscall.SIGTERM))
	who.exit()
}

// A chat that a program has begun over HTTP goes on at both kinds of terminal, and over HTTP again.
func TestAChatOfAProgramGoesOnInATerminal(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newHandoffRig(t, command, withPages)
		c := r.token("ci").with("X-Magpie-Room", "r")
		c.answers("asked over HTTP")
		chats, err := r.store().Chats().Active(t.Context(), "", time.Time{}, 1)
		must(t, err)
		if len(chats) != 1 {
			t.Fatalf("chats %+v", chats)
		}
		key := chats[0].Key.String()
		if out, notes, err := r.piped("--chat", key, "asked at a terminal"); err != nil {
			t.Fatalf("%v: %q, %q", err, out, notes)
		}
		who := openTerminal(t, r.attachTo(key))
		who.await("shortcuts")
		r.types(who, "typed in the CLI")
		r.leaves(who)
		r.until("the end of the lease", func() bool { return r.count(`SELECT COUNT(*) FROM handoffs`) == 0 })
		if got := c.answers("asked over HTTP again"); !strings.Contains(got, "6 in the session") {
			t.Errorf("the answer %q knows less, or more", got)
		}
		r.isOnce("asked over HTTP", "asked at a terminal", "typed in the CLI", "asked over HTTP again")
		if n := r.count(`SELECT COUNT(DISTINCT session_id) FROM turns`); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

// Without /handoff; what the agent did in the terminal is in the History as well. The terminal is killed.
func TestATerminalIsKilled(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newHandoffRig(t, command, allowBash)
		r.ask("asked in Feishu")
		session := r.chatNow().Session.ID
		must(t, os.WriteFile(r.inProject("look.sh"), []byte("echo seen\n"), 0o600))
		who := r.attached()
		r.calls(bash("sh look.sh"), modelsim.Tool("mcp__magpie__search_history", map[string]any{"query": "Feishu"}),
			modelsim.Text("Earlier than you think"))
		r.types(who, "have a look")
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.terminalPid()))
		if err != nil || !strings.Contains(string(env), "TERM=xterm") || strings.Contains(string(env), "OPERATORS_SECRET") {
			t.Errorf("the environment is %q, %v", env, err)
		}
		waits := r.sim.Say(r.chat, r.user, "asked meanwhile")
		r.shows(r.chat, waits, "goes on in a terminal")
		must(t, syscall.Kill(r.terminalPid(), syscall.SIGKILL))
		if got := visibleText(r.answer(r.chat, waits)); !strings.Contains(got, "asked meanwhile") {
			t.Errorf("answer %q", got)
		}
		r.isWhole(session, "asked in Feishu", "have a look", "asked meanwhile")
		if n := r.count(`SELECT COUNT(*) FROM messages WHERE role = 'tool' AND content LIKE '%look.sh%'`); n != 1 {
			t.Errorf("the use of a tool is %d times in the History", n)
		}
		if n := r.count(`SELECT COUNT(*) FROM ledger l JOIN messages q ON q.turn_id = l.turn_id AND q.content = 'have a look'
			WHERE l.tokens > 0`); n != 1 {
			t.Errorf("what was done in the terminal is booked %d times", n)
		}
		if !slices.ContainsFunc(r.model.Requests(), func(q modelsim.Request) bool {
			return strings.Contains(fmt.Sprint(q.Messages), "user 小明:")
		}) {
			t.Error("the tool has not found what was said in the chat")
		}
	})
}

// A conversation that begins in the terminal goes on in the chat. What was said is not lost on the way, neither that of the
// terminal nor a question that was asked before.
func TestAConversationBeginsInATerminal(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newHandoffRig(t, command)
		r.ask("hello")
		old := r.chatNow().Session.ID
		r.sim.Say(r.chat, r.user, "/new")
		r.until("a new conversation", func() bool { return r.chatNow().Epoch == 1 })
		r.shows(r.chat, r.sim.Say(r.chat, r.user, "/handoff"), "magpie attach")
		who := r.attached()
		held := make(chan struct{}) // an answer without any delay comes before its question in the transcript
		r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{modelsim.Hold(held), modelsim.Text("at once")}})
		r.types(who, "typed first", func() {
			r.until("the question to be in the transcript", func() bool { return r.inTranscripts(`"typed first"`) > 0 })
			close(held)
		})
		r.leaves(who)
		r.until("the end of the lease", func() bool { return r.count(`SELECT COUNT(*) FROM handoffs`) == 0 })
		session := r.chatNow().Session.ID
		if session == old || session == "" {
			t.Errorf("session %q after %q", session, old)
		}
		r.ask("and on")
		r.isWhole(session, "typed first", "and on")
	})
}

// The bridge is killed while the chat is in a terminal, where somebody goes on. When it is back it still knows, and takes the
// chat back.
func TestATerminalOutlivesTheBridge(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		place, file := chatPlace(t)
		s := newService(t, feishusim.Config{}, func(c *config.Config) { c.Claude.Command = command }, place)
		r := &chatRig{s.rig, file}
		admin := config.EnvPrefix + "ACCESS_ADMINS=" + s.user.OpenID
		s.run(admin)
		s.connected()
		s.ask("asked in Feishu")
		who := r.attached()
		r.types(who, "typed before")
		s.kill()
		r.types(who, "typed alone")
		s.run(admin)
		s.connected()
		waits := s.sim.Say(s.chat, s.user, "asked meanwhile")
		s.shows(s.chat, waits, "goes on in a terminal")
		r.types(who, "typed after")
		s.sim.Say(s.chat, s.user, "/handoff back")
		if got := visibleText(s.answer(s.chat, waits)); !strings.Contains(got, "asked meanwhile") {
			t.Errorf("answer %q", got)
		}
		who.exit()
		for _, q := range []string{"asked in Feishu", "typed before", "typed alone", "typed after", "asked meanwhile"} {
			if n := r.count(`SELECT COUNT(*) FROM messages WHERE content = ?1`, q); n != 1 {
				t.Errorf("%q is %d times in the History", q, n)
			}
		}
		s.terminate()
		if n := r.count(`SELECT COUNT(DISTINCT session_id) FROM turns`); n != 1 {
			t.Errorf("%d sessions", n)
		}
	})
}

// Somebody opens the session of a chat by hand. While that is open, questions wait; afterwards the agent knows what was said,
// and so it does if nobody has asked meanwhile, and the chat's own process was there all the time.
func TestTheCLIIsRunByHand(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newHandoffRig(t, command, hasTyped(t))
		r.ask("asked in Feishu")
		session := r.chatNow().Session
		byHand := func() *typist {
			agent, err := r.pool().Config().AgentOf(chat.FeishuChat(r.chat).String())
			must(t, err)
			l, err := agent.Terminal(workspace.Spec{Session: session.ID, Resume: true, Dir: session.Cwd})
			must(t, err)
			l.Cmd.Env = append(l.Env, "TERM=xterm")
			who := openTerminal(t, l.Cmd)
			who.await("❯")
			return who
		}
		refused := func() {
			t.Helper()
			who := openTerminal(t, r.attach())
			who.await("somebody has the session open in a terminal")
			who.exit()
		}
		who := byHand()
		refused() // also before anybody has asked in the chat
		r.types(who, "typed by hand")
		waits := r.sim.Say(r.chat, r.user, "asked meanwhile")
		r.shows(r.chat, waits, "goes on in a terminal")
		r.shows(r.chat, r.sim.Say(r.chat, r.user, "/handoff back"), strconv.Itoa(r.terminalPid()))
		refused()
		must(t, syscall.Kill(r.terminalPid(), syscall.SIGTERM))
		if got := visibleText(r.answer(r.chat, waits)); !strings.Contains(got, "asked meanwhile") {
			t.Errorf("answer %q", got)
		}
		who.exit()
		again := byHand()
		r.types(again, "typed again")
		r.leaves(again)
		r.sim.Say(r.chat, r.user, "and on")
		r.awaitModel("the question", func(list []modelsim.Request) bool {
			return strings.Contains(list[len(list)-1].LastUser(), "and on")
		})
		if asked := fmt.Sprint(r.lastRequest().Messages); !strings.Contains(asked, "typed again") {
			t.Errorf("the agent does not know what was typed: %s", asked)
		}
		r.until("the last answer", func() bool {
			return r.count(`SELECT COUNT(*) FROM turns WHERE state = 'done'`) == 5
		})
		r.isWhole(session.ID, "asked in Feishu", "typed by hand", "asked meanwhile", "typed again", "and on")
	})
}

// However long nothing was said in a chat, and although the next question there would begin another session, a terminal goes on
// with what was said.
func TestAnOldConversationInATerminal(t *testing.T) {
	r := newHandoffRig(t, claudetest.Command(t), func(c *config.Config) { c.Context.StaleAfter.Duration = 48 * time.Hour })
	r.ask("asked in Feishu")
	session := r.chatNow().Session.ID
	r.stop()
	r.sql(`UPDATE chats SET turned_at = turned_at - 2592000000`)
	r.start()
	who := r.attached()
	held, requests := make(chan struct{}), len(r.model.Requests())
	r.model.Script(modelsim.Rule{Match: asksFor("a month later"), Times: 1, Steps: []modelsim.Step{modelsim.Hold(held), modelsim.Text("so late")}})
	r.sends(who, "typed a month later", func() bool { return len(r.model.Requests()) > requests })
	r.addSubagent(54_321)
	close(held)
	r.until("the answer in the History", func() bool {
		return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND content = 'so late'`) == 1
	})
	if n := r.count(`SELECT COUNT(*) FROM ledger l JOIN messages q ON q.turn_id = l.turn_id AND q.content = 'typed a month later'
		WHERE l.tokens >= 54321`); n != 1 {
		t.Error("what a subagent has used is not booked")
	}
	if asked := fmt.Sprint(r.lastRequest().Messages); !strings.Contains(asked, "asked in Feishu") {
		t.Errorf("the agent does not know what was said: %s", asked)
	}
	r.leaves(who)
	r.until("the end of the lease", func() bool { return r.count(`SELECT COUNT(*) FROM handoffs`) == 0 })
	r.ask("and on")
	r.isWhole(session, "asked in Feishu", "typed a month later", "and on")
}

// A session that was begun with the CLI alone becomes a chat, which goes on at the bridge's own terminal.
func TestASessionBecomesAChat(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newHandoffRig(t, command, hasTyped(t))
		alone := exec.Command(command)
		alone.Dir, alone.Env = r.cfg.Claude.Project, append(slices.Clone(r.cfg.Claude.Environ), "TERM=xterm")
		who := openTerminal(t, alone)
		who.await("❯")
		held := make(chan struct{})
		r.model.Script(modelsim.Rule{Times: 3, Match: asksFor("begun alone"), Steps: []modelsim.Step{modelsim.Hold(held), modelsim.Text("at once")}})
		asked := func() bool {
			return slices.ContainsFunc(r.model.Requests(), func(q modelsim.Request) bool { return strings.Contains(q.LastUser(), "begun alone") })
		}
		r.sends(who, "begun alone", asked)
		home := ""
		for _, kv := range r.cfg.Claude.Environ {
			if dir, ok := strings.CutPrefix(kv, "CLAUDE_CONFIG_DIR="); ok {
				home = dir
			}
		}
		written := func(text string) bool {
			files, _ := filepath.Glob(filepath.Join(home, "projects", "*", "*.jsonl"))
			return slices.ContainsFunc(files, func(file string) bool {
				data, _ := os.ReadFile(file)
				return strings.Contains(string(data), text)
			})
		}
		r.until("the question to be in the transcript", func() bool { return written(`"begun alone"`) })
		close(held)
		r.until("the answer to be in the transcript", func() bool { return written(`"at once"`) })
		list := func() string {
			out, err := magpie(t, t.TempDir(), "attach", "--config", r.config, "--list").CombinedOutput()
			must(t, err)
			return string(out)
		}
		_, row, _ := strings.Cut(list(), "\n")
		session := strings.Fields(row)[0]
		if !strings.Contains(row, "begun alone") {
			t.Fatalf("sessions: %s", row)
		}
		taken := openTerminal(t, r.attachTo(session))
		taken.await("somebody has the session open in a terminal")
		taken.exit()
		r.leaves(who)
		chats := r.store().Programs() // an attempt has ended half-way
		must(t, chats.Tx(t.Context(), "half-way", func(ctx context.Context, tx *sql.Tx) error {
			return chats.Open(ctx, tx, chat.Key{Channel: terminal.Main.Channel, Kind: terminal.Main.Kind, ID: session}, "", "")
		}))
		again := openTerminal(t, r.attachTo(session))
		again.await("❯")
		requests := len(r.model.Requests())
		r.sends(again, "typed in the CLI", func() bool { return len(r.model.Requests()) > requests })
		r.until("the answer in the History", func() bool {
			return r.count(`SELECT COUNT(*) FROM messages WHERE role = 'assistant' AND class = 'talk'`) == 2
		})
		r.leaves(again)
		r.until("the end of the lease", func() bool { return r.count(`SELECT COUNT(*) FROM handoffs`) == 0 })
		if out, notes, err := r.piped("--chat", "cli:chat:"+session, "and on"); err != nil {
			t.Errorf("%v: %q, %q", err, out, notes)
		}
		for _, q := range []string{"begun alone", "typed in the CLI", "and on"} {
			if last := fmt.Sprint(r.lastRequest().Messages); !strings.Contains(last, q) {
				t.Errorf("the agent does not know %q: %s", q, last)
			}
		}
		if n := r.count(`SELECT COUNT(DISTINCT session_id) FROM turns`); n != 1 {
			t.Errorf("%d sessions", n)
		}
		r.isOnce("begun alone", "typed in the CLI", "and on")
		if got := list(); strings.Contains(got, session) {
			t.Errorf("it is still in the list: %s", got)
		}
	})
}

// What cannot go on in a terminal is refused with the reason.
func TestAttachIsRefused(t *testing.T) {
	r := newHandoffRig(t, claudetest.Scripted(t))
	refused := func(want string) {
		t.Helper()
		who := openTerminal(t, r.attach())
		who.await(want)
		if who.exit() == 0 {
			t.Errorf("%s: no error", want)
		}
	}
	refused("there is no such chat as feishu:chat:" + r.chat)
	r.ask("hello")
	out, err := r.attach().CombinedOutput()
	if err == nil || !strings.Contains(string(out), "magpie attach needs a terminal") {
		t.Errorf("without a terminal: %v: %s", err, out)
	}
	held := make(chan struct{})
	r.model.Script(modelsim.Rule{Steps: []modelsim.Step{modelsim.Hold(held), modelsim.Text("done")}})
	asked := len(r.model.Requests())
	id := r.sim.Say(r.chat, r.user, "take your time")
	r.awaitModel("the question", func(list []modelsim.Request) bool { return len(list) > asked })
	refused("is working: wait until it has answered")
	r.shows(r.chat, r.sim.Say(r.chat, r.user, "/handoff"), "still being answered")
	close(held)
	r.answer(r.chat, id)
	if n := r.count(`SELECT COUNT(*) FROM handoffs`); n != 0 {
		t.Errorf("%d chats are in a terminal", n)
	}
	r.shows(r.chat, r.sim.Say(r.chat, r.user, "/handoff back"), "is in no terminal")

	ready := r.sim.Say(r.chat, r.user, "/handoff")
	r.shows(r.chat, ready, "magpie attach")
	waits := r.sim.Say(r.chat, r.user, "asked meanwhile")
	r.shows(r.chat, waits, "goes on in a terminal")
	r.press(replies(r.sim.View(), r.chat, ready)[0], "order") // nobody has come
	r.answer(r.chat, waits)
	rules := r.cfg.Access
	rules.Deny = []string{r.chat}
	r.setAccess(rules)
	refused("[access] deny")
}
