package modelsim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// start starts a server for a test.
func start(t *testing.T, rules ...Rule) *Server {
	t.Helper()
	s, err := Start(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.Script(rules...)
	return s
}

// limited returns a context that bounds each wait of a test.
func limited(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func do(ctx context.Context, t *testing.T, method, url, body string) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "sk-test-dummy")
	req.Header.Set("X-Claude-Code-Session-Id", "s-1")
	return http.DefaultClient.Do(req)
}

// ask posts a question and returns the response and all of its body.
func ask(t *testing.T, s *Server, question string, stream bool) (*http.Response, string) {
	t.Helper()
	resp, err := post(limited(t), t, s, question, stream)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func post(ctx context.Context, t *testing.T, s *Server, question string, stream bool) (*http.Response, error) {
	t.Helper()
	body := fmt.Sprintf(`{"model":"m-1","stream":%v,"system":"sys","messages":[{"role":"user","content":%q}],"tools":[{"name":"Bash"}]}`, stream, question)
	return do(ctx, t, http.MethodPost, s.URL()+"/v1/messages?beta=true", body)
}

// outline is the events of a stream on one line: names, with what deltas add in brackets.
func outline(t *testing.T, stream string) string {
	t.Helper()
	var parts []string
	for ev := range strings.SplitSeq(strings.TrimSpace(stream), "\n\n") {
		name, data, ok := strings.Cut(strings.TrimPrefix(ev, "event: "), "\ndata: ")
		if !ok || gjson.Get(data, "type").String() != name {
			t.Fatalf("event %q", ev)
		}
		switch name {
		case "content_block_start":
			name += "(" + gjson.Get(data, "content_block.type").String() + ")"
		case "content_block_delta":
			d := gjson.Get(data, "delta")
			name = "delta(" + d.Get("text").String() + d.Get("thinking").String() + d.Get("signature").String() +
				d.Get("partial_json").String() + ")"
		case "message_delta":
			name += "(" + gjson.Get(data, "delta.stop_reason").String() + ")"
		case "error":
			name += "(" + gjson.Get(data, "error.type").String() + ")"
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, " ")
}

func TestAStreamHasItsEventsInOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		steps []Step
		want  string
	}{
		"text": {[]Step{Text("a "), Text("b")},
			"message_start content_block_start(text) ping delta(a ) delta(b) content_block_stop " +
				"message_delta(end_turn) message_stop"},
		"chunks": {[]Step{Chunks("一二三", 2, time.Nanosecond)},
			"message_start content_block_start(text) ping delta(一二) delta(三) content_block_stop " +
				"message_delta(end_turn) message_stop"},
		"thinking": {[]Step{Thinking("hm"), Text("a")},
			"message_start content_block_start(thinking) ping delta(hm) delta(c2lnbmF0dXJl) content_block_stop " +
				"content_block_start(text) delta(a) content_block_stop message_delta(end_turn) message_stop"},
		"tools": {[]Step{Text("a"), Tool("Bash", object{"x": 1}), Tool("Read", object{})},
			`message_start content_block_start(text) ping delta(a) content_block_stop content_block_start(tool_use) delta({"x) delta(":1}) ` +
				`content_block_stop content_block_start(tool_use) delta({) delta(}) content_block_stop message_delta(tool_use) message_stop`},
		"stop": {[]Step{Text("a"), Stop("max_tokens")},
			"message_start content_block_start(text) ping delta(a) content_block_stop message_delta(max_tokens) " +
				"message_stop"},
		"nothing": {nil, "message_start message_delta(end_turn) message_stop"},
		"blank": {[]Step{Text("")}, "message_start content_block_start(text) ping content_block_stop " +
			"message_delta(end_turn) message_stop"},
		"error": {[]Step{Text("a"), Fail(529, "overloaded_error", "busy"), Text("b")},
			"message_start content_block_start(text) ping delta(a) error(overloaded_error)"},
		"wait": {[]Step{Wait(time.Nanosecond), Text("a")},
			"message_start content_block_start(text) ping delta(a) content_block_stop message_delta(end_turn) " +
				"message_stop"},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Rule{Steps: tc.steps})
			resp, body := ask(t, s, "q", true)
			if got := outline(t, body); got != tc.want || resp.StatusCode != http.StatusOK {
				t.Errorf("status %d\n got %s\nwant %s", resp.StatusCode, got, tc.want)
			}
			if ct := resp.Header.Get("Content-Type"); !strings.HasPrefix(ct, "text/event-stream") ||
				resp.Header.Get("Request-Id") == "" {
				t.Errorf("headers %v", resp.Header)
			}
		})
	}
}

func TestAMessageInOnePieceIsTheSame(t *testing.T) {
	s := start(t, Rule{Steps: []Step{Thinking("hm"), Text("a "), Text("b"), Tool("Bash", object{"x": 1})}})
	resp, body := ask(t, s, "q", false)
	got := gjson.Parse(body)
	want := `[{"signature":"c2lnbmF0dXJl","thinking":"hm","type":"thinking"},{"text":"a b","type":"text"},` +
		`{"id":"toolu_sim000001_02","input":{"x":1},"name":"Bash","type":"tool_use"}]`
	if got.Get("content").Raw != want || got.Get("stop_reason").String() != "tool_use" ||
		got.Get("usage.output_tokens").Int() < 1 {
		t.Errorf("%s", body)
	}
	if resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("headers %v", resp.Header)
	}
}

func TestUsageIsThatOfTheRequest(t *testing.T) {
	s := start(t)
	total := func(question string) int64 {
		_, body := ask(t, s, question, false)
		u := gjson.Get(body, "usage")
		return u.Get("input_tokens").Int() + u.Get("cache_read_input_tokens").Int() +
			u.Get("cache_creation_input_tokens").Int()
	}
	short, long := total("a"), total(strings.Repeat("a", 4000))
	if short < 10 || long-short < 950 || long-short > 1050 {
		t.Errorf("%d and %d tokens", short, long)
	}
	resp, err := do(limited(t), t, http.MethodPost, s.URL()+"/v1/messages/count_tokens", `{"messages":[]}`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil || gjson.GetBytes(body, "input_tokens").Int() != 4 {
		t.Errorf("%s %v", body, err)
	}
	if n := len(s.Requests()); n != 2 {
		t.Errorf("%d requests recorded: count_tokens must not be", n)
	}
}

func TestErrorsBeforeTheFirstDeltaAreOfHTTP(t *testing.T) {
	s := start(t, Rule{
		Times: 1, Steps: []Step{Wait(time.Nanosecond), Fail(401, "authentication_error", "invalid x-api-key")},
	},
		Rule{Times: 1, Steps: []Step{Text("a"), Fail(500, "api_error", "oops")}})
	for _, want := range []int{401, 500} {
		resp, body := ask(t, s, "q", want == 401)
		if resp.StatusCode != want || gjson.Get(body, "type").String() != "error" ||
			gjson.Get(body, "request_id").String() != resp.Header.Get("Request-Id") {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	if r := s.Requests(); r[0].Status != 401 || r[1].Status != 500 || r[0].Cancelled || r[0].End.IsZero() {
		t.Errorf("%+v, %+v", r[0].Progress, r[1].Progress)
	}
}

func TestCutClosesTheConnection(t *testing.T) {
	s := start(t, Rule{Times: 1, Steps: []Step{Text("half"), Cut()}}, Rule{Times: 1, Steps: []Step{Cut()}})
	resp, err := post(limited(t), t, s, "q", true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.HasSuffix(outline(t, string(body)), "delta(half)") {
		t.Errorf("%q %v", body, err)
	}
	if resp, err := post(limited(t), t, s, "q", true); err == nil {
		_ = resp.Body.Close()
		t.Errorf("status %d without an answer", resp.StatusCode)
	}
	if r := s.Requests(); r[0].Cancelled || r[0].Reply != "half" || r[1].Status != 0 {
		t.Errorf("%+v", r)
	}
}

// A delta is sent while the rest is still held back, and the record shows it.
func TestDeltasAreSentAtOnce(t *testing.T) {
	release := make(chan struct{})
	s := start(t, Rule{Steps: []Step{Text("one"), Hold(release), Text("two")}})
	resp, err := post(limited(t), t, s, "q", true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	lines := bufio.NewScanner(resp.Body)
	seen := func(what string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), what) {
				return
			}
		}
		t.Fatalf("no %q: %v", what, lines.Err())
	}
	seen(`"one"`)
	if err := s.Await(limited(t), func(r []Request) bool { return r[0].Reply == "one" }); err != nil {
		t.Fatal(err)
	}
	if r := s.Requests()[0]; !r.End.IsZero() || r.FirstDelta.IsZero() || r.Status != 200 {
		t.Errorf("%+v", r.Progress)
	}
	close(release)
	seen(`"two"`)
	seen("message_stop")
	ended := func(r []Request) bool { return !r[0].End.IsZero() }
	if err := s.Await(limited(t), ended); err != nil {
		t.Fatal(err)
	}
	if r := s.Requests()[0]; r.Reply != "onetwo" || r.Cancelled || !r.LastDelta.After(r.FirstDelta) {
		t.Errorf("%+v", r.Progress)
	}
}

func TestAClientThatLeavesIsRecorded(t *testing.T) {
	for name, steps := range map[string][]Step{
		"before headers": {Hang()}, "in the stream": {Text("a"), Hang()}, "waiting": {Wait(time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, Rule{Steps: steps})
			ctx, leave := context.WithCancel(limited(t))
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				if resp, err := post(ctx, t, s, "q", true); err == nil {
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
			}()
			if err := s.Await(limited(t), func(r []Request) bool { return len(r) == 1 }); err != nil {
				t.Fatal(err)
			}
			leave()
			if err := s.Await(limited(t), func(r []Request) bool { return r[0].Cancelled }); err != nil {
				t.Error(err)
			}
			<-gone
		})
	}
}

func TestCloseEndsWhatHangs(t *testing.T) {
	s := start(t, Rule{Steps: []Step{Text("a"), Hang()}})
	resp, err := post(limited(t), t, s, "q", true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if r := s.Requests()[0]; r.End.IsZero() || r.Cancelled {
		t.Errorf("%+v", r.Progress)
	}
	never := func([]Request) bool { return false }
	if err := s.Await(limited(t), never); !errors.Is(err, errClosed) {
		t.Errorf("Await: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestAwaitEndsWithItsContext(t *testing.T) {
	s := start(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	cancel(enough)
	if err := s.Await(ctx, func([]Request) bool { return false }); !errors.Is(err, enough) {
		t.Errorf("%v", err)
	}
}

func TestTheFirstRuleThatFitsAnswers(t *testing.T) {
	says := func(s string) []Step { return []Step{Text(s)} }
	about := func(word string) func(*Request) bool {
		return func(r *Request) bool { return strings.Contains(r.LastUser(), word) }
	}
	s := start(t, Rule{Steps: says("always")})
	s.Script(Rule{Name: "x", Match: about("x"), Times: 2, Steps: says("x")}, Rule{Match: about("y"), Steps: says("y")})
	for i, tc := range []struct{ question, want string }{
		{"x", "x"}, {"y", "y"}, {"xy", "x"}, {"xy", "y"}, {"x", "always"},
	} {
		if _, body := ask(t, s, tc.question, false); gjson.Get(body, "content.0.text").String() != tc.want {
			t.Errorf("%d: %q: %s, want %s", i, tc.question, body, tc.want)
		}
	}
	if n := len(s.Requests()); n != 5 {
		t.Errorf("%d requests", n)
	}
	s.Reset()
	if _, body := ask(t, s, "数到2", false); gjson.Get(body, "content.0.text").String() != "1 2" {
		t.Errorf("after a reset: %s", body)
	}
	if r := s.Requests(); len(r) != 1 || r[0].ID != 6 {
		t.Errorf("after a reset: %+v", r)
	}
}

func TestARequestIsRecordedWithoutItsKey(t *testing.T) {
	s := start(t)
	ask(t, s, "hello", true)
	r := s.Requests()[0]
	if r.ID != 1 || r.Path != "/v1/messages" || r.SessionID != "s-1" || r.Model != "m-1" || !r.Stream ||
		r.System != "sys" || !r.HasTool("Bash") {
		t.Errorf("%+v", r)
	}
	if r.Header.Get("X-Api-Key") != "" || r.Header.Get("X-Claude-Code-Session-Id") != "s-1" ||
		!gjson.ValidBytes(r.Body) {
		t.Errorf("%v %s", r.Header, r.Body)
	}
	if r.Messages[0].Role != "user" || r.Messages[0].Text != "hello" || !strings.Contains(r.Reply, "hello") {
		t.Errorf("%+v", r)
	}
}

func TestWhatTheAPIDoesNotKnowIsRefused(t *testing.T) {
	s := start(t)
	for _, tc := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodHead, "/", "", 200},
		{http.MethodPost, "/v1/messages", "{", 400},
		{http.MethodPost, "/v1/messages", "[]", 400},
		{http.MethodPost, "/v1/messages", "{}", 400},
		{http.MethodPost, "/v1/messages/count_tokens", "", 400},
		{http.MethodGet, "/v1/models", "", 404},
		{http.MethodGet, "/v1/messages", "", 404},
	} {
		resp, err := do(limited(t), t, tc.method, s.URL()+tc.path, tc.body)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tc.want {
			t.Errorf("%s %s %s: %d, want %d", tc.method, tc.path, tc.body, resp.StatusCode, tc.want)
		}
	}
	if got := strings.Join(s.Unexpected(), ", "); got != "GET /v1/models, GET /v1/messages" {
		t.Errorf("unexpected: %s", got)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests recorded", n)
	}
}

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	if s, err := Start(Config{Listen: "0.0.0.0:0"}); err == nil {
		_ = s.Close()
		t.Error("listens everywhere")
	}
}

func TestTheBrainKeepsItsPace(t *testing.T) {
	s, err := Start(Config{Pace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	_, body := ask(t, s, "数到 100", true)
	if n := strings.Count(body, "text_delta"); n != (291+5)/6 {
		t.Errorf("%d deltas", n)
	}
	if r := s.Requests()[0]; r.LastDelta.Sub(r.FirstDelta) < 48*time.Millisecond {
		t.Errorf("took %v", r.LastDelta.Sub(r.FirstDelta))
	}
}
