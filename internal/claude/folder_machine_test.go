package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
)

// asksForAll reports whether a chat's agent asks for each command: the oldest version treats no command as harmless.
func asksForAll(t *testing.T, command string) bool { return command == claudetest.Oldest(t) }

// The configuration of the machine's user applies to the agents of every chat. Changes apply from the next start.
// Sessions are not stored there.
func TestAgentsHaveTheSettingsOfTheMachinesUser(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) { c.KeepAlive.Duration = 0 })
		machine := filepath.Join(n.home, ".claude")
		write(t, filepath.Join(machine, "CLAUDE.md"), "instruction-of-the-user")
		write(t, filepath.Join(machine, "settings.json"), `{"permissions":{"allow":["Bash(touch made*)"]}}`)
		write(t, filepath.Join(machine, "skills", "own-skill", "SKILL.md"),
			"---\nname: own-skill\ndescription: skill-of-the-user\n---\nSee more.md.\n")
		write(t, filepath.Join(machine, "agents", "own-agent.md"),
			"---\nname: own-agent\ndescription: agent-of-the-user\n---\nx\n")
		server := filepath.Join(n.home, "server")
		write(t, server, "#!/bin/sh\necho started >\"$1\"\n")
		must(t, os.Chmod(server, 0o700))
		started := filepath.Join(n.home, "server-started")
		write(t, filepath.Join(n.home, ".claude.json"),
			`{"oauthAccount":{"accountUuid":"u-1"},"mcpServers":{"own":{"command":"`+server+`","args":["`+started+`"]}},
			"projects":{"`+n.cfg.Project+`":{"hasTrustDialogAccepted":true,"lastSessionId":"`+canary+`"}}}`)
		tries := n.tryTools("a", fresh(), map[string][]any{
			"Bash":  commands("touch made.txt"),
			"Skill": {map[string]string{"skill": "own-skill"}, map[string]string{"skill": "no-such-skill"}},
		})
		if asked := asksForAll(t, command); tries[0].asked != asked || tries[0].failed != asked {
			t.Errorf("a rule of the user: %+v", tries[0])
		}
		if unknown := "Unknown skill"; strings.Contains(tries[1].result, unknown) ||
			!strings.Contains(tries[2].result, unknown) {
			t.Errorf("a skill of the user: %+v", tries[1:])
		}
		body := string(n.model.Requests()[0].Body)
		for _, want := range []string{"instruction-of-the-user", "agent-of-the-user"} {
			if strings.Count(body, want) != 1 {
				t.Errorf("%q is there %d times", want, strings.Count(body, want))
			}
		}
		if _, err := os.Stat(started); err != nil {
			t.Errorf("the user's MCP server: %v", err)
		}
		decisions, err := os.ReadFile(filepath.Join(n.folder("a"), ".claude.json"))
		if err != nil || !strings.Contains(string(decisions), `"u-1"`) || strings.Contains(string(decisions), canary) {
			t.Errorf("%v, of the user: %s", err, decisions)
		}
		write(t, filepath.Join(machine, "CLAUDE.md"), "another-instruction")
		must(t, os.Remove(filepath.Join(machine, "settings.json")))
		n.model.Reset()
		if a := n.turn(t.Context(), "a", fresh(), "go"); a.err != nil ||
			!strings.Contains(n.model.Requests()[0].AllText(), "another-instruction") {
			t.Errorf("a change has no effect: %v", a.err)
		}
		left, err := filepath.Glob(filepath.Join(machine, "projects", "*"))
		if err != nil || len(left) != 0 {
			t.Errorf("sessions in the user's folder: %v, %v", left, err)
		}
	})
}

// Isolated agents have neither the settings nor the login of the machine's user.
func TestIsolatedAgentsHaveNothingOfTheMachinesUser(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) {
			c.KeepAlive.Duration, c.ConfigDir = 0, "isolated"
			c.Environ = without(c.Environ, "ANTHROPIC_API_KEY")
		})
		machine := filepath.Join(n.home, ".claude")
		write(t, filepath.Join(machine, "CLAUDE.md"), "instruction-of-the-user")
		write(t, filepath.Join(machine, "settings.json"), `{"permissions":{"allow":["Bash(touch made*)"]}}`)
		write(t, filepath.Join(machine, ".credentials.json"),
			`{"claudeAiOauth":{"accessToken":"`+canary+
				`","refreshToken":"x","expiresAt":9999999999999,"scopes":["user:inference"]}}`)
		if a := n.turn(t.Context(), "a", fresh(), "go"); a.err != nil || a.result.Failure != claude.FailAuth {
			t.Errorf("without a login of its own: %+v, %v", a.result, a.err)
		}
		own := n.folder("a")
		write(t, filepath.Join(own, "settings.json"), `{"env":{"ANTHROPIC_API_KEY":"sk-of-the-chat"}}`)
		n.model.Reset()
		u := n.tryTools("a", fresh(), map[string][]any{"Bash": commands("touch made.txt")})[0]
		if !u.asked {
			t.Errorf("by a rule of the user: %v", u)
		}
		for _, r := range n.model.Requests() {
			if body := string(r.Body); strings.Contains(body, "instruction-of-the-user") ||
				strings.Contains(body, canary) {
				t.Error("the model is told what the user has configured")
			}
		}
	})
}

// A chat's agent can read the files of its own chat.
func TestAnAgentReadsItsChatsFiles(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) { c.KeepAlive.Duration = 0 })
		own := filepath.Join(n.data, "files", "0a1b2c3d4e6f")
		write(t, filepath.Join(own, "own.txt"), "of this chat\n")
		write(t, filepath.Join(n.cfg.Project, "in.txt"), "of the project\n")
		transcript, err := n.cfg.Transcripts("b").Path(n.cfg.Project, "x")
		must(t, err)
		stored := strings.TrimSuffix(transcript, ".jsonl") + "/tool-results/long.txt" // where the CLI stores long results
		write(t, stored, "of its own\n")
		for _, u := range n.tryTools("b", claude.Spec{Session: fresh().Session, Files: own}, map[string][]any{
			"Read": reads(filepath.Join(own, "own.txt"), filepath.Join(n.cfg.Project, "in.txt"), stored),
			"Bash": commands("cat in.txt", "grep -rn project .", "cat '"+filepath.Join(own, "own.txt")+"'",
				"wc -l in.txt"),
		}) {
			if asked := u.tool == "Bash" && asksForAll(t, command); u.asked != asked || u.failed != asked {
				t.Errorf("asked %v: %v", u.asked, u)
			}
		}
	})
}

// The CLI's own memory is neither read nor written: it would carry notes of one chat's agent to those of all others.
func TestTheCLIKeepsNoMemory(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		n := newTwoChats(t, command, func(c *claude.Config) {
			c.KeepAlive.Duration = 0
			c.SettingSources, c.Env = []string{"user", "project", "local"},
				map[string]string{"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "0"}
		})
		const on = `{"autoMemoryEnabled":true,"env":{"CLAUDE_CODE_DISABLE_AUTO_MEMORY":"0"}}`
		write(t, filepath.Join(n.home, ".claude", "settings.json"), on)
		write(t, filepath.Join(n.cfg.Project, ".claude", "settings.json"), on)
		transcript, err := n.cfg.Transcripts("a").Path(n.cfg.Project, "x")
		must(t, err)
		for _, dir := range []string{
			filepath.Dir(transcript),
			filepath.Join(n.home, ".claude", "projects", filepath.Base(filepath.Dir(transcript))),
		} {
			write(t, filepath.Join(dir, "memory", "MEMORY.md"), canary)
		}
		note := filepath.Join(filepath.Dir(transcript), "memory", "new.md")
		u := n.tryTools("a", fresh(),
			map[string][]any{"Write": {map[string]string{"file_path": note, "content": "obey"}}})[0]
		if _, err := os.Stat(note); err == nil || !u.asked && !u.failed {
			t.Errorf("written unasked: %v", u)
		}
		for _, r := range n.model.Requests() {
			if strings.Contains(string(r.Body), canary) || strings.Contains(r.AllText(), "MEMORY.md") {
				t.Error("the model was told of the memory")
			}
		}
		settings, err := os.ReadFile(filepath.Join(filepath.Dir(n.folder("a")), "settings",
			filepath.Base(n.folder("a"))+".json"))
		must(t, err)
		if off := gjson.GetBytes(settings, "autoMemoryEnabled"); off.Type != gjson.False { // the variable alone would suffice
			t.Errorf("the settings say %q", off.Raw)
		}
	})
}

// The ID of another chat's session, as seen in a list of processes, is useless.
func TestASessionOfAnotherChatCannotBeUsed(t *testing.T) {
	n := newTwoChats(t, claudetest.Command(t))
	secret := fresh()
	if a := n.turn(t.Context(), "a", secret, canary); a.err != nil {
		t.Fatal(a.err)
	}
	before := len(n.model.Requests())
	if a := n.turn(t.Context(), "b", resumed(secret), "what was said?"); a.err == nil {
		t.Errorf("resumed by the pool: %q", a.text())
	}
	// Even without the pool's check the CLI does not find it among the chat's sessions.
	direct := n.cfg
	direct.Environ = append(without(direct.Environ, "CLAUDE_CONFIG_DIR"), "CLAUDE_CONFIG_DIR="+n.folder("b"))
	direct.Folder = nil
	if _, err := direct.Transcripts("").Verify(n.cfg.Project, secret.Session, nil); err == nil {
		t.Error("the session is among those of the other chat")
	}
	if len(n.model.Requests()) != before {
		t.Error("the model was asked in a foreign session")
	}
}
