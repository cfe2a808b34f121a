// Package i18ntest helps to test packages that have texts in both languages. It reads the texts from the source, so
// that none is left out. It does not check what a text says.
package i18ntest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"magpie/internal/i18n"
)

// Texts reads all texts for users from the source: all variables, which must be phrases, in the files of the working
// folder that match a pattern. A variable that is not a literal becomes an empty phrase.
func Texts(t testing.TB, pattern string) map[string]i18n.Phrase {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]i18n.Phrase{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				readText(t, all, spec)
			}
			return true
		})
	}
	return all
}

func readText(t testing.TB, all map[string]i18n.Phrase, spec *ast.ValueSpec) {
	t.Helper()
	name := spec.Names[0].Name
	all[name] = i18n.Phrase{}
	if len(spec.Names) != 1 || len(spec.Values) != 1 {
		t.Errorf("%s is not a single text", name)
		return
	}
	p, ok := spec.Values[0].(*ast.CompositeLit)
	if !ok {
		t.Errorf("%s is not a literal", name)
		return
	}
	if !isPhrase(p.Type) {
		t.Errorf("%s is no Phrase", name)
		return
	}
	if len(p.Elts) == 2 {
		all[name] = i18n.Phrase{ZH: element(t, p.Elts[0], "ZH"), EN: element(t, p.Elts[1], "EN")}
	}
}

// isPhrase reports whether a type is written Phrase or i18n.Phrase.
func isPhrase(typ ast.Expr) bool {
	if sel, ok := typ.(*ast.SelectorExpr); ok {
		typ = sel.Sel
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.Name == "Phrase"
}

// element is the value of a field, which may be keyed.
func element(t testing.TB, e ast.Expr, field string) string {
	t.Helper()
	if kv, ok := e.(*ast.KeyValueExpr); ok {
		if key, ok := kv.Key.(*ast.Ident); !ok || key.Name != field {
			t.Errorf("%v instead of %s", kv.Key, field)
		}
		e = kv.Value
	}
	return literal(t, e)
}

// literal is the value of a string literal, possibly concatenated.
func literal(t testing.TB, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return literal(t, e.X) + literal(t, e.Y)
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	t.Errorf("%T is no text", e)
	return ""
}

// FormatVerb matches a verb of fmt.Sprintf.
var FormatVerb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0]*\d*(?:\.\d+)?([a-zA-Z%])`)

// Verbs lists the verbs of a text in the order of the arguments.
func Verbs(text string) []string {
	var list []string
	next := 1
	for _, m := range FormatVerb.FindAllStringSubmatch(text, -1) {
		if m[2] == "%" {
			continue
		}
		if m[1] != "" {
			next = int(m[1][0] - '0')
		}
		for len(list) < next {
			list = append(list, "")
		}
		list[next-1] = m[2]
		next++
	}
	return list
}

// Check fails the test if a text lacks a language, or takes different arguments in the two.
func Check(t testing.TB, all map[string]i18n.Phrase) {
	t.Helper()
	for name, p := range all {
		if p.ZH == "" || p.EN == "" {
			t.Errorf("%s is missing: %+v", name, p)
		}
		if zh, en := Verbs(p.ZH), Verbs(p.EN); !slices.Equal(zh, en) {
			t.Errorf("%s takes other arguments in the other language: %q %q", name, zh, en)
		}
	}
}
