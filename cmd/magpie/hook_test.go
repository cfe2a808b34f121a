package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// A hook that refuses a question is told as that, with its words and without its secrets. Nothing of the prompt, which
// has what colleagues said, is shown or becomes an answer.
func TestAHookRefusesAQuestion(t *testing.T) {
	claudetest.Versions(t, func(t *testing.T, command string) {
		for name, hook := range map[string]string{
			"status": `grep -q 发布 || exit 0; echo 'after six, key sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789' >&2; exit 2`,
			"stop":   `grep -q 发布 || exit 0; echo '{"continue": false, "stopReason": "after six"}'`,
		} {
			t.Run(name, func(t *testing.T) {
				r := makeRig(t, feishusim.Config{}, func(c *config.Config) { c.Claude.Command = command })
				path := r.inProject(".claude", "settings.json")
				must(t, os.MkdirAll(filepath.Dir(path), 0o700))
				must(t, os.WriteFile(path, mustJSON(map[string]any{"hooks": map[string]any{"UserPromptSubmit": []any{
					map[string]any{"hooks": []any{map[string]string{"type": "command", "command": hook}}},
				}}}), 0o600))
				r.start()
				t.Cleanup(func() { r.stop(); r.clean() })
				other := r.sim.AddUser("小红")
				group := r.sim.Group("测试群", r.user, other)
				r.sim.Say(group, other, "工资表在抽屉里")
				card := r.answer(group, r.sim.Say(group, r.user, "什么时候发布？", feishusim.Mention()))
				if got := visibleText(card); !strings.Contains(got, "hook 拒绝了") {
					t.Errorf("the card says %q", got)
				}
				raw := string(card.Last().Card)
				if !strings.Contains(raw, "after six") || !strings.Contains(raw, "/retry") {
					t.Errorf("the card has not the hook's words, or no button: %s", raw)
				}
				for _, hidden := range []string{"抽屉", "sk-ant-api03", "Original prompt", "exit 2"} {
					if strings.Contains(raw, hidden) {
						t.Errorf("the card shows %q: %s", hidden, raw)
					}
				}
				if n := r.count(`SELECT count(*) FROM messages WHERE role = 'assistant'`); n != 0 {
					t.Errorf("%d answers in the History", n)
				}
				// The next question is answered by the same session.
				if got := visibleText(r.answer(group, r.sim.Say(group, r.user, "数到3", feishusim.Mention()))); got != "1 2 3" {
					t.Errorf("the next answer is %q", got)
				}
			})
		}
	})
}
