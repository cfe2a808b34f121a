package bridge

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// catalogues is everything that users can be told.
var catalogues = map[string]any{
	"texts":         texts,
	"commandTexts":  commandTexts,
	"accessTexts":   accessTexts,
	"approvalTexts": approvalTexts,
	"cardTexts":     cardTexts,
	"inputTexts":    inputTexts,
	"outputTexts":   outputTexts,
	"ownerTexts":    ownerTexts,
}

// each phrase of all catalogues.
func eachPhrase(f func(name string, p phrase)) {
	for of, c := range catalogues {
		v := reflect.ValueOf(c)
		for i := range v.NumField() {
			f(of+"."+v.Type().Field(i).Name, v.Field(i).Interface().(phrase))
		}
	}
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
	n := 0
	eachPhrase(func(name string, p phrase) {
		n++
		if p.ZH == "" || p.EN == "" {
			t.Errorf("%s is missing: %+v", name, p)
		}
		if !slices.Equal(verbs(p.ZH), verbs(p.EN)) {
			t.Errorf("%s takes other arguments in the other language: %q %q", name, verbs(p.ZH), verbs(p.EN))
		}
		if langOf(p.ZH) != zh && strings.ContainsFunc(p.ZH, isLetter) || langOf(p.EN) == zh {
			t.Errorf("%s is in the wrong language: %+v", name, p)
		}
		if bad := internals.FindString(p.ZH + p.EN); bad != "" {
			t.Errorf("%s shows internals: %q", name, bad)
		}
		if strings.ContainsFunc(p.EN, isLetter) && strings.TrimSpace(p.EN) != p.EN && strings.TrimSpace(p.ZH) == p.ZH || strings.Contains(p.EN, "，") || strings.Contains(p.EN, "。") {
			t.Errorf("%s is not set like English: %q", name, p.EN)
		}
	})
	if n < 200 {
		t.Errorf("only %d phrases", n)
	}
}

func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// A catalogue that is not looked through could lack anything.
func TestEveryCatalogueIsKnown(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				for _, name := range spec.(*ast.ValueSpec).Names {
					if !strings.HasSuffix(strings.ToLower(name.Name), "texts") {
						continue
					}
					found++
					if _, ok := catalogues[name.Name]; !ok {
						t.Errorf("%s: add %s to catalogues", path, name.Name)
					}
				}
			}
		}
	}
	if found != len(catalogues) {
		t.Errorf("%d catalogues in the source, %d are looked through", found, len(catalogues))
	}
}

func TestVerbs(t *testing.T) {
	for text, want := range map[string][]string{
		"%s and %d": {"s", "d"}, "%[2]d of %[1]s": {"s", "d"}, "100%% of %.2f": {"f"}, "%-10q": {"q"}, "none": nil,
	} {
		if got := verbs(text); !slices.Equal(got, want) {
			t.Errorf("verbs(%q) = %q, want %q", text, got, want)
		}
	}
}
