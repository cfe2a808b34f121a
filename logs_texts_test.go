package magpie_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// logging are the folders of the program that "magpie serve" runs and that write lines of the log.
var logging = []string{
	"cmd/magpie", "feishu", "feishu/openapi", "internal/operator/systemd",
	"bridge", "bridge/access", "bridge/approval", "bridge/attachment", "bridge/delivery", "bridge/toolset", "bridge/turncard", "bridge/workqueue",
	"contextmgr", "contextmgr/memdoc", "db", "db/sqlite",
	"internal/agenttools", "internal/claude", "internal/claude/proctree", "internal/operator/config", "internal/embed",
}

// Every warning and every error is there in Chinese, for people who read the log on a terminal.
func TestWarningsAreTranslated(t *testing.T) {
	chinese := table(t, parseFolder(t, "internal/i18n"), "LogLinesInChinese")
	for _, folder := range logging {
		named := constants(parseFolder(t, folder))
		set, files := productFiles(t, folder)
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				level, arg := logLine(n)
				if arg == nil {
					return true
				}
				text, ok := plainText(arg)
				if name, isName := arg.(*ast.Ident); isName {
					text, ok = named[name.Name], named[name.Name] != ""
				}
				severe := slices.Contains([]string{"Warn", "Error", "WithLevel"}, level)
				fromSDK := folder == "feishu/openapi" && !ok
				if severe && !fromSDK && chinese[text] == "" {
					t.Errorf("%s is in English only: %s", set.Position(n.Pos()), text)
				}
				return true
			})
		}
	}
}

// logLine is the level and the text of a call that writes a line of the log; nil = it does not.
func logLine(n ast.Node) (level string, text ast.Expr) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 || !isMethod(call, "Msg") {
		return "", nil
	}
	for inner := call; inner != nil; {
		fun, ok := inner.Fun.(*ast.SelectorExpr)
		if !ok {
			break
		}
		level = fun.Sel.Name
		if strings.Contains(" Debug Info Warn Error WithLevel ", " "+level+" ") {
			break
		}
		inner, _ = fun.X.(*ast.CallExpr)
	}
	return level, call.Args[0]
}

func isMethod(call *ast.CallExpr, name string) bool {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	return ok && fun.Sel.Name == name
}
