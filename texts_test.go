package magpie_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"magpie/internal/i18n/i18ntest"
)

var update = flag.Bool("update", false, "write docs/texts-all.md anew")

// phrase is a text that people read, in both languages.
type phrase struct{ name, zh, en string }

// phrases reads the texts of the files of a pattern, in the order of their names.
func phrases(t *testing.T, pattern string) (list []phrase) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Names) != len(spec.Values) {
				return true
			}
			for i, v := range spec.Values {
				if lit, ok := v.(*ast.CompositeLit); ok && isPhrase(lit.Type) {
					list = append(list, phraseOf(t, spec.Names[i].Name, lit))
				}
			}
			return true
		})
	}
	slices.SortFunc(list, func(a, b phrase) int { return strings.Compare(a.name, b.name) })
	return list
}

// mistakes reads the texts of all configuration errors, named by package.
func mistakes(t *testing.T) (list []phrase) {
	t.Helper()
	for folder := range packages(t) {
		files, err := filepath.Glob(folder + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 1 && isMistake(call.Fun) {
					zh, en := textOf(t, folder, call.Args[0]), textOf(t, folder, call.Args[1])
					list = append(list, phrase{"`" + folder + "`", zh, en})
				}
				return true
			})
		}
	}
	slices.SortFunc(list, func(a, b phrase) int { return strings.Compare(a.name+a.en+a.zh, b.name+b.en+b.zh) })
	return slices.Compact(list)
}

func isMistake(e ast.Expr) bool {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		e = sel.Sel
	}
	name, ok := e.(*ast.Ident)
	return ok && name.Name == "Mistakef"
}

func isPhrase(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name == "Phrase"
	case *ast.SelectorExpr:
		return e.Sel.Name == "Phrase"
	}
	return false
}

func phraseOf(t *testing.T, name string, lit *ast.CompositeLit) phrase {
	t.Helper()
	p := phrase{name: name}
	for i, e := range lit.Elts {
		at := i
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			at = 0
			if fmt.Sprint(kv.Key) == "EN" {
				at = 1
			}
			e = kv.Value
		}
		if at == 0 {
			p.zh = textOf(t, name, e)
		} else {
			p.en = textOf(t, name, e)
		}
	}
	return p
}

// textOf is a text that may be a concatenation.
func textOf(t *testing.T, name string, e ast.Expr) string {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		if err != nil {
			t.Fatal(err)
		}
		return s
	case *ast.BinaryExpr:
		return textOf(t, name, e.X) + textOf(t, name, e.Y)
	case *ast.Ident: // a constant in between
		return "{" + e.Name + "}"
	}
	t.Errorf("%s is no plain text", name)
	return ""
}

const textsHead = `# All texts

Every text that Magpie says to people, in Chinese and in English, to be read in one go. ` + "`go test . -update`" + ` writes this page from
the source; ` + "`%s`" + `, ` + "`$1`" + ` and ` + "`{n}`" + ` stand for what is filled in. The keys of the configuration are explained in
[configuration.md](configuration.md), and most lines of the log that are neither warnings nor errors are in English only.
`

// texts is the page.
func texts(t *testing.T) string {
	var b strings.Builder
	b.WriteString(textsHead)
	cell := strings.NewReplacer("\n", "<br>", "|", `\|`)
	for _, s := range textSections(t) {
		fmt.Fprintf(&b, "\n## %s\n\n| | 中文 | English |\n|---|---|---|\n", s.title)
		for _, p := range s.list {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", p.name, cell.Replace(p.zh), cell.Replace(p.en))
		}
	}
	return b.String()
}

var (
	// What only a reader of the source knows: types, packages, verbs of errors, SQL.
	internals = regexp.MustCompile(`\b(?:nil|struct|goroutine|panic|strconv|context canceled|SQLITE_\w+|lstat|errno|[a-z]+\.[A-Z]\w+)\b`)
	verb      = regexp.MustCompile(`%(\[\d\])?[-+# 0]*\d*(?:\.\d+)?[a-zA-Z]`)
	keyName   = regexp.MustCompile(`\[[a-z]+\]( [a-z_]+)?|--[a-z]+`)
	// A number with a word in the plural, as if it could not be one.
	countedMany = regexp.MustCompile(`%(\[\d\])?[-+# 0]*d (?:[a-z]+ ){0,2}?[a-z]+[a-z]s(?:[^a-z(]|$)`)
	// The forms of a word, of which Phrase.Sprintf chooses one by the number before it.
	bothForms = regexp.MustCompile(`\(s\)|\([a-z]*\|[a-z]+\)`)
	// Words that must not be used in these texts.
	otherWords = regexp.MustCompile(`智能体|纪元|放行|杀|(?i:\b(?:so many|in vain|anew|all the same|what it held|calls wait|is no port|` +
		`cannot be part of it|must be a text|from 1 on|does not want messages)\b)|\b(?:Stop|newer|older) magpie\b`)
)

// Every text exists in both languages, in plain words. docs/texts-all.md lists them; -update rewrites it.
func TestAllTexts(t *testing.T) {
	n := 0
	for _, s := range textSections(t) {
		if len(s.list) == 0 || s.where == inMistake && len(s.list) < 30 {
			t.Errorf("%s: only %d texts were found", s.title, len(s.list))
		}
		for _, p := range s.list {
			n++
			if wrong := wrongText(p, s.where); wrong != "" {
				t.Errorf("%s: %s %s: %s | %s", s.title, p.name, wrong, p.zh, p.en)
			}
		}
	}
	if n < 1200 {
		t.Errorf("only %d texts were found", n)
	}
	want := texts(t)
	if *update {
		if err := os.WriteFile("docs/texts-all.md", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile("docs/texts-all.md"); err != nil || string(got) != want {
		t.Errorf("docs/texts-all.md is outdated (%v): update it with go test . -update", err)
	}
}

// wrongText describes what is wrong with a text; empty = nothing.
func wrongText(p phrase, where textPlace) string {
	p.zh, p.en = fenced.ReplaceAllString(p.zh, ""), fenced.ReplaceAllString(p.en, "")
	for _, s := range []string{p.zh, p.en} {
		if bad := internals.FindString(s); bad != "" {
			return fmt.Sprintf("speaks of %q", bad)
		}
		if bad := otherWords.FindString(s); bad != "" {
			return fmt.Sprintf("has another word for %q", bad)
		}
	}
	if strings.Contains(p.zh+p.en, "%w") {
		return "takes an error by %w, which only fmt.Errorf knows"
	}
	words := verb.ReplaceAllString(keyName.ReplaceAllString(p.zh, ""), "")
	switch {
	case oneLanguage[p.name]:
		return ""
	case (p.zh == "") != (p.en == ""):
		return "is there in one language only"
	case !slices.Equal(i18ntest.Verbs(p.zh), i18ntest.Verbs(p.en)):
		return "takes other arguments in Chinese than in English"
	case hasHan(p.en):
		return "is not translated to English"
	case where == inPlayground && bothForms.MatchString(p.en):
		return "shows both forms of a word"
	case where != inMistake && countedMany.MatchString(p.en):
		return "has no singular, such as message(s) or memor(y|ies), after its number"
	case !hasHan(words) && strings.ContainsFunc(words, unicode.IsLetter) && strings.TrimSpace(p.zh) != strings.TrimSpace(p.en) && !commandsOnly[p.name]:
		return "is not translated to Chinese"
	}
	return ""
}

// Every phrase is said somewhere.
func TestEveryTextIsSaid(t *testing.T) {
	named := map[string]int{}
	for folder := range packages(t) {
		for _, file := range parseFolder(t, folder) {
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					if fmt.Sprint(n.X) == "i18n" {
						named[n.Sel.Name]++
						return false
					}
				case *ast.Ident:
					if folder == "internal/i18n" { // where it is declared, too
						named[n.Name]++
					}
				}
				return true
			})
		}
	}
	for _, p := range phrases(t, "internal/i18n/*.go") {
		if named[p.name] < 2 {
			t.Errorf("nobody says i18n.%s", p.name)
		}
	}
}

var (
	odd          = regexp.MustCompile(`[‘「」『』＂]`) // quotation marks that nothing else here uses
	quoted       = regexp.MustCompile(`"[^"]*"`)
	curlyOrEmpty = regexp.MustCompile(`^[^“”]*(?:“[^“”]+”[^“”]*)*$`)
)

// wrongQuotes describes what is wrong with the quotation marks of a text; empty = nothing. Chinese has “ ”, and " only
// around what is typed like that. English has “ ” in chats and " in terminals, where a terminal's font may lack the
// others.
func wrongQuotes(p phrase, inChat bool) string {
	p.zh, p.en = fenced.ReplaceAllString(p.zh, ""), fenced.ReplaceAllString(p.en, "")
	switch {
	case odd.MatchString(p.zh + p.en):
		return "has another kind of quotation marks"
	case !curlyOrEmpty.MatchString(p.zh) || !curlyOrEmpty.MatchString(p.en):
		return "has quotation marks that do not match"
	case inChat && strings.Contains(p.en, `"`):
		return "has straight quotation marks in a chat"
	case !inChat && strings.ContainsAny(p.en, "“”"):
		return "has curly quotation marks in a terminal"
	}
	for _, q := range quoted.FindAllString(p.zh, -1) {
		if strings.ContainsFunc(q, func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
			return "has straight quotation marks around Chinese"
		}
	}
	return ""
}

// All texts use quotation marks in the same way, and English pages only straight ones.
func TestQuotationMarks(t *testing.T) {
	for _, s := range textSections(t) {
		for _, p := range s.list {
			if wrong := wrongQuotes(p, s.where >= inChat); wrong != "" {
				t.Errorf("%s: %s %s: %s | %s", s.title, p.name, wrong, p.zh, p.en)
			}
		}
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(pages, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		chinese := strings.HasSuffix(name, ".zh.md") || name == "docs/texts-all.md"
		if !chinese && strings.ContainsAny(string(data), "“”") {
			t.Errorf("%s has curly quotation marks", name)
		}
	}
}

// The playground's page uses the same words as the other texts.
func TestThePlaygroundUsesTheSameWords(t *testing.T) {
	files, err := filepath.Glob("internal/console/web/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, "internal/modelsim/scenes.go", "docs/playground.md", "docs/playground.zh.md") {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bad := otherWords.FindString(string(data)); bad != "" {
			t.Errorf("%s: there is another word for %q", name, bad)
		}
	}
}

// commandsOnly hold nothing but a command and what it says.
var commandsOnly = map[string]bool{"DoctorCLIFails": true}

// oneLanguage are texts of the playground's page that only one language needs: its Chinese name, and the button for the
// other language.
var oneLanguage = map[string]bool{"name": true, "other": true, "otherLabel": true}

// spoken matches an error text for operators by its beginning or a part of it: a configuration error.
var spoken = regexp.MustCompile(`\[[a-z]+\] |^environment: |\bwant `)

// talkative are the packages that print texts for the operator.
var talkative = []string{"cmd/magpie", "internal/operator/services", "internal/operator/systemd"}

// reasons are the packages whose errors are shown to operators, with the functions that create them; without any, all
// do.
var reasons = map[string][]string{
	"contextmgr/memdoc": nil, "internal/chat": {"ParseKey", "Validate", "ValidID"}, "db": {"Tidy"},
}

// productFiles are the parsed Go files of a folder, tests apart.
func productFiles(t *testing.T, folder string) (*token.FileSet, []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return set, files
}

// Texts for operators exist in both languages: a configuration error is a i18n.Mistakef, and printed text is a
// Phrase.
func TestWhatOperatorsReadIsTranslated(t *testing.T) {
	for folder := range packages(t) {
		if strings.HasSuffix(folder, "test") || strings.HasSuffix(folder, "sim") {
			continue
		}
		set, files := productFiles(t, folder)
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if text := plainReason(call); text != "" && isReason(file, folder, call.Pos()) {
					t.Errorf("%s is in English only: %s", set.Position(call.Pos()), text)
				}
				if text := untranslated(call, slices.Contains(talkative, folder)); text != "" {
					t.Errorf("%s is in English only: %s", set.Position(call.Pos()), text)
				}
				return true
			})
		}
	}
}

// isReason reports whether code at this position creates errors that are shown to operators.
func isReason(file *ast.File, folder string, at token.Pos) bool {
	functions, ok := reasons[folder]
	if !ok || functions == nil {
		return ok
	}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Pos() <= at && at < f.End() {
			return slices.Contains(functions, f.Name.Name)
		}
	}
	return false
}

// plainReason is the text of an error that is no Mistake; empty if it only wraps another one.
func plainReason(call *ast.CallExpr) string {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 || fun.Sel.Name != "Errorf" && (fun.Sel.Name != "New" || fmt.Sprint(fun.X) != "errors") {
		return ""
	}
	text := literals(call.Args[:1])
	if !strings.ContainsFunc(verb.ReplaceAllString(text, ""), unicode.IsLetter) {
		return ""
	}
	return text
}

// untranslated is a text in a call that people would read in one language only; empty = none.
func untranslated(call *ast.CallExpr, talks bool) string {
	fun, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	pkg, ok := fun.X.(*ast.Ident)
	if !ok {
		return ""
	}
	name := pkg.Name + "." + fun.Sel.Name
	args := call.Args
	switch {
	case name == "fmt.Errorf" || name == "errors.New":
		if text := literals(args[:1]); spoken.MatchString(text) || talks && strings.Contains(text, "--") {
			return text
		}
		return ""
	case !talks || pkg.Name != "fmt":
		return ""
	case strings.HasPrefix(fun.Sel.Name, "Fprint"):
		to, ok := args[0].(*ast.SelectorExpr)
		id, plain := args[0].(*ast.Ident)
		if plain && id.Name != "out" || !plain && (!ok || !strings.HasPrefix(to.Sel.Name, "Std")) {
			return ""
		}
		args = args[1:]
	case !strings.HasPrefix(fun.Sel.Name, "Print"):
		return ""
	}
	text := literals(args)
	if strings.ContainsFunc(ours.ReplaceAllString(verb.ReplaceAllString(text, ""), ""), unicode.IsLetter) {
		return text
	}
	return ""
}

// ours matches the beginning of a line on standard error.
var ours = regexp.MustCompile(`^magpie: `)

// literals are the texts in some expressions, in order.
func literals(list []ast.Expr) string {
	var b strings.Builder
	for _, e := range list {
		switch e := e.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
				b.WriteString(s)
			}
		case *ast.BinaryExpr:
			b.WriteString(literals([]ast.Expr{e.X, e.Y}))
		}
	}
	return b.String()
}
