package workspace

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"magpie/internal/racetest"
)

// denied reports whether a pattern matches a path or one of its parent folders, as the CLI reads patterns.
func denied(patterns []string, path string) bool {
	for _, p := range patterns {
		if matcher(p).MatchString(path) {
			return true
		}
	}
	return false
}

// matchers caches the expressions of patterns: there are thousands, and each is used often.
var matchers sync.Map

// matcher is a pattern as a regular expression.
func matcher(pattern string) *regexp.Regexp {
	if re, ok := matchers.Load(pattern); ok {
		return re.(*regexp.Regexp)
	}
	re := regexp.MustCompile(`(?i)^` +
		strings.NewReplacer(`.`, `\.`, `*`, `[^/]*`, `?`, `[^/]`).Replace(pattern) + `(/|$)`)
	matchers.Store(pattern, re)
	return re
}

func TestFoldersThatAreOffLimits(t *testing.T) {
	racetest.Skip(t)
	own, other := "0a1b2c3d-1111-4111-8111-00000000000f", "0a1b2c3d-1111-4111-8111-00000000000e"
	patterns := allExcept("/d", []string{"/d/agents/" + own, "/d/files/99ffaa", "/elsewhere/x"})
	for path, want := range map[string]bool{
		"/d/magpie.db": true, "/d/magpie.db-wal": true, "/d/.x": true, "/d/_x": true, "/d/中文": true, "/d/a": true,
		"/d/agent": true, "/d/agentsx": true, "/d/Zfiles": true,
		"/d/f/x": true, "/d/files/99ffab/x": true, "/d/files/99ff": true, "/d/files/99ffaa0": true,
		"/d/files/99ffaa/x":                false,
		"/d/agents/" + own + "/projects/x": false, "/d/agents/" + other + "/projects/x": true, "/d/agents/" + own +
			"0/x": true,
		"/d/agents/settings/" + own + ".json": true, "/d/agents/login.json": true, "/dx/y": false,
		"/other/magpie.db": false,
	} {
		if got := denied(patterns, path); got != want {
			t.Errorf("%s: %v, want %v", path, got, want)
		}
	}
	if got := allExcept("/d", []string{"/x"}); len(got) != 1 || got[0] != "/d" {
		t.Errorf("where nothing is kept: %q", got)
	}
	if got := escapePattern(`/a b/[x](1)!#\`); got != "/a b/?x??1????" {
		t.Errorf("quoted: %q", got)
	}
}

// The CLI reads the rules at each start, so they must be few. Whatever prefix two IDs share, one chat's folder is off
// limits for another chat's agents.
func TestFewRulesSeparateChats(t *testing.T) {
	racetest.Skip(t)
	for range 4 {
		own := uuid.NewString()
		patterns := allExcept("/d", []string{"/d/agents/" + own, "/d/files/" + own})
		if len(patterns) > 70 {
			t.Fatalf("%d patterns", len(patterns))
		}
		allowed := []string{"/d/agents/" + own, "/d/files/" + own + "/a.txt"}
		refused := []string{
			"/d/agents/" + uuid.NewString(), "/d/agents/" + own + "x", "/d/agents/" + own + own[35:], "/d/agents/.x",
			"/d/agents/settings.json", "/d/agents/spares/" + own, "/d/files/" + uuid.NewString(), "/d/agent", "/d/file",
			"/d/s", "/d/agents/settings/" + own + ".json",
		}
		for i := 1; i < randomPrefix; i++ {
			refused = append(refused, "/d/agents/"+own[:i],
				"/d/agents/"+own[:i]+"g"+own[i+1:], "/d/files/"+own[:i]+"x"+own[i+1:])
		}
		for _, path := range allowed {
			if denied(patterns, path) {
				t.Errorf("%s is off limits for %s", path, own)
			}
		}
		for _, path := range refused {
			if !denied(patterns, path) {
				t.Errorf("%s may read %s", own, path)
			}
		}
	}
}

// BenchmarkFurnish measures what a chat's folder costs at each start of a process.
func BenchmarkFurnish(b *testing.B) {
	home, data := b.TempDir(), b.TempDir()
	for _, name := range []string{"skills", "agents", "plugins"} {
		if err := os.MkdirAll(filepath.Join(home, ".claude", name), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".claude.json"),
		[]byte(`{"x":"`+strings.Repeat("x", 50<<10)+`","projects":{"/p":{"history":["a"]}}}`), 0o600); err != nil {
		b.Fatal(err)
	}
	id := uuid.NewString()
	c := Config{
		Environ: []string{"HOME=" + home}, Data: data, State: filepath.Join(data, "agents"),
		Folder: func(string) (string, error) { return id, nil },
	}
	for b.Loop() {
		own, err := c.AgentOf("a")
		if err == nil {
			err = own.Prepare(Spec{Files: filepath.Join(data, "files", "0a1b2c")})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed()/time.Duration(b.N))/float64(time.Millisecond), "ms/start")
}
