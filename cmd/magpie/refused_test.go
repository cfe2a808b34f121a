package main

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/modelsim"
	"magpie/internal/operator/config"
)

// refuses makes the API refuse all requests with such a message, and counts them.
func (r *rig) refuses(match func(modelsim.Message) bool) *atomic.Int64 {
	refused := new(atomic.Int64)
	r.model.Script(modelsim.Rule{
		Match: func(q *modelsim.Request) bool {
			if !slices.ContainsFunc(q.Messages, match) {
				return false
			}
			refused.Add(1)
			return true
		},
		Steps: []modelsim.Step{modelsim.Fail(400, "invalid_request_error",
			"messages.3.content.0.tool_result: unexpected value sk-ant-api03-"+strings.Repeat("x", 90))},
	})
	return refused
}

// holds matches messages that contain all these words.
func holds(words ...string) func(modelsim.Message) bool {
	return func(m modelsim.Message) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(m.Text, w) })
	}
}

// reads has the agent read a file that says canary.
func (r *rig) reads(canary string) (answer string) {
	r.Helper()
	file := r.inProject("notes.txt")
	must(r, os.WriteFile(file, []byte(canary), 0o600))
	r.model.Script(modelsim.Rule{Times: 1, Steps: []modelsim.Step{
		modelsim.Tool("Read", map[string]any{"file_path": file}),
	}})
	return r.ask("看看文件")
}

const canary = "canary-of-a-file"

// attempts is how often a CLI sends a request that the API refuses: since 2.1.332 again without each thing that an older
// server may not know, before it gives up.
func attempts(t testing.TB, command string) int64 {
	if command == claudetest.Oldest(t) {
		return 1
	}
	return 6
}

// withReading runs the CLI at a path, or the scripted agent, which may read files.
func withReading(command string) func(*config.Config) {
	return func(c *config.Config) {
		c.Claude.Command, c.Claude.AllowedTools = cmp.Or(command, c.Claude.Command), []string{"Read"}
	}
}

// The API refuses every request that contains one old tool result, or any tool call: the conversation goes on from the
// History, also after a restart.
func TestARefusedSessionIsLeftBehind(t *testing.T) {
	for name, refused := range map[string]func(modelsim.Message) bool{
		"a tool result": holds("[tool_result: ", canary), "a tool use": holds("[tool_use: "),
	} {
		t.Run(name, func(t *testing.T) {
			claudetest.Versions(t, func(t *testing.T, command string) {
				r := newRig(t, withReading(command))
				r.ask("我叫小明")
				r.reads(canary)
				refusals := r.refuses(refused)
				ask := func() {
					r.Helper()
					if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
						r.Errorf("answer %q", got)
					}
					last := r.lastRequest()
					if text := last.AllText(); !strings.Contains(text, "看看文件") {
						r.Errorf("the conversation is not in the prompt: %s", text[max(0, len(text)-1500):])
					}
				}
				for range 3 {
					ask()
				}
				r.stop()
				r.start()
				for range 2 {
					ask()
				}
				if n := refusals.Load(); n > attempts(t, command) {
					r.Errorf("the API refused %d requests", n)
				}
			})
		})
	}
}

// The question itself is what the API refuses: the card says so, and the session goes on without it.
func TestARefusedQuestionSpoilsNoSession(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		r := newRig(t, withReading(command))
		r.ask("我叫小明")
		session := r.lastSession()
		refusals := r.refuses(holds("canary"))
		card := r.answer(r.chat, r.sim.Say(r.chat, r.user, "这是 canary"))
		if got := visibleText(card); !strings.Contains(got, "不接受这个问题") {
			t.Errorf("answer %q", got)
		}
		if got := card.Text(); !strings.Contains(got, "unexpected value") || strings.Contains(got, "sk-ant") {
			t.Errorf("the details of %q", got)
		}
		if n := refusals.Load(); n > attempts(t, command)+1 {
			t.Errorf("the API refused %d requests", n)
		}
		for range 2 {
			refusals.Store(0)
			if got := r.ask("我叫什么名字？"); got != "你叫小明。" || refusals.Load() > 0 || r.lastSession() != session {
				t.Errorf("answer %q after %d refusals, in the session %v", got, refusals.Load(), r.lastSession() == session)
			}
			r.stop()
			r.start()
		}
	})
}

// Something that was said long ago is what the API refuses, wherever it stands. Then the question is not to blame alone,
// and one press leads out.
func TestARefusedHistoryIsNotTakenForTheQuestion(t *testing.T) {
	r := newRig(t, withReading(""))
	r.ask("这是 canary")
	r.refuses(holds("canary"))
	card := r.answer(r.chat, r.sim.Say(r.chat, r.user, "我叫小明"))
	if got := visibleText(card); !strings.Contains(got, "之前对话里的某些内容") || !strings.Contains(got, "请点“新对话”") {
		t.Errorf("answer %q", got)
	}
	if !strings.Contains(string(card.Last().Card), `"id":"/new"`) {
		t.Errorf("the card offers no new conversation: %s", card.Last().Card)
	}
	r.ask("/new")
	r.ask("我叫小明")
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" {
		t.Errorf("in a new conversation %q", got)
	}
}

// A tool of the turn brings what the API refuses: nothing is run again, and the next question is answered at once.
func TestAResultThatIsRefusedEndsWithItsTurn(t *testing.T) {
	r := newRig(t, withReading(""))
	r.ask("我叫小明")
	refusals := r.refuses(holds("[tool_result: ", canary))
	if got := r.reads(canary); !strings.Contains(got, "不接受") || refusals.Load() != 1 {
		t.Errorf("answer %q after %d refusals", got, refusals.Load())
	}
	if got := r.ask("我叫什么名字？"); got != "你叫小明。" || refusals.Load() != 1 {
		t.Errorf("next answer %q after %d refusals", got, refusals.Load())
	}
}
