package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// While the CLI is replaced, a question is not lost: its card says so, in its reader's language, it can be stopped, and it
// is answered as soon as the CLI is back. What stands in its place is started once.
func TestAQuestionDuringAnUpdateOfTheCLI(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"scripted": "", "newest": claudetest.Command(t), "oldest": claudetest.Oldest(t),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, func(c *config.Config) {
				c.Claude.KeepAlive.Duration = 0 // each question starts a process
				if command != "" {
					c.Claude.Command = filepath.Join(t.TempDir(), "claude")
					must(t, os.Symlink(command, c.Claude.Command))
				}
			})
			r.ask("你好")
			path := r.cfg.Claude.Command
			starts := path + ".starts"
			stub := "#!/bin/sh\necho started >>" + starts + "\necho 'Error: claude native binary not installed.' >&2\nexit 1\n"
			replace := func(with string) (back func()) {
				must(t, os.Rename(path, path+".old"))
				if with != "" {
					syscall.ForkLock.RLock() // a program cannot be run while a child still has it open for writing
					err := os.WriteFile(path, []byte(with), 0o700)
					syscall.ForkLock.RUnlock()
					must(t, err)
				}
				return func() { must(t, os.Rename(path+".old", path)) }
			}
			updating := func(words string) string {
				id := r.sim.Say(r.chat, r.user, "还在吗？")
				r.await("a card that says "+words, func(v *feishusim.View) bool {
					list := ofTurns(v, r.chat, id)
					return len(list) == 1 && running(list[0]) && strings.Contains(visibleText(list[0]), words)
				})
				return id
			}
			answered := func(id string) {
				t.Helper()
				if m := r.answer(r.chat, id); !strings.Contains(m.Text(), "还在") {
					t.Errorf("answered %s", m.Text())
				}
			}
			back := replace("")
			id := updating("Claude Code 正在更新")
			back()
			answered(id)

			back = replace(stub)
			id = updating("Claude Code 正在更新")
			back()
			answered(id)
			if said, err := os.ReadFile(starts); err != nil || string(said) != "started\n" {
				t.Errorf("the placeholder: %q, %v", said, err)
			}

			back = replace("")
			id = updating("Claude Code 正在更新")
			r.sim.Say(r.chat, r.user, "/stop")
			r.await("the stop", func(v *feishusim.View) bool {
				list := ofTurns(v, r.chat, id)
				return len(list) == 1 && !running(list[0]) && strings.Contains(visibleText(list[0]), "已停止")
			})
			command := r.sim.Say(r.chat, r.user, "/lang en")
			r.await("the other language", func(v *feishusim.View) bool { return len(replies(v, r.chat, command)) == 1 })
			id = updating("Claude Code is being updated")
			back()
			answered(id)
			if _, err := os.Stat(path + ".old"); !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		})
	}
}
