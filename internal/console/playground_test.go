package console

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"magpie/internal/feishusim"
	"magpie/internal/leaktest"
)

func TestMain(m *testing.M) {
	// Each websocket client of the SDK leaves its cache's timer behind.
	leaktest.Main(m, goleak.IgnoreAnyFunction("github.com/larksuite/oapi-sdk-go/v3/cache.(*cron).start"))
}

// patience bounds every wait of these tests. A test that passes needs a fraction of it.
const patience = time.Minute

// playgroundRig is a running playground with its own simulated platform.
type playgroundRig struct {
	*Playground
	t   *testing.T
	sim *feishusim.Server
	url string
	cut func() // cuts all connections to pages
}

func serve(t *testing.T, cfg PlaygroundConfig) *playgroundRig {
	t.Helper()
	sim, err := feishusim.Start(feishusim.Config{AckTimeout: patience, Redeliver: []time.Duration{},
		Reconnect: feishusim.Reconnect{Interval: time.Second, Nonce: -1},
		Limits: feishusim.Limits{
			AppPerSecond: -1, AppPerMinute: -1, ChatPerSecond: -1, MessagePerSecond: -1, CardPerSecond: -1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sim.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	cfg.Sim = sim
	p := NewPlayground(cfg)
	srv := httptest.NewServer(p)
	t.Cleanup(srv.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return &playgroundRig{Playground: p, t: t, sim: sim, url: srv.URL, cut: srv.CloseClientConnections}
}

func await(t *testing.T, sim *feishusim.Server, what string, cond func(*feishusim.View) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := sim.Await(ctx, cond); err != nil {
		t.Fatalf("await %s: %v\nviolations %+v", what, err, sim.Violations())
	}
}

// do makes a request. change, if not nil, modifies it first.
func (s *playgroundRig) do(method, path, body string, change func(*http.Request)) (int, http.Header, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if change != nil {
		change(r)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(data)
}

// post posts JSON and decodes the answer.
func (s *playgroundRig) post(path string, in any) (int, map[string]string) {
	s.t.Helper()
	status, _, body := s.do("POST", path, text(in), nil)
	var out map[string]string
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		s.t.Fatalf("%s: %v: %q", path, err, body)
	}
	return status, out
}

func (s *playgroundRig) snapshot() state {
	s.t.Helper()
	status, _, body := s.do("GET", "/api/state", "", nil)
	var out state
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != http.StatusOK {
		s.t.Fatalf("state: %d %v", status, err)
	}
	return out
}

func TestPageForbidsEverythingButItsOwnFiles(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	files := map[string]string{"/": "text/html", "/app.css": "text/css"}
	for _, name := range scripts {
		files["/"+name] = "text/javascript"
	}
	for path, kind := range files {
		status, header, body := s.do("GET", path, "", nil)
		if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), kind) || len(body) < 500 {
			t.Errorf("%s: %d %s, %d bytes", path, status, header.Get("Content-Type"), len(body))
		}
		policy := header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "script-src 'self';") ||
			strings.Contains(policy, "unsafe") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	_, _, page := s.do("GET", "/", "", nil)
	for _, want := range []string{`id="composer"`, `id="send"`, `id="lang"`, `id="agent"`, `id="lose-session"`,
		`id="kill"`, `id="tour"`,
		`id="file"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if status, _, _ := s.do("GET", "/web/app.js", "", nil); status != http.StatusNotFound {
		t.Errorf("an unknown path: %d", status)
	}
}

func TestSnapshotShowsChatsAndTurns(t *testing.T) {
	s := serve(t, PlaygroundConfig{Simulated: true})
	st := s.snapshot()
	if !st.Full || !st.Simulated || st.Can != (features{}) || len(st.Users) != 3 || len(st.Chats) != 5 {
		t.Fatalf("state %+v", st)
	}
	for i, name := range []string{"小明", "小红", "Alex", "鹊桥测试群", "票务项目组"} {
		if c := st.Chats[i]; c.Name != name || c.Number != i+1 || (c.Mode == "group") != (i >= 3) || c.Turns == nil ||
			c.Messages == nil {
			t.Errorf("chat %d: %+v", i, c)
		}
	}
	if n := len(st.Chats[3].Members); n != 3 {
		t.Errorf("%d members in the group", n)
	}
	chat := st.Chats[1].ID
	for n := range int64(maxTurns + 5) {
		s.Record(Turn{ChatID: chat, Turn: n + 1, Lost: "transcript missing", Prefix: "小红：你好"})
	}
	turns := s.snapshot().Chats[1].Turns
	if len(turns) != maxTurns || turns[0].Turn != maxTurns+5 || turns[0].Prefix != "小红：你好" {
		t.Errorf("%d turns, first %+v", len(turns), turns[0])
	}
}

func TestSayMentionsTheBotInTheGroupOnly(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	st := s.snapshot()
	private, group := st.Chats[0], st.Chats[3]
	for _, c := range []chat{private, group} {
		status, out := s.post("/api/say", sayRequest{
			Chat: c.ID, User: private.Members[0].ID, Text: "你好", Mention: true,
		})
		m, ok := s.sim.Message(out["message"])
		if status != http.StatusOK || !ok || m.ChatID != c.ID || m.Sender.Name != "小明" {
			t.Fatalf("say: %d %v %+v", status, out, m)
		}
		want := "你好"
		if c.Mode == "group" {
			want = "@Magpie 你好"
		}
		if m.Text() != want {
			t.Errorf("%s: text %q, want %q", c.Mode, m.Text(), want)
		}
	}
	if shown := s.snapshot().Chats[3].Messages; len(shown) != 1 || shown[0].Look.Text != "@Magpie 你好" ||
		shown[0].Origin.Sender.Name != "小明" || shown[0].Origin.Bot {
		t.Errorf("shown %+v", shown)
	}
}

func TestSayRefuses(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	st := s.snapshot()
	chat, user, stranger := st.Chats[0].ID, st.Users[0].ID, st.Users[1].ID
	for code, in := range map[string]any{
		"empty":    sayRequest{Chat: chat, User: user, Text: " \n", Mention: true},
		"too_long": sayRequest{Chat: chat, User: user, Text: strings.Repeat("长", maxText+1)},
		"no_chat":  sayRequest{Chat: "oc_x", User: user, Text: "x"},
		"no_user":  sayRequest{Chat: chat, User: stranger, Text: "x"},
		"request":  obj{"chat": chat, "secret": 1},
	} {
		if status, out := s.post("/api/say", in); status != http.StatusBadRequest || out["error"] != code {
			t.Errorf("%s: %d %v", code, status, out)
		}
	}
	plain := func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }
	if status, _, _ := s.do("POST", "/api/say", text(sayRequest{Chat: chat, User: user, Text: "x"}),
		plain); status != http.StatusBadRequest {
		t.Errorf("a form's content type: %d", status)
	}
	if n := len(s.sim.Messages(chat)); n != 0 {
		t.Errorf("%d messages", n)
	}
}

func TestPressReachesTheBotAndReturnsItsToast(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	connect(t, s.sim)
	st := s.snapshot()
	u := st.Users[0].ID
	_, said := s.post("/api/say", sayRequest{Chat: st.Chats[0].ID, User: u, Text: "hi"})
	_, card, err := newBot(t, s.sim).card(said["message"], false, markdown("body", "hello"), buttons("停止", "stop"))
	if err != nil {
		t.Fatal(err)
	}
	value := json.RawMessage(`{"do":"stop","turn":1}`)
	if status, out := s.post("/api/press",
		pressRequest{Message: card, User: u, Value: value}); status != http.StatusOK || out["content"] != "stop "+u ||
		out["type"] != "success" {
		t.Errorf("press: %d %v", status, out)
	}
	for code, in := range map[string]pressRequest{
		"no_message": {Message: "om_x", User: u, Value: value},
		"no_user":    {Message: card, User: st.Users[1].ID, Value: value},
		"press":      {Message: card, User: u, Value: json.RawMessage(`{"do":"forged"}`)},
	} {
		if _, out := s.post("/api/press", in); out["error"] != code {
			t.Errorf("%s: %v", code, out)
		}
	}
}

// Only the page's own words are shown, which are in the visitor's language; behind them there is an ID or a number at
// most.
func TestWhatThePageShowsOfAProblemHasNoWords(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	st := s.snapshot()
	c, u := st.Chats[0].ID, st.Users[0].ID
	send := buttons("Send", "send")
	button := send["columns"].([]any)[0].(obj)["elements"].([]any)[0].(obj)
	button["name"], button["form_action_type"] = "send", "submit"
	input := obj{"tag": "input", "name": "words", "required": true}
	form := obj{"tag": "form", "name": "f", "elements": []any{input, send}}
	_, card, err := newBot(t, s.sim).card(s.sim.Say(c, s.sim.Users()[0], "ask me"), false, form, buttons("Stop", "stop"))
	if err != nil {
		t.Fatal(err)
	}
	for path, list := range map[string]map[string]any{
		"/api/press": {
			"incomplete": pressRequest{Message: card, User: u, Value: json.RawMessage(`{"do":"send","turn":1}`)},
			"press":      pressRequest{Message: card, User: u, Value: json.RawMessage(`{"do":"stop","turn":1}`)}, // no bot
			"no_message": pressRequest{Message: "om_x", User: u, Value: json.RawMessage(`{"do":"stop","turn":1}`)},
		},
		"/api/say": {
			"too_long": sayRequest{Chat: c, User: u, Text: strings.Repeat("长", maxText+1)},
			"no_chat":  sayRequest{Chat: "oc_x", User: u, Text: "x"},
			"request":  obj{"chat": c, "secret": 1},
		},
	} {
		for code, in := range list {
			status, out := s.post(path, in)
			if status < 400 || out["error"] != code || strings.ContainsAny(out["detail"], " :") ||
				code == "press" && out["detail"] != "200340" {
				t.Errorf("%s: %d %v", code, status, out)
			}
		}
	}
}

func TestLoseSession(t *testing.T) {
	var lost string
	s := serve(t, PlaygroundConfig{LoseSession: func(_ context.Context, chatID string) (string, error) {
		if lost != "" {
			return "", errors.New("no session")
		}
		lost = chatID
		return "0c5e", nil
	}})
	st := s.snapshot()
	if status, out := s.post("/api/lose", loseRequest{Chat: st.Chats[2].ID}); status != http.StatusOK ||
		out["session"] != "0c5e" || lost != st.Chats[2].ID {
		t.Errorf("lose: %d %v, lost %q", status, out, lost)
	}
	if status, out := s.post("/api/lose", loseRequest{Chat: st.Chats[2].ID}); status != http.StatusConflict ||
		out["error"] != "lose" || out["detail"] != "" { // the page says it in the visitor's language
		t.Errorf("lose again: %d %v", status, out)
	}
	if _, out := s.post("/api/lose", loseRequest{Chat: "oc_x"}); out["error"] != "no_chat" {
		t.Errorf("lose in an unknown chat: %v", out)
	}
	if _, out := serve(t, PlaygroundConfig{}).post("/api/lose", loseRequest{}); out["error"] != "not_offered" {
		t.Errorf("lose without a function: %v", out)
	}
}

// events opens the stream and returns a function that reads its next state.
func (s *playgroundRig) events() (next func() state) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	s.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, "GET", s.url+"/api/events", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewReader(resp.Body)
	return func() state {
		s.t.Helper()
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				s.t.Fatalf("events: %v", err)
			}
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				var st state
				if err := json.Unmarshal(data, &st); err != nil {
					s.t.Fatal(err)
				}
				return st
			}
		}
	}
}

func TestEventsDeliverTheNewestState(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	begun := time.Now()
	next := s.events()
	first := next()
	if !first.Full || len(first.Chats) != 5 {
		t.Fatalf("first %+v", first)
	}
	chat, u := first.Chats[0].ID, s.sim.Users()[0]
	const many = 500 // changes; far more than updates
	for range many {
		s.sim.Say(chat, u, "more")
		s.Record(Turn{ChatID: chat, Turn: 1})
	}
	lastSaid := s.sim.Say(chat, u, "last")
	s.Record(Turn{ChatID: chat, Turn: 2})

	known, turn, updates := map[string]bool{}, int64(0), 1
	for !known[lastSaid] || turn != 2 {
		st := next()
		updates++
		if st.Full {
			t.Error("a second full state")
		}
		for _, m := range st.Chats[0].Messages {
			if m.Look != nil {
				known[m.ID] = true
			} else if !known[m.ID] {
				t.Errorf("message %s was never sent", m.ID)
			}
		}
		if st.Chats[0].Turns != nil {
			turn = st.Chats[0].Turns[0].Turn
		}
	}
	if most := int(time.Since(begun)/pace) + 2; updates > most {
		t.Errorf("%d updates, the pace allows %d", updates, most)
	}
}

func TestForeignPagesAreRefused(t *testing.T) {
	s := serve(t, PlaygroundConfig{})
	st := s.snapshot()
	say := text(sayRequest{Chat: st.Chats[0].ID, User: st.Users[0].ID, Text: "x"})
	for name, change := range map[string]func(*http.Request){
		"host":         func(r *http.Request) { r.Host = "evil.example:8080" },
		"rebound host": func(r *http.Request) { r.Host = "127.0.0.1.evil.example" },
		"origin":       func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"other port":   func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") },
		"cross-site":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
	} {
		if status, _, _ := s.do("POST", "/api/say", say, change); status != http.StatusForbidden {
			t.Errorf("%s: %d", name, status)
		}
	}
	for _, path := range []string{"/", "/api/state", "/api/events"} {
		if status, _, _ := s.do("GET", path, "",
			func(r *http.Request) { r.Host = "evil.example" }); status != http.StatusForbidden {
			t.Errorf("%s for a foreign host: %d", path, status)
		}
	}
	for _, host := range []string{"localhost", "LOCALHOST:80", "127.0.0.1", "127.1.2.3:9", "[::1]:80", "[::1]"} {
		if !loopbackName(host) {
			t.Errorf("%s is refused", host)
		}
	}
	if n := len(s.sim.Messages(st.Chats[0].ID)); n != 0 {
		t.Errorf("%d messages were said", n)
	}
}

// Requests that arrive before their turns are kept; of too many, the oldest is dropped.
func TestTheLatestEarlyRequestsAreKept(t *testing.T) {
	list := newTurns()
	for i := range maxSent + 1 {
		list.recordSent(fmt.Sprint("prompt ", i), Sent{})
	}
	list.addTurn(Turn{ChatID: "oc_2", Question: "prompt 0"})
	if list.recordOf("oc_2").list[0].Sent != nil {
		t.Error("nothing was dropped")
	}
	list.addTurn(Turn{ChatID: "oc_1", Question: "prompt 1"})
	if list.recordOf("oc_1").list[0].Sent == nil {
		t.Error("the request of a recent turn was dropped")
	}
}
