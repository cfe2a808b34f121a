package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"magpie/internal/claude/claudetest"
	"magpie/internal/feishusim"
	"magpie/internal/operator/config"
)

// Who starts the bridge learns that the agent is not logged in, before anybody has asked in vain.
func TestServeWarnsIfNobodyIsLoggedIn(t *testing.T) {
	r := makeRig(t, feishusim.Config{}, func(c *config.Config) {
		c.Claude.Environ = slices.DeleteFunc(slices.Clone(c.Claude.Environ), func(kv string) bool {
			return strings.HasPrefix(kv, "ANTHROPIC_API_KEY=")
		})
	})
	r.load = func() (config.Config, error) { return r.cfg, nil }
	r.start()
	defer r.stop()
	if !r.logs.await("Claude is not logged in, so nobody gets an answer", 1) {
		t.Errorf("no warning in %s", r.logs)
	}
}

// A setting with which the CLI does not start is told in its own words at the start of the program, without secrets, and
// by the doctor in the language of its reader.
func TestASettingThatKeepsTheCLIFromStarting(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"newest": claudetest.Command(t), "oldest": claudetest.Oldest(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newDoctorRig(t)
			around := filepath.Join(p.dir, "around")
			script := "#!/bin/sh\ncase $1 in --version|auth) exec " + command + " \"$@\";; esac\n" +
				"exec " + command + " --no-such-option-$GREETING \"$@\"\n"
			syscall.ForkLock.RLock() // a program cannot be run while a child still has it open for writing
			err := os.WriteFile(around, []byte(script), 0o700)
			syscall.ForkLock.RUnlock()
			must(t, err)
			const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
			p.env = []string{"MAGPIE_CLAUDE_COMMAND=" + around, "MAGPIE_CLAUDE_ENV=GREETING=" + secret}
			for locale, want := range map[string]string{
				"LANG=C.UTF-8":     "fail  claude: does not start: in ",
				"LANG=zh_CN.UTF-8": "fail  claude：无法启动：在 ",
			} {
				p.env = append(p.env, locale)
				code, out := p.runDoctor()
				if code == 0 || !strings.Contains(out, want) ||
					!strings.Contains(out, "unknown option '--no-such-option-") || strings.Contains(out, secret) {
					t.Errorf("%s: exit code %d:\n%s", locale, code, out)
				}
			}
			serve := magpie(t, p.dir, "serve")
			serve.Env = append(serve.Env, p.env...)
			service := startProcess(t, serve)
			service.await("Claude does not start with this configuration, so nobody gets an answer there")
			service.stop()
			if log := service.logs.String(); !strings.Contains(log, "unknown option '--no-such-option-") || strings.Contains(log, secret) {
				t.Errorf("the log:\n%s", log)
			}
		})
	}
}
