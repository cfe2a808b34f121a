package magpie_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Limits of what a reader has to keep in mind. What exceeds them has usually become two things.
const (
	mostLines  = 110 // of a function
	mostFields = 25  // of a struct; configurations list what there is
)

// notMeasured are folders with doubles of other systems, which are as large as what they stand for.
var notMeasured = []string{"feishusim", "modelsim", "claudetest", "scripted", "dbtest", "testdata"}

func TestFunctionsAndTypesAreSmall(t *testing.T) {
	eachProductFile(t, func(file string, set *token.FileSet, syntax *ast.File) {
		for _, d := range syntax.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if n := set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1; n > mostLines {
				t.Errorf("%s: %s has %d lines, more than %d", file, f.Name.Name, n, mostLines)
			}
		}
		ast.Inspect(syntax, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				checkFields(t, file, spec)
			}
			return true
		})
	})
}

// checkFields checks the number of a struct's fields, and that only Bridge holds the whole bridge: its parts get what
// they use.
func checkFields(t *testing.T, file string, spec *ast.TypeSpec) {
	t.Helper()
	list, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	count := 0
	for _, f := range list.Fields.List {
		count += max(1, len(f.Names))
		if typeName(f.Type) == "Bridge" && path.Dir(file) == "bridge" {
			t.Errorf("%s: %s holds the whole bridge", file, spec.Name)
		}
	}
	if count > mostFields && spec.Name.Name != "Config" {
		t.Errorf("%s: %s has %d fields, more than %d", file, spec.Name, count, mostFields)
	}
}

// typeName is the name of a type of the same package, without pointer and parameters.
func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// eachProductFile calls do with every Go file that is neither a test nor in a folder of notMeasured.
func eachProductFile(t *testing.T, do func(file string, set *token.FileSet, syntax *ast.File)) {
	t.Helper()
	set, files := token.NewFileSet(), 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		skipped := d != nil && d.IsDir() && (slices.Contains(notMeasured, d.Name()) || d.Name() == "node_modules")
		switch {
		case err != nil:
			return err
		case skipped:
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		syntax, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err == nil {
			files++
			do(filepath.ToSlash(file), set, syntax)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
}
