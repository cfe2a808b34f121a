package magpie_test

import (
	"go/ast"
	"slices"
	"strings"
	"testing"
)

// forOperators are the folders whose warnings and errors the operator meets first: what does not work between the
// program, its machine and the platform.
var forOperators = []string{"cmd/magpie", "feishu", "feishu/openapi", "bridge/access", "bridge/delivery", "internal/systemd"}

// Every warning and every error of these folders is there in Chinese, for people who read the log on a terminal.
func TestWarningsForOperatorsAreTranslated(t *testing.T) {
	chinese := table(t, parseFolder(t, "cmd/magpie"), "logInChinese")
	for _, folder := range forOperators {
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
				if ok && severe && chinese[text] == "" {
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
