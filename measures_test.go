package magpie_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// measures say how entangled the program is: cutting a function, a type or a file in two makes none of them better. Each
// number is today's, and may only fall.
var measures = []struct {
	what  string
	most  int
	count func(*testing.T) int
}{
	{"calls of one message on docs/architecture.md, look-ups included", 185, func(t *testing.T) int {
		n, _ := calls(wayOfAMessage(t))
		return n
	}},
	{"files of these calls", 107, func(t *testing.T) int {
		_, files := calls(wayOfAMessage(t))
		return len(files)
	}},
	{"selector chains of four names and more in bridge", 0, func(t *testing.T) int {
		return len(longChain.FindAllString(sourcesOf(t, "bridge"), -1))
	}},
	{"files that know that a running turn is handed messages", 28, countSteering},
	{"names that db shows", 266, func(t *testing.T) int { return len(shown(typeCheck(t).packages["db"])) }},
	{"names of db that bridge and its rooms use", 218, countUsed},
	{"structs in bridge", 39, countStructs},
}

func TestTheMeasuresFall(t *testing.T) {
	for _, m := range measures {
		n := m.count(t)
		t.Logf("%4d %s", n, m.what)
		if n > m.most {
			t.Errorf("%s: %d, more than %d", m.what, n, m.most)
		} else if n < m.most*9/10 {
			t.Errorf("%s: only %d, so nothing keeps them from growing to %d: lower the measure", m.what, n, m.most)
		}
	}
}

var (
	longChain = regexp.MustCompile(`\b[a-z]\w*(?:\.[a-zA-Z]\w*){3,}`)
	steering  = regexp.MustCompile(`(?i)steer`)
	adding    = regexp.MustCompile(`\bAdd(?:ed|s)\b`) // in package convo
)

// wayOfAMessage is the part of the page with all calls of one message.
func wayOfAMessage(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	return thirdPart(string(data))
}

// sourcesOf is the text of the program's files in a folder, without those in folders below.
func sourcesOf(t *testing.T, folder string) (text string) {
	t.Helper()
	eachProductFile(t, func(file string, _ *token.FileSet, _ *ast.File) {
		if path.Dir(file) == folder {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text += string(data)
		}
	})
	return text
}

func countSteering(t *testing.T) (n int) {
	eachProductFile(t, func(file string, _ *token.FileSet, _ *ast.File) {
		if data, err := os.ReadFile(file); err != nil {
			t.Fatal(err)
		} else if steering.Match(data) || path.Dir(file) == "internal/convo" && adding.Match(data) {
			n++
		}
	})
	return n
}

// shown are the names that a package shows: of functions, types, methods, constants and variables.
func shown(p *types.Package) (list []types.Object) {
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		list = append(list, o)
		if named, ok := o.Type().(*types.Named); ok && o.Name() == named.Obj().Name() {
			for m := range named.Methods() {
				if m.Exported() {
					list = append(list, m)
				}
			}
		}
	}
	return list
}

func countUsed(t *testing.T) int {
	p := typeCheck(t)
	used := map[types.Object]bool{}
	for folder, info := range p.infos {
		if folder != "bridge" && !strings.HasPrefix(folder, "bridge/") {
			continue
		}
		for _, o := range info.Uses {
			used[o] = true
		}
	}
	n := 0
	for _, o := range shown(p.packages["db"]) {
		if used[o] {
			n++
		}
	}
	return n
}

func countStructs(t *testing.T) (n int) {
	eachProductFile(t, func(file string, _ *token.FileSet, syntax *ast.File) {
		ast.Inspect(syntax, func(node ast.Node) bool {
			if spec, ok := node.(*ast.TypeSpec); ok && path.Dir(file) == "bridge" {
				if _, ok := spec.Type.(*ast.StructType); ok {
					n++
				}
			}
			return true
		})
	})
	return n
}

// Only Bridge holds the whole bridge: its parts get what they use.
func TestNoPartHoldsTheWholeBridge(t *testing.T) {
	p := typeCheck(t)
	whole := p.packages["bridge"].Scope().Lookup("Bridge").Type()
	for _, name := range p.packages["bridge"].Scope().Names() {
		part, ok := p.packages["bridge"].Scope().Lookup(name).Type().Underlying().(*types.Struct)
		if !ok {
			continue
		}
		for f := range part.Fields() {
			if held := f.Type(); types.Identical(held, whole) || types.Identical(held, types.NewPointer(whole)) {
				t.Errorf("%s holds the whole bridge", name)
			}
		}
	}
}

// source is that of the program, with the types of what is its own. What it imports from elsewhere is unknown, and so
// is what is made of that.
type source struct {
	set      *token.FileSet
	folders  map[string][]*ast.File
	names    map[*ast.File]string
	packages map[string]*types.Package
	infos    map[string]*types.Info
}

func typeCheck(t *testing.T) *source {
	t.Helper()
	p := &source{
		folders: map[string][]*ast.File{}, names: map[*ast.File]string{}, packages: map[string]*types.Package{},
		infos: map[string]*types.Info{},
	}
	eachProductFile(t, func(file string, set *token.FileSet, syntax *ast.File) {
		p.set, p.names[syntax] = set, file
		p.folders[path.Dir(file)] = append(p.folders[path.Dir(file)], syntax)
	})
	for folder := range p.folders {
		_, _ = p.Import("magpie/" + folder)
	}
	return p
}

// Import implements [types.Importer].
func (p *source) Import(name string) (*types.Package, error) {
	folder, own := strings.CutPrefix(name, "magpie/")
	if !own || p.folders[folder] == nil {
		return nil, fmt.Errorf("%s is not part of the program", name)
	}
	if p.packages[folder] == nil {
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
		check := types.Config{Importer: p, Error: func(error) {}, FakeImportC: true}
		p.infos[folder] = info
		p.packages[folder], _ = check.Check(name, p.set, p.folders[folder], info)
	}
	return p.packages[folder], nil
}

// notMeasured are folders with doubles of other systems, which are as large as what they stand for, and with tests.
var notMeasured = []string{"feishusim", "modelsim", "claudetest", "scripted", "dbtest", "doortest", "testdata"}

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
