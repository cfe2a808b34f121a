package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/rs/zerolog"
	"github.com/tidwall/gjson"

	"magpie/bridge/access"
	"magpie/bridge/workplace"
	"magpie/contextmgr"
	"magpie/db"
	"magpie/db/dbtest"
	"magpie/feishu"
	"magpie/feishu/feishutest"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/workspace"
	"magpie/internal/convo"
	"magpie/internal/feishusim"
	"magpie/internal/racetest"
)

// What one card of an answer may hold, which is less than the platform takes.
const (
	longestCard = 8 * time.Minute
	biggestCard = 26 << 10
	maxElements = 180
	maxTables   = 3
)

// streamRig is a bridge with its store, before a strict double of the platform, in a time in which hours pass at
// once. What the agent does is scripted: a process of its own would live in another time.
type streamRig struct {
	*testing.T
	parts
	sim    *feishusim.Server
	store  *db.DB
	room   string
	ended  chan TurnEnd
	script agent
}

func inScene(t *testing.T, act func(s *streamRig)) {
	path := dbtest.Create(t)
	synctest.Test(t, func(t *testing.T) {
		pipe := feishusim.NewPipe()
		sim, err := feishusim.Start(feishusim.Config{Pipe: pipe})
		must(t, err)
		store, err := db.Open(t.Context(), db.Config{URL: dbtest.URL(path)})
		must(t, err)
		agents := workspace.Defaults()
		agents.Spare = 0
		agents.Instance, err = store.Instance()
		must(t, err)
		s := &streamRig{T: t, sim: sim, store: store, room: sim.PrivateChat(sim.AddUser("Ann")), ended: make(chan TurnEnd, 1)}
		log := zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
		cfg := Config{
			Access: access.Config{Allow: []string{"*"}}, Projects: workplace.Set{Default: t.TempDir()}, Node: "here", Context: contextmgr.Defaults(),
			Shutdown: 4 * time.Second, LongAnswer: 20_000, Outgoing: t.TempDir(),
			OnTurnEnd: func(e TurnEnd) { s.ended <- e },
		}
		cfg.Context.Titles = false
		s.bridge = New(cfg, store, claude.NewPool(agents),
			overPipe(feishu.Config{AppID: sim.AppID(), AppSecret: sim.AppSecret(), BaseURL: sim.URL()}, pipe, log), log)
		s.actAs(func(t *turn, take func(claude.Event)) claude.Result { return s.script(t, take) })
		ctx, stop := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.bridge.Run(ctx) }()
		t.Cleanup(func() {
			stop()
			must(t, errors.Join(<-done, store.Close(), sim.Close()))
			for _, v := range sim.Violations() {
				t.Errorf("violation: %s: %s", v.Rule, v.Detail)
			}
		})
		act(s)
	})
}

// defaultTransport is held while the default transport is another one.
var defaultTransport sync.Mutex

// overPipe is a client whose calls go through the pipe. It takes its transport from the default one, which only tests
// with a pipe use.
func overPipe(cfg feishu.Config, pipe *feishusim.Pipe, log zerolog.Logger) *feishu.Client {
	defaultTransport.Lock()
	defer defaultTransport.Unlock()
	usual := http.DefaultTransport
	defer func() { http.DefaultTransport = usual }()
	http.DefaultTransport = &http.Transport{DialContext: pipe.Dial}
	return feishu.New(cfg, log)
}

// ask lets Ann ask something, and returns when everything is delivered.
func (s *streamRig) ask(text string) {
	s.Helper()
	ann := s.sim.Users()[0]
	id := s.sim.Say(s.room, ann, text)
	must(s.T, s.bridge.HandleMessage(s.Context(), chat.Incoming{
		Key: chat.FeishuChat(s.room), Kind: chat.Private, ID: id, Text: text, Actor: chat.Actor{ID: ann.OpenID},
		Time: time.Now(), ToBot: true,
	}))
	select {
	case e := <-s.ended:
		if e.State != convo.Done {
			s.Fatalf("the turn ended as %s", e.State)
		}
	case <-time.After(2 * time.Hour):
		s.Fatal("not answered within two hours")
	}
	for range 3600 {
		b, err := s.store.Outbox().Backlog(s.Context())
		must(s.T, err)
		if b.Posts == 0 {
			return
		}
		time.Sleep(time.Second)
	}
	s.Fatal("not delivered within an hour")
}

// writes is an agent that says a text in that many pieces, and thinks and uses tools meanwhile. Before a piece
// something may happen.
func writes(text string, pieces int, every time.Duration, before func(piece int)) agent {
	return func(t *turn, take func(claude.Event)) claude.Result {
		session := t.Turn.Session
		take(claude.Started{Session: session})
		from := 0
		for i := range pieces {
			before(i)
			to := len(text) * (i + 1) / pieces
			for to < len(text) && !utf8.RuneStart(text[to]) {
				to++
			}
			switch id := fmt.Sprint("use ", i/100); i % 100 {
			case 10:
				take(claude.Thinking{Text: "<at id=all></at> | a | b |\n|---|---|\n| 1 | ![x](https://x/y.png) |\n```\n"})
			case 20:
				take(claude.ToolUse{ID: id, Name: "Bash", Input: json.RawMessage(`{"command":"echo '<at id=all></at>' | cat"}`)})
			case 40:
				take(claude.ToolResult{ID: id, Text: "<at user_id=\"all\">\n```\n| a |\n|---|\n"})
			}
			time.Sleep(every)
			take(claude.Text{Text: text[from:to]})
			from = to
		}
		take(claude.Text{Text: text, Whole: true})
		return claude.Result{Session: session, Text: text, Model: "scripted",
			Usage: claude.Usage{Input: 10, Output: 100_000}, CostUSD: 1}
	}
}

// shown is the answer as it can be seen: its cards, and the files that came with it.
func (s *streamRig) shown() (cards []feishusim.Message, files map[string]string) {
	s.Helper()
	files = map[string]string{}
	for _, m := range s.sim.Messages(s.room) {
		switch {
		case !m.FromBot:
		case m.Type == "interactive":
			cards = append(cards, m)
		case m.Type == "file":
			name, data, ok := s.sim.File(gjson.Get(m.Content, "file_key").String())
			if !ok || files[name] != "" {
				s.Errorf("file %q", name)
			}
			files[name] = string(data)
		default:
			s.Errorf("a message of type %s: %s", m.Type, m.Content)
		}
	}
	return cards, files
}

// check fails when not everything of an answer has arrived as it should.
func (s *streamRig) check(text string) {
	s.Helper()
	cards, files := s.shown()
	pages := make([]string, len(cards))
	for i, m := range cards {
		pages[i] = body(m.Last())
		s.checkCard(i, m)
	}
	if err := feishutest.Read(pages, text); err != nil {
		s.Error(err)
	}
	if len(files) != 1 {
		s.Errorf("%d files", len(files))
	}
	for name, data := range files {
		if !strings.HasSuffix(name, ".md") || data != text {
			s.Errorf("file %q has %d of %d bytes, or others", name, len(data), len(text))
		}
	}
	s.checkBlocks(pages, text)
	s.checkTables(pages, text)
	s.Logf("%d letters on %d cards in %d calls", utf8.RuneCountInString(text), len(cards), len(s.sim.Calls()))
}

// checkSeen fails when people cannot read yet what was written ten seconds ago.
func (s *streamRig) checkSeen(text string) {
	s.Helper()
	cards, _ := s.shown()
	written := feishutest.Numbered.FindAllString(text, -1)
	last := written[len(written)-1]
	for _, m := range cards {
		if strings.Contains(body(m.Last()), last) {
			return
		}
	}
	s.Errorf("line %s is not shown yet, on any of %d cards", last, len(cards))
}

// body is what a card shows of the answer.
func body(state feishusim.State) string {
	return gjson.GetBytes(state.Card, `body.elements.#(element_id=="body").content`).String()
}

// calling is what would call everybody, or could be read so: nothing like it is ever sent, not even in code.
var calling = regexp.MustCompile(`(?i)<\s*/?\s*at\b`)

// checkCard fails when a card has ever been more than it may be, seems to go on, or would have called somebody.
func (s *streamRig) checkCard(i int, m feishusim.Message) {
	s.Helper()
	last := m.Created
	for _, state := range m.States {
		if state.Streaming {
			last = state.At
		}
		n := measured(gjson.ParseBytes(state.Card))
		if calling.MatchString(n.text) || calling.MatchString(state.Text) {
			s.Fatalf("card %d could call everybody: %s", i, state.Card)
		}
		if len(state.Card) > biggestCard || n.elements > maxElements || n.tables > maxTables {
			s.Errorf("card %d has %d bytes, %d elements, %d tables", i, len(state.Card), n.elements, n.tables)
		}
		if _, open := inFences(body(state)); open {
			s.Errorf("card %d has an open fence: ...%q", i, state.Text[max(0, len(state.Text)-200):])
		}
	}
	if age := last.Sub(m.Created); age > longestCard || m.Last().Streaming {
		s.Errorf("card %d was streamed to for %v, and now %v", i, age, m.Last().Streaming)
	}
}

// measure is what a card consists of.
type measure struct {
	text             string // all that stands in it
	elements, tables int
}

func measured(card gjson.Result) (n measure) {
	if card.Get("tag").Exists() {
		n.elements++
	}
	if card.Get("tag").String() == "markdown" {
		n.tables += len(tables(card.Get("content").String()))
	}
	if card.Type == gjson.String {
		n.text = card.String() + "\n"
	}
	if card.IsObject() || card.IsArray() {
		card.ForEach(func(_, part gjson.Result) bool {
			in := measured(part)
			n.text, n.elements, n.tables = n.text+in.text, n.elements+in.elements, n.tables+in.tables
			return true
		})
	}
	return n
}

// written is a line of a page.
type written struct {
	text string
	code bool // it stands in a code block
}

// inFences are the lines of a page, and whether it ends in an open code block. All fences that are sent are of three
// backticks.
func inFences(page string) (lines []written, open bool) {
	for line := range strings.SplitSeq(page, "\n") {
		switch mark := strings.TrimLeft(line, " "); {
		case open && strings.TrimRight(mark, " ") == "```",
			!open && strings.HasPrefix(mark, "```") && !strings.Contains(mark[3:], "`"):
			open = !open
		default:
			lines = append(lines, written{line, open})
		}
	}
	return lines, open
}

var underHead = regexp.MustCompile(`^[ >]*\|? *:?-+:? *(\| *:?-+:? *)*\|? *$`)

// tables are the first lines of the tables that a page shows as such.
func tables(page string) (heads []string) {
	lines, _ := inFences(page)
	for i, l := range lines[1:] {
		if head := lines[i]; !l.code && !head.code && strings.Contains(head.text, "|") &&
			strings.Contains(l.text, "|") &&
			underHead.MatchString(l.text) {
			heads = append(heads, head.text)
		}
	}
	return heads
}

// tableLine is a line of a table of a book.
var tableLine = regexp.MustCompile(`^\| 第 \(\d{5}\) 行 \|`)

// checkTables fails when not every table of a text is shown as one, with all its rows below its head.
func (s *streamRig) checkTables(pages []string, text string) {
	s.Helper()
	shown, rows := map[string]bool{}, 0
	for i, page := range pages {
		for _, head := range tables(page) {
			shown[head] = true
		}
		lines, _ := inFences(page)
		for j, l := range lines {
			if !tableLine.MatchString(l.text) {
				continue
			}
			rows++
			if above := lines[max(0, j-1)].text; l.code || !tableLine.MatchString(above) &&
				!underHead.MatchString(above) {
				s.Errorf("page %d: a row outside its table: %q below %q", i, l.text, above)
			}
		}
	}
	heads := feishutest.Head.FindAllString(text, -1)
	for _, head := range heads {
		if !shown[head] {
			s.Errorf("the table %q is not shown as one", head)
		}
	}
	if len(shown) != len(heads) || rows != 12*len(heads) {
		s.Errorf("%d tables with %d rows are shown, want %d with %d", len(shown), rows, len(heads), 12*len(heads))
	}
}

// codeLine is a numbered line of a code block of a book; how many there are before it stands at its end.
var codeLine = regexp.MustCompile(`^\tline\(\d{5}\)\((\d+)\)$`)

// checkBlocks fails when not every line of the code blocks of a text stands in a code block, as it was written.
func (s *streamRig) checkBlocks(pages []string, text string) {
	s.Helper()
	n := 0
	for i, page := range pages {
		lines, _ := inFences(page)
		for _, l := range lines {
			m := codeLine.FindStringSubmatch(l.text)
			if m == nil {
				if strings.Contains(l.text, "line(") {
					s.Errorf("page %d has another line: %q", i, l.text)
				}
				continue
			}
			if want := fmt.Sprint(n % feishutest.BlockLines); !l.code || m[1] != want {
				s.Errorf("page %d: %q is in a code block: %v; want line %s of it", i, l.text, l.code, want)
			}
			n++
		}
	}
	if want := strings.Count(text, "\tline("); n != want {
		s.Errorf("%d lines of code, want %d", n, want)
	}
}

// The whole line: a message is taken in, its turn claimed, what the agent does drawn, the answer stored and delivered.
func TestABookIsAnsweredForTwentyMinutes(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	text := "<at id=all></at> 全书如下：\n\n" + feishutest.Book(30)
	if n := utf8.RuneCountInString(text); n < 120_000 || len(feishutest.Head.FindAllString(text, -1)) < 30 ||
		strings.Count(text, "\tline(") != 12*feishutest.BlockLines {
		t.Fatalf("%d letters", n)
	}
	inScene(t, func(s *streamRig) {
		s.script = writes(text, 1200, time.Second, func(piece int) {
			if piece%60 == 30 {
				s.checkSeen(text[:len(text)*(piece-10)/1200])
			}
		})
		s.ask("写一本书")
		s.check(text)
	})
}

// The same while the platform fails in every way, is away for a minute, and again when the answer is complete.
func TestABookIsAnsweredInBadWeather(t *testing.T) {
	racetest.Skip(t)
	t.Parallel()
	text := feishutest.Book(8)
	const cards, reply = "/open-apis/cardkit/v1/cards", "/open-apis/im/v1/messages/*/reply"
	inScene(t, func(s *streamRig) {
		away := func(f feishusim.Fault) { time.AfterFunc(time.Minute, s.sim.Inject(f)) }
		s.script = writes(text, 400, time.Second, func(piece int) {
			switch piece {
			case 40:
				s.sim.Inject(feishusim.Fault{Status: http.StatusInternalServerError, Times: 4})
			case 80:
				s.sim.Inject(feishusim.Fault{Path: cards, Reset: true, Apply: true, Times: 3})
			case 120:
				s.sim.Inject(feishusim.Fault{Path: reply, Reset: true, Apply: true, Times: 2})
			case 200:
				away(feishusim.Fault{Reset: true})
			case 300:
				s.sim.Inject(feishusim.Fault{Code: 99991400, Times: 3})
			case 399:
				away(feishusim.Fault{Path: cards, Status: http.StatusBadGateway, Body: "<html>bad gateway</html>", Apply: true})
				s.sim.Inject(feishusim.Fault{Path: reply, Reset: true, Apply: true, Times: 2})
			}
		})
		s.ask("写一本书")
		s.check(text)
		faulty := 0
		for _, c := range s.sim.Calls() {
			if c.Faulty {
				faulty++
			}
		}
		if faulty < 15 {
			s.Errorf("the weather was not bad: %d calls went wrong", faulty)
		}
	})
}

// Stormy minutes: one call in five goes wrong, in any way.
func TestABookIsAnsweredInAStorm(t *testing.T) {
	t.Parallel()
	text := feishutest.Book(6)
	inScene(t, func(s *streamRig) {
		stop := s.sim.Storm(7, 0.2)
		s.script = writes(text, 200, 2*time.Second, func(int) {})
		s.ask("写一本书")
		if n := stop(); n < 20 {
			s.Errorf("only %d calls went wrong", n)
		}
		s.check(text)
	})
}
