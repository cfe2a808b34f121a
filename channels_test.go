package magpie_test

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// doorless are the parts of the program that never ask which door something came through.
var doorless = []string{"bridge", "db", "contextmgr"}

// channelNamed matches a text that names the channel of a door, alone or at the beginning of an ID.
var channelNamed = regexp.MustCompile(`(?i)^(feishu|lark|telegram|terminal|cli|web|http)(:|$)`)

// noChannels are texts that only look like one.
var noChannels = map[string]string{
	"bridge/checkup.go cli":              "the check of the CLI",
	"bridge/outcome.go cli":              "what the CLI said, in the log",
	"bridge/approval/forms.go http":      "the scheme of a URL",
	"bridge/approval/rules.go http":      "the scheme of a URL",
	"contextmgr/redact/commands.go http": "the program of this name",
	"contextmgr/redact/shield.go cli":    "the beginning of an app's ID",
}

// What differs between doors is a value, or an ability that a door has or has not; ids are told apart by package chat.
func TestNoChannelNames(t *testing.T) {
	p, met := typeCheck(t), map[string]bool{}
	for folder, files := range p.folders {
		top, _, _ := strings.Cut(folder, "/")
		if !slices.Contains(doorless, top) {
			continue
		}
		for _, f := range files {
			for what := range channelsIn(f, *p.infos[folder]) {
				entry := p.names[f] + " " + what
				if met[entry] = true; noChannels[entry] == "" {
					t.Errorf("%s names a channel or compares one: %s", p.names[f], what)
				}
			}
		}
	}
	for entry := range noChannels {
		if !met[entry] {
			t.Errorf("%s is not there any more: take it off the list", entry)
		}
	}
}

// channelsIn are the texts of a file that name a channel, the functions that make keys of one, and what compares
// channels.
func channelsIn(f *ast.File, info types.Info) map[string]bool {
	found := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.SelectorExpr:
			if strings.HasPrefix(n.Sel.Name, "FeishuChat") || strings.HasPrefix(n.Sel.Name, "FeishuUser") {
				found[n.Sel.Name] = true
			}
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				compared(n.X, found)
				compared(n.Y, found)
			}
		case *ast.SwitchStmt:
			compared(n.Tag, found)
		}
		if e, ok := n.(ast.Expr); ok {
			if v := info.Types[e].Value; v != nil && v.Kind() == constant.String && channelNamed.MatchString(constant.StringVal(v)) {
				found[constant.StringVal(v)] = true
			}
		}
		if b, ok := n.(*ast.BasicLit); ok && b.Kind == token.STRING { // also where its type is unknown
			if s := strings.Trim(b.Value, "`\""); channelNamed.MatchString(s) {
				found[s] = true
			}
		}
		return true
	})
	return found
}

// compared records the channel of a key or of an ID.
func compared(e ast.Expr, found map[string]bool) {
	if call, ok := e.(*ast.CallExpr); ok {
		e = call.Fun
	}
	if s, ok := e.(*ast.SelectorExpr); ok && (s.Sel.Name == "Channel" || s.Sel.Name == "ChannelOf") {
		found["."+s.Sel.Name] = true
	}
}
