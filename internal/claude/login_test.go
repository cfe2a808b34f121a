package claude_test

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"magpie/internal/claude"
	"magpie/internal/claude/claudetest"
	"magpie/internal/claude/workspace"
)

// loggingIn is one login and the questions to the person.
type loggingIn struct {
	links  []string
	again  int
	err    error
	config claude.Config
}

var errNoCode = errors.New("nobody has a code")

// logIn runs one login. Each time the person is asked for a code, the next of codes is given. The login is cancelled
// when none is left.
func logIn(t *testing.T, c claude.Config, codes ...string) loggingIn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	l := loggingIn{config: c}
	typed := make(chan string, 10)
	next := func() {
		if len(codes) == 0 {
			leave(errNoCode)
			return
		}
		typed <- codes[0]
		codes = codes[1:]
	}
	l.err = claude.NewPool(c).LogIn(ctx, "a", claude.Dialog{
		Link:  func(url string) { l.links = append(l.links, url); next() },
		Again: func() { l.again++; next() },
		Codes: typed,
	})
	return l
}

func (l loggingIn) loggedIn() bool {
	for _, kv := range l.config.Environ {
		if home, ok := strings.CutPrefix(kv, "HOME="); ok {
			_, err := os.Stat(filepath.Join(home, "logged-in"))
			return err == nil
		}
	}
	return false
}

func TestLogIn(t *testing.T) {
	t.Parallel()
	command := claudetest.Scripted(t)
	const link = "https://claude.example/oauth/authorize?code=true&state=scripted"
	for _, tc := range []struct {
		name, how string
		codes     []string
		again     int
		want      error
	}{
		{name: "a good code", codes: []string{"good#scripted"}},
		{name: "blanks around it", codes: []string{" good#scripted \n"}},
		{name: "half a code first", codes: []string{"good", "good#scripted"}, again: 1},
		{name: "what no terminal may be given",
			codes: []string{"\x03", "a\rb", "代码", strings.Repeat("x", 1001), "good#scripted"}, again: 4},
		{name: "a wrong code", codes: []string{"bad#scripted"}, want: claude.ErrLoginRefused},
		{name: "never a whole code", codes: []string{"a", "b", "c", "d"}, again: 3, want: claude.ErrLoginRefused},
		{name: "no network", how: "offline", codes: []string{"good#scripted"}, want: claude.ErrLoginOffline},
		{name: "nobody pastes one", want: errNoCode},
		{name: "something keeps the terminal", how: "stray", codes: []string{"good#scripted"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := workspace.Defaults()
			c.Command, c.Environ, c.Env = command, claudetest.Environ(t, ""), map[string]string{
				"MAGPIE_SCRIPTED_LOGIN": tc.how,
			}
			l := logIn(t, c, tc.codes...)
			if !errors.Is(l.err, tc.want) || l.again != tc.again || len(l.links) != 1 || l.links[0] != link {
				t.Errorf("%v, asked again %d times, links %q", l.err, l.again, l.links)
			}
			if l.loggedIn() != (tc.want == nil) {
				t.Errorf("logged in: %v", l.loggedIn())
			}
			for _, code := range tc.codes {
				if l.err != nil && len(code) > 3 && strings.Contains(l.err.Error(), code) {
					t.Errorf("the error contains the code: %v", l.err)
				}
			}
		})
	}
}

// A CLI that prints nothing is ended with the context, and the error is the context's cause.
func TestALoginThatShowsNothingIsCutOff(t *testing.T) {
	t.Parallel()
	c := claudetest.ScriptedConfig(t)
	c.Env["MAGPIE_SCRIPTED_LOGIN"] = "mute"
	late := errors.New("five minutes are over")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, late)
	defer cancel()
	err := claude.NewPool(c).LogIn(ctx, "a",
		claude.Dialog{Link: func(string) { t.Error("a link") }, Again: func() { t.Error("again") }})
	if !errors.Is(err, late) {
		t.Errorf("%v", err)
	}
}

// The real CLI, with its own home folder: up to the link, and its response to half a code.
func TestTheRealCLIShowsALink(t *testing.T) { claudetest.Versions(t, showsALink) }

func showsALink(t *testing.T, command string) {
	t.Parallel()
	c := claudetest.Config(t, "http://127.0.0.1:9")
	c.Command = command
	l := logIn(t, c, "half-a-code")
	if !errors.Is(l.err, errNoCode) || l.again != 1 || len(l.links) != 1 {
		t.Fatalf("%v, asked again %d times, links %q", l.err, l.again, l.links)
	}
	u, err := url.Parse(l.links[0])
	if err != nil || u.Scheme != "https" || !strings.HasSuffix(u.Path, "/oauth/authorize") || len(u.RawQuery) < 32 {
		t.Errorf("link %q", l.links[0])
	}
}

// A process that was started before the login may only know the old login.
func TestALoginEndsTheProcessesThatWait(t *testing.T) {
	t.Parallel()
	cfg := claudetest.ScriptedConfig(t)
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	r := &rig{T: t, cfg: cfg, pool: pool}
	if a := r.turn(t.Context(), "a", fresh(), "hello"); a.err != nil || pool.Stats().Idle != 1 {
		t.Fatalf("%v, %+v", a.err, pool.Stats())
	}
	codes := make(chan string, 1)
	err := pool.LogIn(t.Context(), "a", claude.Dialog{Link: func(string) { codes <- "good#scripted" }, Codes: codes})
	if err != nil || pool.Stats().Idle != 0 {
		t.Errorf("%v, %+v", err, pool.Stats())
	}
}

// The same for a process that was serving a turn during the login.
func TestALoginDuringATurn(t *testing.T) {
	t.Parallel()
	cfg := claudetest.ScriptedConfig(t)
	pool := claude.NewPool(cfg)
	t.Cleanup(pool.Close)
	r, spec := &rig{T: t, cfg: cfg, pool: pool}, fresh()
	a := r.turn(t.Context(), "a", spec, "hello", func(ev claude.Event) {
		if _, ok := ev.(claude.Result); !ok {
			return
		}
		codes := make(chan string, 1)
		must(t, pool.LogIn(t.Context(), "a",
			claude.Dialog{Link: func(string) { codes <- "good#scripted" }, Codes: codes}))
	})
	if a.err != nil {
		t.Fatal(a.err)
	}
	if a := r.turn(t.Context(), "a", resumed(spec), "hello"); a.err != nil || pool.Stats().Started != 2 {
		t.Errorf("the next turn: %v, %+v", a.err, pool.Stats())
	}
}
