//go:build linux

package claude_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
	"magpie/internal/i18n"
	"magpie/internal/text"
)

// servers configures MCP servers of a project. The configuration names all of them, except for those whose name begins
// with "planted".
func servers(t *testing.T, definitions map[string]any) claude.Config {
	t.Helper()
	c := claude.Config{Project: t.TempDir(), Command: "claude", Environ: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}
	for name := range definitions {
		if !strings.HasPrefix(name, "planted") {
			c.MCP = append(c.MCP, name)
		}
	}
	write(t, filepath.Join(c.Project, ".mcp.json"), string(encode(t, map[string]any{"mcpServers": definitions})))
	return c
}

// brokenVariable makes such a server "exit" or "hang" before it responds.
const brokenVariable = "MAGPIE_TEST_MCP_BROKEN"

// failMCP is the behaviour of a broken server.
func failMCP(started string) error {
	switch os.Getenv(brokenVariable) {
	case "exit":
		fmt.Fprintln(os.Stderr, "starting\nno token is configured")
		os.Exit(3)
	case "hang": // with another process, which leaves its group
		return syscall.Exec("/bin/sh", []string{"sh", "-c", `trap "" TERM; setsid sleep 300 & echo $$ $! > "$1.new"
			mv "$1.new" "$1"; sleep 300`, "sh", started}, os.Environ())
	}
	return nil
}

// process is a server that the test binary itself plays. It writes into a file once it runs.
func process(t *testing.T, started, broken string) map[string]any {
	t.Helper()
	program, err := os.Executable()
	must(t, err)
	return map[string]any{"command": program, "env": map[string]string{serverVariable: started, brokenVariable: broken}}
}

// Servers are started, or requested, as the CLI does. The error of a server does not reveal secrets.
func TestCheckServers(t *testing.T) {
	t.Parallel()
	serves := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server {
		return mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	}, nil)
	network := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:1/elsewhere", http.StatusTemporaryRedirect)
		case "/open":
			serves.ServeHTTP(w, r)
		default:
			if r.Header.Get("Authorization") != "Bearer right" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			serves.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(network.Close)
	url := func(path, token string) map[string]any {
		d := map[string]any{"type": "http", "url": network.URL + path}
		if token != "" {
			d["headers"] = map[string]string{"Authorization": "Bearer " + token}
		}
		return d
	}
	dir := t.TempDir()
	c := servers(t, map[string]any{
		"works": process(t, filepath.Join(dir, "works"), ""), "exits": process(t, filepath.Join(dir, "exits"), "exit"),
		"planted": process(t, filepath.Join(dir, "planted"), ""),
		"absent":  map[string]any{"command": "magpie-no-such-server"},
		"folders": map[string]any{"command": "./server", "args": []string{"${HOME}"}, "env": map[string]string{"OWN": "${NONE}"}},
		"silent":  map[string]any{"command": "sh", "args": []string{"-c", "exit 0"}},
		"open":    url("/open?key=hidden", ""), "login": url("/", ""), "wrong": url("/?key=hidden", "wrong"),
		"right": url("/", "${TOKEN:-right}"), "away": url("/away", "right"),
		"stream":  map[string]any{"type": "sse", "url": network.URL + "/none?key=hidden"},
		"nobody":  map[string]any{"type": "http", "url": "http://127.0.0.1:1/?key=hidden"},
		"new":     map[string]any{"type": "a kind that only the CLI knows", "url": "x"},
		"program": map[string]any{"type": "http", "url": network.URL, "headersHelper": "prints headers"},
	})
	server := filepath.Join(c.Project, "server")
	write(t, server, "#!/bin/sh\necho \"$CLAUDE_PROJECT_DIR $PWD $HOME $1 $OWN\" >&2\n")
	must(t, os.Chmod(server, 0o700))
	home := strings.TrimPrefix(c.Environ[1], "HOME=")
	c.Environ = append(c.Environ, "MAGPIE_SECRET=hidden")
	c.Env = map[string]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "600000", "MCP_TIMEOUT": "600000"} // none counts as slow
	got, err := c.CheckServers(t.Context(), c.Project)
	must(t, err)
	for name, want := range map[string]string{
		"exits":   "exit code 3 (no token is configured)",
		"absent":  "magpie-no-such-server: ",
		"folders": text.SafeLine(strings.Join([]string{c.Project, c.Project, home, home, "${NONE}"}, " ")),
		"silent":  "it ended without an answer", "wrong": "HTTP status 401",
		"away": "127.0.0.1:1: the connection was refused", "nobody": "127.0.0.1:1: the connection was refused",
	} {
		if err := got[name]; err == nil || !strings.Contains(i18n.ErrorText(i18n.English, err), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	for _, name := range []string{"login", "stream"} {
		if !errors.Is(got[name], workspace.ErrServerLogin) {
			t.Errorf("%s: %v", name, got[name])
		}
	}
	if len(got) != 9 {
		t.Errorf("%d fail: %v", len(got), got)
	}
	for name, err := range got {
		if strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s tells a secret: %v", name, err)
		}
	}
	if pid, err := os.ReadFile(filepath.Join(dir, "works")); err != nil {
		t.Error(err)
	} else if _, err := os.Stat("/proc/" + string(pid)); err == nil {
		t.Error("the server that works is still there")
	}
	if _, err := os.Stat(filepath.Join(dir, "planted")); err == nil {
		t.Error("a server was started that nobody has approved")
	}
}

// A server that does not respond is ended, together with its descendants.
func TestAHangingServerLeavesNothing(t *testing.T) {
	t.Parallel()
	started := filepath.Join(t.TempDir(), "pids")
	c := servers(t, map[string]any{"hangs": process(t, started, "hang")})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		_ = poll(t.Context(), "the server", func() bool { _, err := os.Stat(started); return err == nil })
	}()
	if got, err := c.CheckServers(ctx, c.Project); err != nil || got["hangs"] == nil {
		t.Errorf("%v, %v", got, err)
	}
	data, err := os.ReadFile(started)
	pids := strings.Fields(string(data))
	if err != nil || len(pids) != 2 {
		t.Fatalf("%q, %v", data, err)
	}
	must(t, poll(t.Context(), "the end of the server", func() bool { return ended(pids[0]) && ended(pids[1]) }))

	c.Env = map[string]string{"MCP_TIMEOUT": "20"}
	got, err := c.CheckServers(t.Context(), c.Project)
	if err != nil || got["hangs"] == nil || i18n.ErrorText(i18n.English, got["hangs"]) != "no answer within 20ms" {
		t.Errorf("%v, %v", got, err)
	}
}

// ended reports whether a process has ended. Its parent may not have waited for it yet.
func ended(pid string) bool {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	return err != nil || strings.Contains(string(data), ") Z ")
}

// A server that starts more slowly than the first question of a process waits is named.
func TestASlowServer(t *testing.T) {
	t.Parallel()
	c := servers(t, map[string]any{"slow": process(t, filepath.Join(t.TempDir(), "started"), "")})
	for wait, want := range map[string]error{"1": workspace.ErrServerSlow, "600000": nil} {
		c.Env = map[string]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": wait, "MCP_TIMEOUT": "600000"}
		if got, err := c.CheckServers(t.Context(), c.Project); err != nil || !errors.Is(got["slow"], want) {
			t.Errorf("%s: %v, %v", wait, got, err)
		}
	}
}

// How long the CLI waits for servers is limited, unless the configuration says otherwise.
func TestHowLongTheCLIWaitsForServers(t *testing.T) {
	for name, tc := range map[string]struct {
		mcp  workspace.MCPServers
		env  map[string]string
		want []string
	}{
		"by default": {workspace.MCPServers{"all"}, nil,
			[]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS=3000", "MCP_TIMEOUT=10000"}},
		"configured": {workspace.MCPServers{"all"},
			map[string]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "7", "MCP_TIMEOUT": "8"},
			[]string{"CLAUDE_CODE_MCP_STARTUP_WAIT_MS=7", "MCP_TIMEOUT=8"}},
		"no servers": {workspace.MCPServers{"none"}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			n := newTwoChats(t, claudetest.Scripted(t), func(c *claude.Config) { c.MCP, c.Env = tc.mcp, tc.env })
			write(t, filepath.Join(n.home, ".claude.json"), `{"mcpServers":{"a":{"command":"sh"}}}`)
			p := n.acquire("a", fresh())
			var env []string
			must(t, poll(t.Context(), "its environment", func() bool { // empty between fork and exec
				env = Environment(t, p)
				return len(env) > 1
			}))
			var got []string
			for _, kv := range env {
				if strings.HasPrefix(kv, "MCP_TIMEOUT=") || strings.HasPrefix(kv, "CLAUDE_CODE_MCP_STARTUP_WAIT_MS=") {
					got = append(got, kv)
				}
			}
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
			n.pool.Release(p)
		})
	}
}
