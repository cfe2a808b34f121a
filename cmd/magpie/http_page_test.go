package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// The first question as the pages about the HTTP API tell it: with a token that the command prints alone, and just what
// curl sends.
func TestTheFirstQuestionOfTheHTTPPage(t *testing.T) {
	asks := regexp.MustCompile(`curl http://127\.0\.0\.1:8787(/v1/\S+) -H "(\S+): (.+)" \\\n\s+-d '(.+)'\n`)
	for _, page := range []string{"http.md", "http.zh.md"} {
		t.Run(page, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
			must(t, err)
			told := asks.FindStringSubmatch(string(data))
			if told == nil {
				t.Fatalf("%s tells no question", page)
			}
			r := newRig(t, withPages)
			cmd := magpie(r, t.TempDir(), "token", "new", "ci")
			cmd.Env = append(cmd.Env, "MAGPIE_DB_URL="+r.cfg.DB.URL, "MAGPIE_DATA="+filepath.Dir(databaseOf(r.cfg)),
				"MAGPIE_CLAUDE_PROJECT="+r.inProject())
			out, err := cmd.Output()
			must(t, err)
			secret, ok := strings.CutSuffix(string(out), "\n")
			if !ok || strings.ContainsAny(secret, " \n") {
				t.Fatalf("on standard output: %q", out)
			}
			q, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+r.prog.http.Addr().String()+told[1],
				strings.NewReader(told[4]))
			must(t, err)
			q.Header.Set("Content-Type", "application/x-www-form-urlencoded") // curl's for -d
			q.Header.Set(told[2], strings.ReplaceAll(told[3], "$TOKEN", secret))
			status, body := client{rig: r}.read(http.DefaultClient.Do(q))
			if status != http.StatusOK || gjson.Get(body, "choices.0.message.content").String() == "" {
				t.Errorf("%s: %d %s", page, status, body)
			}
		})
	}
}
