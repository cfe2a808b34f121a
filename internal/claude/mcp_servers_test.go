package claude_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"magpie/internal/agenttools"
	"magpie/internal/chat"
	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// serverVariable makes the test binary an MCP server that writes into the file named by it when it starts.
const serverVariable = "MAGPIE_TEST_MCP_SERVER"

// serveMCP is an MCP server with one tool, on stdin and stdout.
func serveMCP(started string) error {
	fmt.Println("The test server is starting.") // the CLI passes over that
	if err := os.WriteFile(started, fmt.Append(nil, os.Getpid()), 0o600); err != nil {
		return err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Echoes."},
		func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			echo := &mcp.TextContent{Text: "echo of " + filepath.Base(started)}
			return &mcp.CallToolResult{Content: []mcp.Content{echo}}, nil, nil
		})
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// ownTools is the program's own MCP server, as each process has one.
func ownTools(t *testing.T) func() claude.Tools {
	t.Helper()
	s, err := agenttools.Listen(zerolog.Nop())
	must(t, err)
	done, ctx := make(chan error, 1), t.Context()
	go func() { done <- s.Serve(ctx) }()
	t.Cleanup(func() { must(t, <-done) })
	say := agenttools.New("say", "Says something.",
		func(context.Context, chat.Key, struct{}) (string, error) { return "said", nil })
	return func() claude.Tools {
		g := s.Grant(chat.FeishuChat("oc_1"), []agenttools.Tool{say})
		return claude.Tools{
			Server: agenttools.ServerName, URL: g.URL, Token: g.Token, Names: g.Names, Close: g.Revoke,
		}
	}
}

// serverChats is a rig whose user and project have configured MCP servers.
func serverChats(t *testing.T, command string, mcp workspace.MCPServers) (n twoChats, started func() string) {
	t.Helper()
	n = newTwoChats(t, command, func(c *claude.Config) { c.KeepAlive.Duration, c.MCP = 0, mcp })
	program, err := os.Executable()
	must(t, err)
	server := func(name string) string {
		return string(encode(t, map[string]any{"command": program, "env": map[string]string{
			serverVariable: "${MAGPIE_TEST_UNSET:-" + n.base + "}/started-" + name,
		}}))
	}
	write(t, filepath.Join(n.home, ".claude.json"), `{"mcpServers":{"everywhere":`+server("everywhere")+`},"projects":{"`+
		n.cfg.Project+`":{"mcpServers":{"here":`+server("here")+`,"off":`+server("off")+`},
		"disabledMcpServers":["off"],"enabledMcpjsonServers":["approved"],"hasTrustDialogAccepted":true}}}`)
	write(t, filepath.Join(n.cfg.Project, ".claude", "settings.local.json"), // where the CLI stores approvals
		`{"enabledMcpjsonServers":["dialog"],"disabledMcpjsonServers":["refused"]}`)
	write(t, filepath.Join(n.cfg.Project, ".mcp.json"),
		`{"mcpServers":{"approved":`+server("approved")+`,"dialog":`+server("dialog")+`,`+
			`"refused":`+server("refused")+`,"planted":`+server("planted")+`,"everywhere":`+server("false")+`}}`)
	return n, func() string {
		list, err := filepath.Glob(filepath.Join(n.base, "started-*"))
		must(t, err)
		for i, path := range list {
			list[i] = strings.TrimPrefix(filepath.Base(path), "started-")
		}
		slices.Sort(list)
		return strings.Join(list, " ")
	}
}

// Agents of chats use the MCP servers that the machine's user has configured, and those of the project that this user
// has approved. A server that somebody puts into a project is not started unless the configuration names it.
func TestTheUsersOwnMCPServers(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		for name, tc := range map[string]struct {
			mcp  workspace.MCPServers
			want string
			wait string // for an approval
			bare bool   // without the program's own tools
		}{
			"all":  {workspace.MCPServers{"all"}, "approved dialog everywhere here", "planted", false},
			"none": {workspace.MCPServers{"none"}, "", "", true},
			// the project also has a server with the name everywhere
			"names": {workspace.MCPServers{"planted", "here", "everywhere"}, "everywhere here planted", "", false},
		} {
			if name == "names" && command == claudetest.Oldest(t) {
				continue // only the program's choice differs; for the CLI it is like "all"
			}
			t.Run(name, func(t *testing.T) {
				n, started := serverChats(t, command, tc.mcp)
				list, err := n.cfg.ServerNames(n.cfg.Project)
				if err != nil || strings.Join(list.Loaded, " ") != tc.want || len(list.Missing) > 0 ||
					strings.Join(list.Unapproved, " ") != tc.wait {
					t.Errorf("reported: %+v, %v", list, err)
				}
				steps := map[string][]any{}
				var own func() claude.Tools
				if !tc.bare {
					own = ownTools(t)
					steps[agenttools.Prefix+"say"] = []any{map[string]string{}}
				}
				if tc.want != "" {
					steps["mcp__here__echo"] = []any{map[string]string{}}
				}
				var tries []toolUse
				for range 10 { // the oldest CLI waits three seconds for its servers, in which a busy machine starts none
					spec := fresh()
					spec.Tools = own
					if tries = n.tryTools("a", spec, steps); !slices.ContainsFunc(tries, toolUse.unknown) {
						break
					}
				}
				if got := started(); got != tc.want {
					t.Errorf("started: %q, want %q", got, tc.want)
				}
				for _, u := range tries {
					own := strings.HasPrefix(u.tool, agenttools.Prefix)
					if own && (u.asked || u.result == "") || !own && (!u.asked ||
						strings.Contains(u.result, "echo of")) {
						t.Errorf("asked %v: %v", u.asked, u)
					}
				}
			})
		}
	})
}

// A server that cannot start, or does not respond, is reported and blocks nothing: the answer arrives long before the
// timeout for the silent one.
func TestABrokenMCPServerBlocksNothing(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) {
			c.KeepAlive.Duration, c.Env = 0, map[string]string{"MCP_TIMEOUT": "60000"}
		})
		silent := filepath.Join(n.home, "silent")
		begun, patient := filepath.Join(n.home, "begun"), filepath.Join(n.home, "patient")
		write(t, silent, "#!/bin/sh\ntouch "+begun+"\nsleep 27\ntouch "+patient+"\nexec sleep 100\n")
		must(t, os.Chmod(silent, 0o700))
		write(t, filepath.Join(n.home, ".claude.json"),
			`{"mcpServers":{"missing":{"command":"/nonexistent"},"silent":{"command":"`+silent+`"}}}`)
		if list, err := n.cfg.ServerNames(n.cfg.Project); err != nil ||
			!slices.Equal(list.Missing, []string{"missing"}) {
			t.Errorf("reported as missing: %+v, %v", list, err)
		}
		spec := fresh()
		spec.Tools = ownTools(t)
		a := n.turn(t.Context(), "a", spec, "go")
		if a.err != nil || a.text() == "" {
			t.Fatalf("%q, %v", a.text(), a.err)
		}
		if _, err := os.Stat(begun); err != nil {
			t.Errorf("the silent server was not started: %v", err)
		}
		if _, err := os.Stat(patient); err == nil {
			t.Error("the question waited for the silent server")
		}
		var told *claude.Started
		for _, ev := range a.events {
			if s, ok := ev.(claude.Started); ok {
				told = &s
			}
		}
		if told == nil {
			t.Fatalf("it did not report its servers: %+v", a.events)
		}
		for _, want := range []claude.MCPServer{{Name: "missing", Status: "failed"}, {Name: "silent", Status: "pending"}} {
			if !slices.Contains(told.Servers, want) {
				t.Errorf("the servers: %+v, want %+v", told.Servers, want)
			}
		}
	})
}
