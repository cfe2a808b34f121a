package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/bridge"
	"magpie/bridge/access"
	"magpie/bridge/budget"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/feishu"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// full runs the tests at the size of the figures in docs/figures.md: the load of a large company, or long conversations
// with the real CLI. It takes minutes.
var full = flag.Bool("full", false, "the tests that measure are as large as the figures in docs/figures.md say")

// rig is the whole program with a simulated platform, and the scripted agent or the real CLI with a simulated model.
type rig struct {
	testing.TB
	sim   *feishusim.Server
	model *modelsim.Server
	prog  *program
	cfg   config.Config
	built chan bridge.BuiltContext
	logs  *logbook
	stop  func()
	// when the program was last stopped; zero = never
	stopped time.Time
	load    func() (config.Config, error) // how the program reloads its configuration; nil = not possible

	user feishusim.User
	chat string // the user's private chat
}

// patience bounds every wait of a test. The CLI takes 0.7 s to start on an idle machine, and longer if several start at
// once.
const patience = 5 * time.Minute

// busy is what a busy machine may add to a time that the program guarantees.
const busy = time.Minute

// ackWait is how long the simulated platform waits for the acknowledgement of an event. The public platform waits 3 s,
// which a busy machine may miss; packages feishu and bridge test that limit without real time.
const ackWait = 30 * time.Second

func newRig(t testing.TB, change ...func(*config.Config)) *rig {
	t.Helper()
	if t, ok := t.(*testing.T); ok {
		t.Parallel()
	}
	r := makeRig(t, feishusim.Config{}, change...)
	r.start()
	t.Cleanup(func() { r.stop(); r.clean() })
	return r
}

// realCLI makes the rig run the real CLI, and not the scripted agent, which starts a hundred times as fast: for whole
// journeys, and for what only the CLI itself does.
func realCLI(t testing.TB) func(*config.Config) {
	t.Helper()
	command := claudetest.Command(t)
	return func(c *config.Config) { c.Claude.Command = command }
}

// makeRig makes a rig whose program does not run yet.
func makeRig(t testing.TB, platform feishusim.Config, change ...func(*config.Config)) *rig {
	t.Helper()
	platform.AckTimeout = cmp.Or(platform.AckTimeout, ackWait)
	sim, err := feishusim.Start(platform)
	if err != nil {
		t.Fatal(err)
	}
	model, err := modelsim.Start(modelsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{TB: t, sim: sim, model: model, built: make(chan bridge.BuiltContext, 1000), logs: &logbook{tb: t}}
	t.Cleanup(func() { _ = sim.Close(); _ = model.Close() })
	r.user = sim.AddUser("小明")
	r.chat = sim.PrivateChat(r.user)

	r.cfg = config.Defaults()
	r.cfg.Chat = config.Chat{} // what is optional is off
	r.cfg.Feishu = feishu.Config{AppID: sim.AppID(), AppSecret: sim.AppSecret(), BaseURL: sim.URL()}
	r.cfg.Feishu.AckTimeout, r.cfg.Feishu.NameWait = platform.AckTimeout, busy
	r.cfg.Waits, r.cfg.Memory.EmbeddingsWait = bridge.Waits{Words: busy, Overheard: busy}, busy
	r.cfg.Claude = claudetest.ModelConfig(t, model.URL())
	inDatabase(&r.cfg, dbtest.Create(t))
	r.cfg.DB.Verify = dbtest.Verifies(t)
	r.cfg.Context.Titles = false // titles are model requests, which most tests count
	r.cfg.Access = access.Config{Allow: []string{"*"}}
	r.cfg.Shutdown.Duration = 4 * time.Second // a quarter of it is for final notices
	for _, f := range change {
		f(&r.cfg)
	}
	return r
}

// logbook keeps the program's log, and prints warnings and errors with the test's output.
type logbook struct {
	tb   testing.TB
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed by the next write; nil = nobody waits
}

func (l *logbook) Write(p []byte) (int, error) { return l.WriteLevel(zerolog.NoLevel, p) }

func (l *logbook) WriteLevel(level zerolog.Level, p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if level >= zerolog.WarnLevel && level < zerolog.NoLevel {
		l.tb.Logf("%s", bytes.TrimSpace(p))
	}
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.b.Write(p)
}

// await waits until the log contains text n times, and reports whether it does.
func (l *logbook) await(text string, n int) bool {
	for deadline := time.After(patience); ; {
		l.mu.Lock()
		there := bytes.Count(l.b.Bytes(), []byte(text)) >= n
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		if there {
			return true
		}
		select {
		case <-more:
		case <-deadline:
			return false
		}
	}
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start starts the program; after stop it may be started again.
func (r *rig) start() {
	r.Helper()
	if !r.stopped.IsZero() { // the platform's rate limit spans a restart, the program's does not
		time.Sleep(time.Until(r.stopped.Add(time.Second)))
	}
	before := r.sim.Connected() // an earlier connection may still count as open
	log := newLog(r.logs, r.cfg.Log).Level(zerolog.InfoLevel)
	prog, err := newProgram(context.Background(), r.cfg, log, func(c *bridge.Config) {
		c.Observe = func(b bridge.BuiltContext) { r.built <- b }
	})
	if err != nil {
		r.Fatal(err)
	}
	r.prog, prog.load = prog, r.load
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- prog.run(ctx) }()
	r.stop = func() {
		cancel()
		r.stopped = time.Now()
		if err := <-done; err != nil {
			r.Errorf("program: %v", err)
		}
		r.stop = func() {}
	}
	r.await("a connection", func(v *feishusim.View) bool { return v.Connected() > before })
}

// clean fails the test if the platform's rules were broken.
func (r *rig) clean() {
	r.Helper()
	for _, v := range r.sim.Violations() {
		r.Errorf("rule of the platform broken: %s: %s", v.Rule, v.Detail)
	}
	if u := r.model.Unexpected(); len(u) > 0 {
		r.Errorf("unexpected requests: %v", u)
	}
}

func (r *rig) await(what string, cond func(*feishusim.View) bool) {
	r.Helper()
	ctx, cancel := context.WithTimeoutCause(r.Context(), patience, errors.New("timeout"))
	defer cancel()
	if err := r.sim.Await(ctx, cond); err != nil {
		r.Fatalf("waiting for %s: %v; visible:\n%s", what, err, r.transcript())
	}
}

func (r *rig) awaitModel(what string, cond func([]modelsim.Request) bool) {
	r.Helper()
	ctx, cancel := context.WithTimeoutCause(r.Context(), patience, errors.New("timeout"))
	defer cancel()
	if err := r.model.Await(ctx, cond); err != nil {
		r.Fatalf("waiting for %s: %v", what, err)
	}
}

// awaitLog waits until the program has logged something.
func (r *rig) awaitLog(text string) {
	r.Helper()
	if !r.logs.await(text, 1) {
		r.Fatalf("waiting for the log to say %s; visible:\n%s\nlog:\n%s", text, r.transcript(), r.logs)
	}
}

// until waits until cond holds.
func (r *rig) until(what string, cond func() bool) {
	r.Helper()
	r.within(patience, what, cond)
}

// within polls cond until it holds, no longer than limit. It is for state that cannot be awaited, such as the database.
func (r *rig) within(limit time.Duration, what string, cond func() bool) {
	r.Helper()
	for began := time.Now(); !cond(); time.Sleep(pause(time.Since(began))) {
		if time.Since(began) > limit {
			r.Fatalf("waiting for %s; visible:\n%s\nlog:\n%s", what, r.transcript(), r.logs)
		}
	}
}

// pause is the time until the next poll: a tenth of the time waited so far. Polls often read the database, and many
// tests wait at the same time.
func pause(waited time.Duration) time.Duration {
	return min(max(waited/10, 10*time.Millisecond), 200*time.Millisecond)
}

// transcript is everything visible, for failure messages.
func (r *rig) transcript() string {
	var b strings.Builder
	for _, c := range r.sim.Chats() {
		for _, m := range r.sim.Messages(c.ID) {
			b.WriteString(c.ID + " " + m.Sender.Name + " [" + m.Type + "]: " + m.Text() + "\n")
		}
	}
	return b.String()
}

// replies are the bot's messages that answer a message.
func replies(v *feishusim.View, chatID, messageID string) []feishusim.Message {
	var list []feishusim.Message
	for _, m := range v.Messages(chatID) {
		if m.FromBot && m.ParentID == messageID {
			list = append(list, m)
		}
	}
	return list
}

// shows waits until exactly one message answers a message, with these words in it.
func (r *rig) shows(chatID, messageID, words string) {
	r.Helper()
	r.await("an answer with "+words, func(v *feishusim.View) bool {
		list := replies(v, chatID, messageID)
		return len(list) == 1 && strings.Contains(list[0].Text(), words)
	})
}

// answer waits for the complete answer to a message, which must be one message, and returns it.
func (r *rig) answer(chatID, messageID string) feishusim.Message {
	r.Helper()
	var got []feishusim.Message
	r.await("the answer", func(v *feishusim.View) bool {
		got = replies(v, chatID, messageID)
		return len(got) > 0 && !got[0].Last().Streaming && !running(got[0])
	})
	if len(got) != 1 {
		r.Errorf("%d messages answer", len(got))
	}
	return got[0]
}

// running reports whether a card still has its stop button.
func running(m feishusim.Message) bool { return strings.Contains(string(m.Last().Card), `"do":"stop"`) }

// ask sends a message to the private chat and returns the text of the answer.
func (r *rig) ask(text string) string {
	r.Helper()
	return visibleText(r.answer(r.chat, r.sim.Say(r.chat, r.user, text)))
}

// visibleText is the text of a message, without the zero-width spaces that fill empty elements. Of a card it is only
// the status and the answer.
func visibleText(m feishusim.Message) string {
	text := m.Text()
	if card := gjson.ParseBytes(m.Last().Card); card.IsObject() {
		text = card.Get(`body.elements.#(element_id=="status").content`).String() + "\n" +
			card.Get(`body.elements.#(element_id=="body").content`).String()
	}
	return strings.Trim(text, "\u200b \n")
}

func (r *rig) lastRequest() modelsim.Request {
	r.Helper()
	reqs := r.model.Requests()
	if len(reqs) == 0 {
		r.Fatal("the model was not asked")
	}
	return reqs[len(reqs)-1]
}

// pool and store are those of the program as it runs now; started counts its processes so far.
func (r *rig) pool() *claude.Pool { return r.prog.pool }
func (r *rig) store() *db.DB      { return r.prog.store }
func (r *rig) started() int       { return r.pool().Stats().Started }

func (r *rig) setAccess(a access.Config) { r.prog.bridge.SetAccess(a) }
func (r *rig) setBudget(b budget.Limits) { r.prog.bridge.SetBudget(b) }

// chatNow is the private chat in the store.
func (r *rig) chatNow() db.Chat {
	r.Helper()
	return r.stored(r.chat)
}

// stored is a chat in the store.
func (r *rig) stored(chatID string) db.Chat {
	r.Helper()
	c, err := r.store().Chats().Get(context.WithoutCancel(r.Context()), chat.FeishuChat(chatID))
	must(r, err)
	return c
}

// dropProcess ends the private chat's process properly.
func (r *rig) dropProcess() { r.drop(r.chat) }

// drop ends a chat's process properly.
func (r *rig) drop(chatID string) { <-r.pool().Drop(chat.FeishuChat(chatID).String()) }

// transcriptPath is the transcript of the private chat's session, which must exist.
func (r *rig) transcriptPath() string {
	r.Helper()
	return r.transcriptOf(r.chatNow())
}

// transcriptOf is the transcript of a chat's session, which must exist.
func (r *rig) transcriptOf(c db.Chat) string {
	r.Helper()
	if c.Session.ID == "" {
		r.Fatalf("the chat has no session: %+v", c)
	}
	path, err := r.pool().Config().Transcripts(c.Key.String()).Path(c.Session.Cwd, c.Session.ID)
	must(r, err)
	return path
}

// inProject is the path of a file of the project, or of the project itself.
func (r *rig) inProject(names ...string) string {
	return filepath.Join(append([]string{r.cfg.Claude.Project}, names...)...)
}

// oneProcessPerTurn has each question start a process, whose prompt contains the History.
func oneProcessPerTurn(c *config.Config) { c.Claude.KeepAlive.Duration = 0 }

// prefixed counts the messages of the History that a prompt contains.
func prefixed(b bridge.BuiltContext) int { return b.Prompt.Stats.Messages }

// asksFor matches the requests whose newest text by the user contains words.
func asksFor(words string) func(*modelsim.Request) bool {
	return func(q *modelsim.Request) bool { return strings.Contains(q.LastUser(), words) }
}

// clientOf is a client of the simulated platform.
func clientOf(sim *feishusim.Server) *feishu.Client {
	return feishu.New(feishu.Config{AppID: sim.AppID(), AppSecret: sim.AppSecret(), BaseURL: sim.URL()}, zerolog.Nop())
}

func mustJSON(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inDatabase sets a database of package dbtest. The folder of its path is the program's data folder with either engine.
func inDatabase(c *config.Config, path string) {
	c.DB.URL = dbtest.URL(path)
	if dbtest.OnPostgres() {
		c.Data = filepath.Dir(path)
	}
}

// databaseOf is the path of the database, see [inDatabase]: the file, with SQLite.
func databaseOf(c config.Config) string {
	if dbtest.OnPostgres() {
		return filepath.Join(c.Data, "magpie.db")
	}
	return c.DB.DSN().File()
}

// side opens the database beside the program.
func (r *rig) side() *sql.DB {
	r.Helper()
	return dbtest.Side(r, databaseOf(r.cfg))
}

// sql changes the database without the program.
func (r *rig) sql(query string, args ...any) {
	r.Helper()
	side := r.side()
	_, err := side.ExecContext(r.Context(), dbtest.Statement(query), args...)
	must(r, errors.Join(err, side.Close()))
}

// count queries a number from the database.
func (r *rig) count(query string, args ...any) (n int) {
	r.Helper()
	side := r.side()
	must(r, errors.Join(side.QueryRowContext(r.Context(), dbtest.Statement(query), args...).Scan(&n), side.Close()))
	return n
}
