package main

import (
	"bytes"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"magpie/feishu"
	"magpie/feishu/openapi"
	"magpie/internal/door"
	"magpie/internal/i18n"
	"magpie/internal/operator/config"
)

// Each line that has a Chinese translation is one that the program logs.
func TestTheLinesInChineseAreThere(t *testing.T) {
	logged := map[string]bool{}
	root := os.DirFS(filepath.Join("..", ".."))
	must(t, fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case d != nil && d.Name() == "node_modules":
			return fs.SkipDir
		case err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return err
		}
		data, err := fs.ReadFile(root, path)
		if err != nil || !bytes.Contains(data, []byte("Msg(")) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, data, 0)
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 {
				if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Msg" {
					logged[folded(call.Args[0])] = true
				}
			}
			return true
		})
		return err
	}))
	for _, english := range append(slices.Collect(maps.Keys(i18n.LogLinesInChinese)), lineStarted) {
		if !logged[english] {
			t.Errorf("nothing logs %q", english)
		}
	}
}

// folded is a string literal that is written in several pieces.
func folded(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return folded(e.X) + folded(e.Y)
	case *ast.BasicLit:
		return constant.StringVal(constant.MakeFromLiteral(e.Value, e.Kind, 0))
	}
	return ""
}

// Only the console log is in Chinese, and only if Chinese was chosen.
func TestTheLogInChinese(t *testing.T) {
	t.Setenv("LC_ALL", "zh_CN.UTF-8")
	for format, want := range map[string]string{config.LogConsole: "鹊桥正在启动", config.LogJSON: `"magpie is running"`} {
		var file bytes.Buffer
		l := newLog(&file, config.Log{Format: format})
		l.Info().Str("version", "1.0").Msg("magpie is running")
		if got := file.String(); !strings.Contains(got, want) || !strings.Contains(got, "version") {
			t.Errorf("as %s: %s", format, got)
		}
	}
	t.Setenv("LC_ALL", "en_US.UTF-8")
	var file bytes.Buffer
	l := newLog(&file, config.Log{Format: config.LogConsole})
	l.Info().Msg("magpie is running")
	if got := file.String(); !strings.Contains(got, "Magpie is starting") {
		t.Errorf("in English: %s", got)
	}
}

// The log for people names the platform that the bot is on, and says errors in their words, without those of our calls.
func TestTheLogNamesThePlatform(t *testing.T) {
	marshal := zerolog.ErrorMarshalFunc
	defer func() { zerolog.ErrorMarshalFunc = marshal }()
	zerolog.ErrorMarshalFunc = loggedError
	paused := &openapi.Error{Op: "ask who the bot is", Err: openapi.ErrCircuitOpen}
	for _, tc := range []struct {
		lang, url string
		want      []string
	}{
		{"en_US.UTF-8", "lark", []string{
			"Magpie is starting: connecting to Lark", "Lark: not connected", `error="the platform is not responding, so calls are paused"`,
			"Connected to Lark as Mag: send it a message there", "Magpie has stopped",
		}},
		{"en_US.UTF-8", "", []string{"connecting to Feishu", "Feishu: not connected", "Connected to Feishu as Mag"}},
		{"zh_CN.UTF-8", "lark", []string{
			"鹊桥正在启动：正在连接 Lark", "Lark：没有连上", `error="平台没有响应，暂停调用"`, "已连上 Lark，机器人是“Mag”", "鹊桥已停止",
		}},
		{"zh_CN.UTF-8", "", []string{"正在连接飞书", "飞书：没有连上", "已连上飞书"}},
	} {
		t.Setenv("LC_ALL", tc.lang)
		var file bytes.Buffer
		l := newLog(&file, config.Log{
			Format: config.LogConsole, Platform: feishu.Config{BaseURL: tc.url}.PlatformName(),
		})
		l.Info().Msg(lineStarted)
		l.Warn().Err(paused).Msg("feishu: not connected")
		l.Info().Str("bot", "Mag").Msg(lineConnected)
		l.Info().Msg("magpie has stopped")
		for _, want := range tc.want {
			if !strings.Contains(file.String(), want) {
				t.Errorf("%s, %q: %q is missing in\n%s", tc.lang, tc.url, want, &file)
			}
		}
	}
}

// What the operator must do about the platform is said in their language, in a log for people and on the page that
// tells whether the bridge is ready.
func TestWhatToDoAboutThePlatformInChinese(t *testing.T) {
	t.Setenv("LC_ALL", "zh_CN.UTF-8")
	dir, sim := t.TempDir(), startSim(t)
	writeService(t, dir, sim, "[log]\nformat = \"console\"\n")
	sim.SetSecret("changed")
	cmd := magpie(t, dir, "serve")
	cmd.Env = append(cmd.Env, "LC_ALL=zh_CN.UTF-8")
	service := startProcess(t, cmd)
	const do = "检查 [feishu] app_id 和 [feishu] app_secret"
	service.await(do)
	service.stop()

	e := &openapi.Error{Op: "open", Code: 10014, Msg: "no"}
	got := platformOf(door.Health{Hint: e.Hint(), LastError: e})
	if !strings.HasPrefix(got.Do, do) || !strings.Contains(got.Error, do) {
		t.Errorf("the page says %+v", got)
	}
	if line := statusLine(door.Health{LastError: e}); !strings.Contains(line, do) {
		t.Errorf("systemd shows %s", line)
	}
}
