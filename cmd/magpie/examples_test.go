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
	"go.yaml.in/yaml/v3"

	"magpie/db"
	"magpie/internal/claude/claudetest"
	"magpie/internal/operator/config"
	"magpie/internal/operator/doctor"
	"magpie/internal/operator/systemd"
)

// labelled matches a metric with a condition on one label.
var labelled = regexp.MustCompile(`(magpie_\w+)\{(\w+="[^"]*")\}`)

// The dashboard and the alerts only query existing metrics, and labels that these have.
func TestExamplesUseExistingMetrics(t *testing.T) {
	m := newMetrics(func(context.Context) snapshot { return snapshot{Store: &db.Backlog{}, Apps: []appStatus{{}}} }, []string{""}, 1)
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
			t.Errorf("%s is not JSON", name)
		}
		asked := regexp.MustCompile(`\bmagpie_\w+`).FindAllString(string(data), -1)
		if len(asked) < 5 {
			t.Errorf("%s only queries %d metrics", name, len(asked))
		}
		for _, metric := range asked {
			if !there[metric] {
				t.Errorf("%s queries %s, which does not exist", name, metric)
			}
		}
		for _, series := range labelled.FindAllStringSubmatch(strings.ReplaceAll(string(data), `\"`, `"`), -1) {
			pattern := `(?m)^` + series[1] + `\{.*\b` + regexp.QuoteMeta(series[2]) + `[,}]`
			if !regexp.MustCompile(pattern).MatchString(w.Body.String()) {
				t.Errorf("%s queries %s, which does not exist", name, series[0])
			}
		}
	}
}

// The sample configuration has no errors, except for folders and the secret, which a machine must have.
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

// The image is built with the Go version, the tags and the CLI with which everything is tested.
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

// tomlBlock matches a piece of configuration on a page.
var tomlBlock = regexp.MustCompile("(?ms)^```toml\n(.*?)^```$")

// Each piece of configuration on the pages is valid, whatever folders the machine has, and both languages show the
// same.
func TestTheConfigurationsOnThePagesAreValid(t *testing.T) {
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

// onThisMachine replaces what only another machine has.
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

// readYAML reads a YAML file of the examples. Keys that into does not have are errors.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "examples", name))
	must(t, err)
	defer f.Close() //nolint:errcheck // only read
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// composeFile is the part of a Docker Compose file that the example uses.
type composeFile struct {
	Services map[string]composeService
	Secrets  map[string]struct{ File string }
	Volumes  map[string]*struct{}
}

type composeService struct {
	Build struct {
		Dockerfile string `yaml:"dockerfile_inline"`
	}
	Init        bool
	Restart     string
	StopGrace   time.Duration `yaml:"stop_grace_period"`
	Command     []string
	WorkingDir  string `yaml:"working_dir"`
	Environment map[string]string
	Volumes     []string
	Secrets     []string
	Health      struct {
		Test     []string
		Interval time.Duration
		Start    time.Duration `yaml:"start_period"`
	} `yaml:"healthcheck"`
}

// The container's variables, volumes and secrets exist, and its stop timeout is longer than the program's.
func TestTheContainer(t *testing.T) {
	var file composeFile
	readYAML(t, "compose.yaml", &file)
	box, ok := file.Services["magpie"]
	if !ok {
		t.Fatalf("the services are %v", file.Services)
	}
	var environ []string
	for name, value := range box.Environment {
		if strings.HasPrefix(name, config.EnvPrefix) {
			environ = append(environ, name+"="+strings.Replace(value, "/run/secrets/app_secret", os.DevNull, 1))
		}
	}
	c, err := config.Read("", environ)
	must(t, err)
	installed := regexp.MustCompile(`claude-code@(\S+)`).FindStringSubmatch(box.Build.Dockerfile)
	if installed == nil || installed[1] != doctor.TestedCLI {
		t.Errorf("the CLI in the container is %q, want %s", installed, doctor.TestedCLI)
	}
	if len(environ) != 3 || c.Node != "nas" || c.DB.URL != "sqlite:///data/magpie.db" {
		t.Errorf("with %v the configuration is %+v", environ, c.DB)
	}
	if box.StopGrace < systemd.StopTimeout {
		t.Errorf("the stop timeout is %v", box.StopGrace)
	}
	if len(box.Command) < 2 || box.Command[0] != "magpie" {
		t.Fatalf("the command is %q", box.Command)
	}
	if _, err := kong.Must(&cli{}, kong.Vars{"version": ""}).Parse(box.Command[1:]); err != nil {
		t.Error(err)
	}
	for _, volume := range box.Volumes {
		from, _, _ := strings.Cut(volume, ":")
		if _, ok := file.Volumes[from]; !ok && !strings.HasPrefix(from, "./") {
			t.Errorf("there is no volume %s", from)
		}
	}
	for _, secret := range box.Secrets {
		if file.Secrets[secret].File == "" {
			t.Errorf("the secret %s has no file", secret)
		}
	}
	if box.Health.Interval <= 0 || box.Health.Start <= 0 || len(box.Health.Test) == 0 {
		t.Errorf("the health check is %+v", box.Health)
	}
}

// Prometheus finds its rules beside its configuration, and the metrics at the address of the examples.
func TestPrometheusFindsRulesAndPages(t *testing.T) {
	var prometheus struct {
		RuleFiles []string `yaml:"rule_files"`
		Scrape    []struct {
			Job      string                       `yaml:"job_name"`
			Interval time.Duration                `yaml:"scrape_interval"`
			Static   []struct{ Targets []string } `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	readYAML(t, "prometheus.yml", &prometheus)
	if len(prometheus.RuleFiles) != 1 || len(prometheus.Scrape) != 1 || len(prometheus.Scrape[0].Static) != 1 {
		t.Fatalf("%+v", prometheus)
	}
	var alerts struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr string
				For         time.Duration
				Annotations map[string]string
			}
		}
	}
	readYAML(t, prometheus.RuleFiles[0], &alerts)
	job, watched := prometheus.Scrape[0], false
	for _, group := range alerts.Groups {
		for _, rule := range group.Rules {
			watched = watched || strings.Contains(rule.Expr, `up{job="`+job.Job+`"}`)
			if rule.Alert == "" || rule.Expr == "" || rule.Annotations["summary"] == "" ||
				rule.Annotations["action"] == "" {
				t.Errorf("a rule is incomplete: %+v", rule)
			}
		}
	}
	if !watched {
		t.Errorf("the alerts do not query the job %q", job.Job)
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "prometheus.yml"))
	must(t, err)
	pages := regexp.MustCompile(`listen = "(:\d+)"`).FindStringSubmatch(string(text))
	var box composeFile
	readYAML(t, "compose.yaml", &box)
	for _, target := range job.Static[0].Targets {
		_, port, _ := strings.Cut(target, ":")
		if pages == nil || pages[1] != ":"+port {
			t.Errorf("it scrapes %s, and the pages are at %q", target, pages)
		}
		if asked := strings.Join(box.Services["magpie"].Health.Test, " "); !strings.Contains(asked, ":"+port+"/healthz") {
			t.Errorf("the container queries %s", asked)
		}
	}
}

// readForPM2 is what a file tells pm2 about the program.
func readForPM2(t *testing.T, path string) map[string]any {
	t.Helper()
	path, err := filepath.Abs(path)
	must(t, err)
	out, err := exec.Command("node", "-p", "JSON.stringify(require("+strconv.Quote(path)+").apps[0])").Output()
	must(t, err)
	var app map[string]any
	must(t, json.Unmarshal(out, &app))
	return app
}

// The example for pm2 starts the program that came with it, in an archive and in npm's package.
func TestTheFileForPM2StartsTheProgramBesideIt(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "ecosystem.config.js"))
	must(t, err)
	for _, program := range []string{"magpie", "bin/magpie"} {
		dir, err := filepath.EvalSymlinks(t.TempDir())
		must(t, err)
		example, path := filepath.Join(dir, "examples", "ecosystem.config.js"), filepath.Join(dir, program)
		for _, file := range []string{example, path} {
			must(t, os.MkdirAll(filepath.Dir(file), 0o700))
			must(t, os.WriteFile(file, text, 0o600))
		}
		if got := readForPM2(t, example)["script"]; got != path {
			t.Errorf("it starts %v, not %s", got, path)
		}
	}
}

// Both files for pm2 contain the same, except for the location of the program and its configuration.
func TestTheFilesForPM2AreTheSame(t *testing.T) {
	read := func(name string) map[string]any { return readForPM2(t, filepath.Join("..", "..", name)) }
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
