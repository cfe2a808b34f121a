package i18n

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
)

// texts reads everything that users can be told from the source: all variables of type Phrase, so that none can be left
// out. What a variable does not say is an empty phrase.
func texts(t *testing.T) map[string]Phrase {
	t.Helper()
	files, err := filepath.Glob("texts_*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]Phrase{}
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

func readText(t *testing.T, all map[string]Phrase, spec *ast.ValueSpec) {
	t.Helper()
	name := spec.Names[0].Name
	all[name] = Phrase{}
	if len(spec.Names) != 1 || len(spec.Values) != 1 {
		t.Errorf("%s is not one text", name)
		return
	}
	p, ok := spec.Values[0].(*ast.CompositeLit)
	if !ok {
		t.Errorf("%s is not written out", name)
		return
	}
	if typ, ok := p.Type.(*ast.Ident); !ok || typ.Name != "Phrase" {
		t.Errorf("%s is no Phrase", name)
		return
	}
	if len(p.Elts) == 2 {
		all[name] = Phrase{literal(t, p.Elts[0]), literal(t, p.Elts[1])}
	}
}

// literal is the value of a string that is written out, in one piece or in several.
func literal(t *testing.T, e ast.Expr) string {
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

var formatVerb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+# 0]*\d*(?:\.\d+)?([a-zA-Z%])`)

// verbs are what a text takes, in the order of the arguments.
func verbs(text string) []string {
	var list []string
	next := 1
	for _, m := range formatVerb.FindAllStringSubmatch(text, -1) {
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

// internals is what no user should have to read.
var internals = regexp.MustCompile(`(?i)sqlite|database|数据库|stack|panic|goroutine|/home|/root|/tmp|\.go\b|stdin|stderr|json|uuid|nil\b|context deadline|exit status|%!`)

func TestEveryTextIsThereInBothLanguages(t *testing.T) {
	all := texts(t)
	for name, p := range all {
		if p.ZH == "" || p.EN == "" {
			t.Errorf("%s is missing: %+v", name, p)
		}
		if !slices.Equal(verbs(p.ZH), verbs(p.EN)) {
			t.Errorf("%s takes other arguments in the other language: %q %q", name, verbs(p.ZH), verbs(p.EN))
		}
		if Detect(p.ZH) != Chinese && strings.ContainsFunc(formatVerb.ReplaceAllString(p.ZH, ""), isLetter) || Detect(p.EN) == Chinese {
			t.Errorf("%s is in the wrong language: %+v", name, p)
		}
		if bad := internals.FindString(p.ZH + p.EN); bad != "" {
			t.Errorf("%s shows internals: %q", name, bad)
		}
		if strings.ContainsAny(p.EN, "，。：；") {
			t.Errorf("%s is not set like English: %q", name, p.EN)
		}
	}
	if len(all) < 400 || all["Stopped"] != Stopped {
		t.Errorf("%d phrases were read, there are more", len(all))
	}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func TestVerbs(t *testing.T) {
	for text, want := range map[string][]string{
		"%s and %d": {"s", "d"}, "%[2]d of %[1]s": {"s", "d"}, "100%% of %.2f": {"f"}, "%-10q": {"q"}, "none": nil,
	} {
		if got := verbs(text); !slices.Equal(got, want) {
			t.Errorf("verbs(%q) = %q, want %q", text, got, want)
		}
	}
}
