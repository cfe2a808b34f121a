package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"magpie/db"
	"magpie/internal/claude/claudetest"
	"magpie/internal/config"
	"magpie/internal/doctor"
)

// The dashboard and the alerts ask for metrics that there are.
func TestExamplesAskForMetricsThatThereAre(t *testing.T) {
	m := newMetrics(func(context.Context) snapshot { return snapshot{Store: &db.Backlog{}} })
	w := httptest.NewRecorder()
	m.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	there := map[string]bool{}
	for _, found := range regexp.MustCompile(`(?m)^magpie_\w+`).FindAllString(w.Body.String(), -1) {
		there[found] = true
	}
	for _, name := range []string{"alerts.yml", "grafana.json"} {
		data, err := os.ReadFile(filepath.Join("..", "..", "examples", name))
		must(t, err)
		if filepath.Ext(name) == ".json" && !json.Valid(data) {
			t.Errorf("%s is no JSON", name)
		}
		asked := regexp.MustCompile(`\bmagpie_\w+`).FindAllString(string(data), -1)
		if len(asked) < 5 {
			t.Errorf("%s asks for %d metrics only", name, len(asked))
		}
		for _, metric := range asked {
			if !there[metric] {
				t.Errorf("%s asks for %s, which there is not", name, metric)
			}
		}
	}
}

// The sample configuration has no mistake but for the folders and the secret, which a machine must have.
func TestTheSampleConfigurationIsRead(t *testing.T) {
	c, err := config.Read(filepath.Join("..", "..", "examples", "magpie.toml"), nil)
	must(t, err)
	for _, err := range []error{c.Access.Validate(), c.Budget.Validate(), c.DB.Validate(), c.HTTP.Validate()} {
		must(t, err)
	}
	c.Feishu.AppSecret = "secret"
	must(t, c.Feishu.Validate())
	c.Claude.Command = claudetest.Command(t)
	must(t, c.Claude.Validate())
}

// The image is made with the Go, the tags and the CLI with which everything is tested.
func TestTheDockerfileIsUpToDate(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", name))
		must(t, err)
		return string(data)
	}
	found := func(pattern, text string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("there is no %s", pattern)
		}
		return m[1]
	}
	dockerfile := read("Dockerfile")
	for _, c := range []struct{ what, got, want string }{
		{"Go", found(`golang:([\d.]+)-`, dockerfile), found(`(?m)^go (\d+\.\d+)`, read("go.mod"))},
		{"tags", found(`-tags (\S+)`, dockerfile), found(`-tags (\S+)`, read("scripts/release"))},
		{"CLI", found(`CLAUDE_CODE=(\S+)`, dockerfile), doctor.TestedCLI},
		{"user", found(`USER (\d+):`, dockerfile), found(`(?m)^user=(\d+)`, read("scripts/packaging/oci"))},
	} {
		if c.got != c.want {
			t.Errorf("%s: %s in the Dockerfile, want %s", c.what, c.got, c.want)
		}
	}
}
