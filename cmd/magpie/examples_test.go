package main

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	gocmp "github.com/google/go-cmp/cmp"

	"magpie/db"
	"magpie/internal/claude/claudetest"
	"magpie/internal/config"
	"magpie/internal/doctor"
	"magpie/internal/systemd"
)

// labelled is a metric of which one value of a label is asked for.
var labelled = regexp.MustCompile(`(magpie_\w+)\{(\w+="[^"]*")\}`)

// The dashboard and the alerts ask for metrics that there are, and for labels that these have.
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
		for _, series := range labelled.FindAllStringSubmatch(strings.ReplaceAll(string(data), `\"`, `"`), -1) {
			pattern := `(?m)^` + series[1] + `\{.*\b` + regexp.QuoteMeta(series[2]) + `[,}]`
			if !regexp.MustCompile(pattern).MatchString(w.Body.String()) {
				t.Errorf("%s asks for %s, which there is not", name, series[0])
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

// tomlBlock is a piece of configuration on a page.
var tomlBlock = regexp.MustCompile("(?ms)^```toml\n(.*?)^```$")

// Every piece of configuration on the pages is one that the program takes, whatever folders the machine has; and both
// languages show the same.
func TestTheConfigurationsOnThePagesAreTaken(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	must(t, err)
	shown := map[string][]config.Config{}
	n := 0
	for _, page := range pages {
		data, err := os.ReadFile(page)
		must(t, err)
		for _, m := range tomlBlock.FindAllStringSubmatch(string(data), -1) {
			n++
			c := config.Defaults()
			if err := config.Decode([]byte(m[1]), &c); err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
				continue
			}
			shown[page] = append(shown[page], c)
			if err := onThisMachine(t, c).Validate(); err != nil {
				t.Errorf("%s: %v\n%s", page, err, m[1])
			}
		}
	}
	if n < 18 {
		t.Errorf("only %d pieces were found", n)
	}
	for page, list := range shown {
		twin := strings.TrimSuffix(page, ".md") + ".zh.md"
		if !strings.HasSuffix(page, ".zh.md") && !reflect.DeepEqual(list, shown[twin]) {
			t.Errorf("%s and %s do not show the same", page, twin)
		}
	}
}

// onThisMachine puts what a machine must have in place of what a page names.
func onThisMachine(t *testing.T, c config.Config) config.Config {
	t.Helper()
	c.Feishu.AppSecret, c.Claude.Command, c.Claude.Project = "secret", "sh", t.TempDir()
	c.Feishu.AppID = cmp.Or(c.Feishu.AppID, "cli_a1b2c3d4e5f60718")
	c.Claude.User, c.Claude.Settings = "", ""
	c.Projects = maps.Clone(c.Projects)
	for name, p := range c.Projects {
		p.Path = c.Claude.Project
		c.Projects[name] = p
	}
	return c
}

// The container is given variables that there are, and more time for its stop than that may take.
func TestTheContainer(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "examples", "compose.yaml"))
	must(t, err)
	var environ []string
	for _, m := range regexp.MustCompile(`(?m)^ +(MAGPIE_\w+): (\S+)`).FindAllStringSubmatch(string(data), -1) {
		environ = append(environ, m[1]+"="+strings.Replace(m[2], "/run/secrets/app_secret", os.DevNull, 1))
	}
	c, err := config.Read("", environ)
	must(t, err)
	installed := regexp.MustCompile(`claude-code@(\S+)`).FindStringSubmatch(string(data))
	if installed == nil || installed[1] != doctor.TestedCLI {
		t.Errorf("the CLI in the container is %q, want %s", installed, doctor.TestedCLI)
	}
	if len(environ) != 3 || c.Node != "nas" || c.DB.URL != "sqlite:///data/magpie.db" {
		t.Errorf("with %v the configuration is %+v", environ, c.DB)
	}
	grace := regexp.MustCompile(`stop_grace_period: (\S+)`).FindStringSubmatch(string(data))
	if d, err := time.ParseDuration(grace[1]); err != nil || d < systemd.StopTimeout {
		t.Errorf("a stop may take %v (%v)", d, err)
	}
	words := regexp.MustCompile(`command: \["magpie", (.*)\]`).FindStringSubmatch(string(data))
	var args []string
	must(t, json.Unmarshal([]byte("["+words[1]+"]"), &args))
	if _, err := kong.Must(&cli{}, kong.Vars{"version": ""}).Parse(args); err != nil {
		t.Error(err)
	}
}

// Prometheus finds its rules beside its configuration, and the pages where the examples say that they are.
func TestPrometheusFindsRulesAndPages(t *testing.T) {
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join("..", "..", "examples", name))
		must(t, err)
		return string(data)
	}
	prometheus := read("prometheus.yml")
	rules := regexp.MustCompile(`(?m)^rule_files: \[(\S+)\]$`).FindStringSubmatch(prometheus)
	if rules == nil || !strings.Contains(read(rules[1]), "\ngroups:\n") {
		t.Errorf("the rules are in %q", rules)
	}
	target := regexp.MustCompile(`targets: \["[\d.]+(:\d+)"\]`).FindStringSubmatch(prometheus)
	pages := regexp.MustCompile(`listen = "(:\d+)"`).FindStringSubmatch(prometheus)
	if target == nil || pages == nil || target[1] != pages[1] {
		t.Errorf("it scrapes %q, and the pages are at %q", target, pages)
	}
	container := regexp.MustCompile(`127\.0\.0\.1(:\d+)/healthz`).FindStringSubmatch(read("compose.yaml"))
	if target != nil && (container == nil || container[1] != target[1]) {
		t.Errorf("the container asks %q, and not %s", container, target[1])
	}
	job := regexp.MustCompile(`job_name: (\S+)`).FindStringSubmatch(prometheus)
	if job == nil || !strings.Contains(read("alerts.yml"), `up{job="`+job[1]+`"}`) {
		t.Errorf("the alerts do not ask for the job %q", job)
	}
}

// Both files for pm2 tell it the same, but where the program and its configuration lie.
func TestTheFilesForPM2AreAlike(t *testing.T) {
	read := func(name string) map[string]any {
		path, err := filepath.Abs(filepath.Join("..", "..", name))
		must(t, err)
		out, err := exec.Command("node", "-p", "JSON.stringify(require("+strconv.Quote(path)+").apps[0])").Output()
		must(t, err)
		var app map[string]any
		must(t, json.Unmarshal(out, &app))
		return app
	}
	installed, inRepository := read("examples/ecosystem.config.js"), read(ecosystem)
	if args, ok := installed["args"].([]any); !ok || len(args) != 3 || args[0] != "serve" {
		t.Errorf("the arguments are %v", installed["args"])
	}
	for _, app := range []map[string]any{installed, inRepository} {
		for _, key := range []string{"script", "args", "cwd"} {
			if app[key] == nil {
				t.Errorf("%s is missing: %v", key, app)
			}
			delete(app, key)
		}
	}
	if diff := gocmp.Diff(inRepository, installed); diff != "" {
		t.Error(diff)
	}
}
