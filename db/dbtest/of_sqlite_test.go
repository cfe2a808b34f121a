package dbtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each test of the list exists, and skips itself.
func TestTheTestsOfSQLiteExist(t *testing.T) {
	skipping := map[string]bool{}
	for _, s := range ofSQLite {
		files, err := filepath.Glob(filepath.Join("..", "..", s.folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", s.folder, files, err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			fset := token.NewFileSet()
			syntax, err := parser.ParseFile(fset, file, source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range syntax.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == s.test {
					body := string(source[fset.Position(f.Pos()).Offset:fset.Position(f.End()).Offset])
					skipping[s.folder+" "+s.test] = strings.Contains(body, "dbtest.OfSQLite(t)")
				}
			}
		}
		if skips, found := skipping[s.folder+" "+s.test]; !found || !skips {
			t.Errorf("%s: exists %t, skips itself %t", s.test, found, skips)
		}
		if s.why == "" {
			t.Errorf("%s: why?", s.test)
		}
	}
}
