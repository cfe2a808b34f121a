package agenttools_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
)

var here, there = chat.FeishuChat("oc_here"), chat.FeishuChat("oc_there")

type sayInput struct {
	Text string `json:"text" jsonschema:"what to say"`
}

// where is a tool that returns the chat for which it was called.
func where() []agenttools.Tool {
	where := agenttools.New("where", "Tells where you are.",
		func(_ context.Context, key chat.Key, in sayInput) (string, error) {
			switch in.Text {
			case "refuse":
				return "", &agenttools.RefusedError{Reason: "because"}
			case "fail":
				return "", errors.New("disk on fire")
			}
			return key.String() + " " + in.Text, nil
		})
	return []agenttools.Tool{where}
}

func serve(t *testing.T) *agenttools.Server {
	t.Helper()
	s, err := agenttools.Listen(zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	done, ctx := make(chan error, 1), t.Context()
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() {
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// bearer sends a token with every request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func connect(t *testing.T, url, token string) (*mcp.ClientSession, error) {
	t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: bearer(token)},
			MaxRetries: -1}, nil)
	if err == nil {
		t.Cleanup(func() { _ = s.Close() })
	}
	return s, err
}

func call(t *testing.T, s *mcp.ClientSession, args map[string]any) (string, bool) {
	t.Helper()
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "where", Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, c := range r.Content {
		text = append(text, c.(*mcp.TextContent).Text)
	}
	return strings.Join(text, "|"), r.IsError
}

// While the chat of a process is unknown, its calls are refused. Once bound, the token stays with that chat.
func TestATokenIsBoundOnce(t *testing.T) {
	g := serve(t).GrantUnbound(where())
	session, err := connect(t, g.URL, g.Token)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := session.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	if got, bad := call(t, session, map[string]any{"text": "hi"}); !bad || !strings.Contains(got, "Nobody") {
		t.Errorf("before: %q, %v", got, bad)
	}
	for _, key := range []chat.Key{here, there} {
		g.Bind(key)
		if got, bad := call(t, session, map[string]any{"text": "hi"}); bad || got != "feishu:chat:oc_here hi" {
			t.Errorf("bound to %v: %q, %v", key, got, bad)
		}
	}
}

// A token stands for one chat, whatever the request claims, and for nothing once it is revoked.
func TestATokenStandsForOneChat(t *testing.T) {
	s := serve(t)
	mine, theirs := s.Grant(here, where()), s.Grant(there, where())
	if mine.Token == theirs.Token || len(mine.Token) < 26 || mine.Names[0] != "where" {
		t.Fatalf("grants %+v and %+v", mine, theirs)
	}
	session, err := connect(t, mine.URL, mine.Token)
	if err != nil {
		t.Fatal(err)
	}
	if got, bad := call(t, session, map[string]any{"text": "hi"}); bad || got != "feishu:chat:oc_here hi" {
		t.Errorf("%q, %v", got, bad)
	}
	for _, args := range []map[string]any{
		{"text": "hi", "chat": there.String()}, {"text": "hi", "key": map[string]any{"ID": "oc_there"}}, {},
		{"text": 7},
	} {
		if got, bad := call(t, session, args); !bad || strings.Contains(got, "oc_there ") {
			t.Errorf("%v: %q", args, got)
		}
	}
	if got, bad := call(t, session, map[string]any{"text": "refuse"}); !bad || got != "because" {
		t.Errorf("a refusal: %q, %v", got, bad)
	}
	if got, bad := call(t, session, map[string]any{"text": "fail"}); !bad || strings.Contains(got, "fire") {
		t.Errorf("a failure: %q, %v", got, bad)
	}
	mine.Revoke()
	if r, err := session.CallTool(t.Context(),
		&mcp.CallToolParams{Name: "where", Arguments: map[string]any{"text": "hi"}}); err == nil {
		t.Errorf("after the revocation: %+v", r)
	}
	if _, err := connect(t, mine.URL, mine.Token); err == nil {
		t.Error("a new connection after the revocation")
	}
	if _, err := connect(t, theirs.URL, theirs.Token); err != nil {
		t.Errorf("the other chat's token was revoked, too: %v", err)
	}
}

// Without a token nothing can be learnt: neither which tools exist, nor whether a token was ever valid.
func TestWithoutATokenThereIsNothing(t *testing.T) {
	s := serve(t)
	old := s.Grant(here, where())
	old.Revoke()
	answers := map[string]bool{}
	for _, header := range []string{"", "Bearer ", "Bearer x", "Bearer " + old.Token, old.Token, "Basic eDp4"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			r, err := http.NewRequestWithContext(t.Context(), method, old.URL,
				strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", header)
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			answers[res.Status+" "+string(body)] = true
		}
	}
	if len(answers) != 1 || !answers["404 Not Found 404 page not found\n"] {
		t.Errorf("answers %v", answers)
	}
}

// On a machine that is suspended for some seconds the tools start late. The CLI waits for them before its first
// request.
func TestTheCLIWaitsForItsTools(t *testing.T) {
	t.Parallel()
	model, err := modelsim.Start(modelsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	s, err := agenttools.Listen(zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	serving, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	// the CLI's default timeout is five seconds from its start
	time.AfterFunc(12*time.Second, func() { done <- s.Serve(serving) })
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	cfg := claudetest.Config(t, model.URL())
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	g := s.Grant(here, where())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	p, err := pool.Acquire(ctx, "owner",
		claude.Spec{Session: uuid.NewString(), Dir: cfg.Project, Mode: "default", Tools: func() claude.Tools {
			return claude.Tools{
				Server: agenttools.ServerName, URL: g.URL, Token: g.Token, Names: g.Names, Close: g.Revoke,
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Release(p)
	for _, err := range p.Run(ctx, uuid.NewString(), "hello") {
		if err != nil {
			t.Fatal(err)
		}
	}
	if asked := model.Requests(); len(asked) != 1 || !asked[0].HasTool("mcp__magpie__where") {
		t.Errorf("the model was asked %d times, or without the tools", len(asked))
	}
}

// The real CLI calls the tools without a question, although its proxy does not work. The token is in no argument, and
// is invalid after the process has ended.
func TestTheCLIUsesTheTools(t *testing.T) {
	t.Parallel()
	model, err := modelsim.Start(modelsim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	s := serve(t)
	cfg := claudetest.Config(t, model.URL())
	cfg.Environ = append(cfg.Environ, "HTTP_PROXY=http://127.0.0.1:9", "http_proxy=http://127.0.0.1:9")
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	model.Script(modelsim.Rule{
		Times: 1, Steps: []modelsim.Step{modelsim.Tool("mcp__magpie__where", map[string]any{"text": "from the model"})},
	})
	var grants []agenttools.Grant
	spec := claude.Spec{Session: uuid.NewString(), Dir: cfg.Project, Mode: "default", Tools: func() claude.Tools {
		g := s.Grant(here, where())
		grants = append(grants, g)
		return claude.Tools{Server: agenttools.ServerName, URL: g.URL, Token: g.Token, Names: g.Names, Close: g.Revoke}
	}}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ask := func(prompt string) (said string) {
		p, err := pool.Acquire(ctx, "owner", spec)
		if err != nil {
			t.Fatal(err)
		}
		defer pool.Release(p)
		if line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Pid()), "cmdline")); err == nil &&
			strings.Contains(string(line), grants[0].Token) {
			t.Error("the token is in the arguments")
		}
		for ev, err := range p.Run(ctx, uuid.NewString(), prompt) {
			if err != nil {
				t.Fatal(err)
			}
			switch e := ev.(type) {
			case claude.ToolAsk:
				t.Fatalf("%s needs a permission", e.Name)
			case claude.Text:
				said = e.Text
			}
		}
		return said
	}
	if got := ask("hello"); !strings.Contains(got, here.String()+" from the model") {
		t.Errorf("said %q", got)
	}
	ask("again")
	if len(grants) != 1 {
		t.Errorf("%d tokens for one process", len(grants))
	}
	pool.Close()
	if _, err := connect(t, grants[0].URL, grants[0].Token); err == nil {
		t.Error("the token outlived its process")
	}
}

// Without a token nobody holds a connection: each takes a file descriptor of the program.
func TestConnectionsWithoutATokenAreClosed(t *testing.T) {
	t.Parallel()
	s := serve(t)
	g := s.Grant(here, where())
	c, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(g.URL, "http://"), "/"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it is closed by the server
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer wrong\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 404 ") {
		t.Errorf("%q, %v", got, err)
	}
}
