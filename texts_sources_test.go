package magpie_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// The texts that are neither a Phrase nor a Mistake: tables, the help of commands, the page and the model of the
// playground. They are read from the source, too.

// textSection is a part of docs/texts-all.md.
type textSection struct {
	title string
	list  []phrase
	where textPlace
}

// textPlace is where people read a text.
type textPlace int

const (
	inTerminal textPlace = iota
	inMistake            // in a terminal, too; its numbers are limits
	inChat
	inPlayground // its page and its model, which do not choose the forms of words by a number
)

// textSections are all texts, in the order of the page.
func textSections(t *testing.T) []textSection {
	t.Helper()
	command, words := parseFolder(t, "cmd/magpie"), parseFolder(t, "internal/i18n")
	return []textSection{
		{"In chats", phrases(t, "internal/i18n/texts_*.go"), inChat},
		{"`magpie setup`", phrases(t, "internal/i18n/operator_setup.go"), inTerminal},
		{"`magpie doctor`", phrases(t, "internal/i18n/operator_doctor.go"), inTerminal},
		{"`magpie migrate`", phrases(t, "internal/i18n/operator_migrate.go"), inTerminal},
		{"`magpie service`", phrases(t, "internal/i18n/operator_service.go"), inTerminal},
		{"The other commands", phrases(t, "internal/i18n/operator_cmd.go"), inTerminal},
		{"Mistakes in the configuration", mistakes(t), inMistake},
		{"Errors of the system and of the database", errorTexts(t), inMistake},
		{"Help of commands and flags", helpTexts(t, command, words), inTerminal},
		{"Mistakes on the command line", usageTexts(t, command), inTerminal},
		{"Lines of the log", tableTexts(t, words, "LogLinesInChinese"), inTerminal},
		{"The playground's page", pageTexts(t), inPlayground},
		{"The simulated model", modelTexts(t), inPlayground},
	}
}

func parseFolder(t *testing.T, folder string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

func hasHan(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
}

// plainText is a text that is written out, possibly in pieces, and false for anything else.
func plainText(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		s, err := strconv.Unquote(e.Value)
		return s, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, ok := plainText(e.X)
		y, too := plainText(e.Y)
		return x + y, ok && too && e.Op == token.ADD
	}
	return "", false
}

// constants are the texts of a package that have a name.
func constants(files []*ast.File) map[string]string {
	all := map[string]string{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Names) == len(spec.Values) {
				for i, v := range spec.Values {
					if s, ok := plainText(v); ok {
						all[spec.Names[i].Name] = s
					}
				}
			}
			return true
		})
	}
	return all
}

// pairs are the texts of a folder that stand side by side in a list, a table or a call, Chinese first. A Phrase, or a
// Mistake, is not among them.
func pairs(t *testing.T, folder string) (list []phrase) {
	t.Helper()
	look := func(values []ast.Expr) {
		for i := range max(len(values)-1, 0) {
			zh, ok := plainText(values[i])
			en, too := plainText(values[i+1])
			if ok && too && hasHan(zh) && !hasHan(en) && strings.ContainsFunc(en, unicode.IsLetter) {
				list = append(list, phrase{"`" + folder + "`", zh, en})
			}
		}
	}
	for _, file := range parseFolder(t, folder) {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if a, ok := n.Type.(*ast.ArrayType); !isPhrase(n.Type) && (!ok || a.Len != nil) { // no words in a row
					look(n.Elts)
				}
			case *ast.CallExpr:
				if !isMistake(n.Fun) {
					look(n.Args)
				}
			}
			return true
		})
	}
	return list
}

// errorTexts are the texts of errors that are no Mistake: what the system says, and phrases that stand where they are
// said.
func errorTexts(t *testing.T) []phrase {
	t.Helper()
	list := pairs(t, "internal/i18n")
	for folder := range packages(t) {
		for _, file := range parseFolder(t, folder) {
			ast.Inspect(file, func(n ast.Node) bool {
				if _, named := n.(*ast.ValueSpec); named {
					return false // see phrases
				}
				lit, ok := n.(*ast.CompositeLit)
				if !ok || !isPhrase(lit.Type) || len(lit.Elts) != 2 {
					return true
				}
				text := func(e ast.Expr) string {
					if kv, ok := e.(*ast.KeyValueExpr); ok {
						e = kv.Value
					}
					s, _ := plainText(e)
					return s
				}
				if zh, en := text(lit.Elts[0]), text(lit.Elts[1]); hasHan(zh) {
					list = append(list, phrase{"`" + folder + "`", zh, en})
				}
				return true
			})
		}
	}
	slices.SortFunc(list, func(a, b phrase) int { return strings.Compare(a.name+a.en+a.zh, b.name+b.en+b.zh) })
	return slices.Compact(list)
}

// table reads a variable that maps English texts to Chinese ones.
func table(t *testing.T, files []*ast.File, name string) map[string]string {
	t.Helper()
	all, named := map[string]string{}, constants(files)
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || spec.Names[0].Name != name {
				return true
			}
			for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
				kv := e.(*ast.KeyValueExpr)
				en, ok := plainText(kv.Key)
				if id, isName := kv.Key.(*ast.Ident); isName {
					en, ok = named[id.Name], named[id.Name] != ""
				}
				zh, too := plainText(kv.Value)
				if !ok || !too {
					t.Errorf("a text of %s is no literal", name)
				}
				all[en] = zh
			}
			return false
		})
	}
	return all
}

func tableTexts(t *testing.T, files []*ast.File, name string) (list []phrase) {
	t.Helper()
	for en, zh := range table(t, files, name) {
		list = append(list, phrase{"", zh, en})
	}
	slices.SortFunc(list, func(a, b phrase) int { return strings.Compare(a.en, b.en) })
	return list
}

var (
	helpTag = regexp.MustCompile(`(?:^| )help:("(?:[^"\\]|\\.)*")`)
	nameTag = regexp.MustCompile(`(?:^| )name:"([^"]*)"`)
)

// helpTexts are the English texts in the tags of the commands and flags, with their Chinese translations among words. Hidden ones
// are for the program itself.
func helpTexts(t *testing.T, files, words []*ast.File) (list []phrase) {
	t.Helper()
	chinese := table(t, words, "HelpInChinese")
	const ofKong = "Show help."
	list = append(list, phrase{"Help", chinese[ofKong], ofKong})
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			fields, ok := spec.Type.(*ast.StructType)
			if !ok || spec.Name.Name == "playgroundBridgeCmd" {
				return true
			}
			for _, f := range fields.Fields.List {
				if f.Tag == nil || len(f.Names) == 0 || strings.Contains(f.Tag.Value, `hidden:""`) {
					continue
				}
				tag := strings.Trim(f.Tag.Value, "`")
				m := helpTag.FindStringSubmatch(tag)
				if m == nil {
					continue
				}
				en, err := strconv.Unquote(m[1])
				if err != nil {
					t.Fatal(err)
				}
				name := f.Names[0].Name
				if as := nameTag.FindStringSubmatch(tag); as != nil {
					name = as[1]
				}
				of := strings.TrimSuffix(strings.TrimSuffix(spec.Name.Name, "Cmd"), "Cmds")
				list = append(list, phrase{of + " " + name, chinese[en], en})
			}
			return true
		})
	}
	return list
}

// usageTexts are kong's own texts of the help, and its errors about arguments.
func usageTexts(t *testing.T, files []*ast.File) (list []phrase) {
	t.Helper()
	add := func(name string, en, zh ast.Expr) {
		e, ok := plainText(en)
		z, too := plainText(zh)
		if !ok || !too {
			t.Errorf("a text of %s is no literal", name)
		}
		list = append(list, phrase{"`" + name + "`", strings.TrimSpace(z), strings.TrimSpace(e)})
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if name := spec.Names[0].Name; name == "headings" || name == "argumentWords" {
				args := spec.Values[0].(*ast.CallExpr).Args
				for i := 0; i+1 < len(args); i += 2 {
					add(name, args[i], args[i+1])
				}
			}
			return true
		})
	}
	return list
}

// modelTexts are the texts of the simulated model: it picks one of two, which may have names that end in Zh and En.
func modelTexts(t *testing.T) []phrase {
	t.Helper()
	list := pairs(t, "internal/modelsim")
	named := constants(parseFolder(t, "internal/modelsim"))
	for i := range list {
		list[i].name = ""
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if base, ok := strings.CutSuffix(name, "Zh"); ok {
			list = append(list, phrase{base, named[name], named[base+"En"]})
		}
	}
	return list
}

// pageTexts are the texts of the playground's page. Placeholders are in braces.
func pageTexts(t *testing.T) (list []phrase) {
	t.Helper()
	data, err := os.ReadFile("internal/console/web/texts.js")
	if err != nil {
		t.Fatal(err)
	}
	_, source, ok := strings.Cut(string(data), "const texts = ")
	if !ok {
		t.Fatal("the page has no texts")
	}
	page := scriptReader{rest: source, texts: map[string]string{}}
	page.value("")
	for _, path := range page.order {
		name, ok := strings.CutPrefix(path, "zh.")
		if !ok {
			if name := strings.TrimPrefix(path, "en."); page.texts["zh."+name] == "" {
				list = append(list, phrase{name, "", page.texts[path]})
			}
			continue
		}
		list = append(list, phrase{name, page.texts[path], page.texts["en."+name]})
	}
	_, source, ok = strings.Cut(string(data), "const names = ")
	if !ok {
		t.Fatal("the page has no names")
	}
	names := scriptReader{rest: source, texts: map[string]string{}}
	names.value("")
	for _, path := range names.order {
		if name, ok := strings.CutPrefix(path, "zh."); ok {
			list = append(list, phrase{"called", names.texts[path], name})
			continue
		}
		list = append(list, phrase{"called", strings.TrimPrefix(path, "en."), names.texts[path]})
	}
	return list
}

// scriptReader reads the texts in an object of a script, by their paths.
type scriptReader struct {
	rest  string
	texts map[string]string
	order []string // of the paths
}

var (
	scriptSpace  = regexp.MustCompile(`^(?:\s|//[^\n]*)+`)
	scriptKey    = regexp.MustCompile(`^(?:'([^']*)'|([\p{L}_$][\p{L}\d_$]*))\s*:\s*`)
	scriptText   = regexp.MustCompile(`^'((?:[^'\\\n]|\\.)*)'`)
	scriptRegexp = regexp.MustCompile(`^/(?:[^/\\\n]|\\.)+/`)
	scriptEscape = regexp.MustCompile(`\\(.)`)
	arguments    = regexp.MustCompile(`^(?:\([^)]*\)|\w+) => `)
	filledIn     = regexp.MustCompile(`[a-z]+`)
	condition    = regexp.MustCompile(`\(?\w+ (?:===|<) [^?']*\?`)
)

// value reads an object, a list, or anything else, up to the comma or the bracket after it.
func (r *scriptReader) value(path string) {
	switch r.skip(); {
	case strings.HasPrefix(r.rest, "{"):
		r.rest = r.rest[1:]
		for r.skip(); !strings.HasPrefix(r.rest, "}"); r.skip() {
			m := scriptKey.FindStringSubmatch(r.rest)
			if m == nil {
				panic(fmt.Sprintf("no key of %s: %.60q", path, r.rest))
			}
			r.rest = r.rest[len(m[0]):]
			r.value(strings.TrimPrefix(path+"."+m[1]+m[2], "."))
			r.comma()
		}
		r.rest = r.rest[1:]
	case strings.HasPrefix(r.rest, "["):
		r.rest = r.rest[1:]
		i := 0
		for r.skip(); !strings.HasPrefix(r.rest, "]"); r.skip() {
			i++
			r.value(path + "." + strconv.Itoa(i))
			r.comma()
		}
		r.rest = r.rest[1:]
	default:
		if text := r.expression(); text != "" {
			r.texts[path] = text
			r.order = append(r.order, path)
		}
	}
}

func (r *scriptReader) skip() { r.rest = r.rest[len(scriptSpace.FindString(r.rest)):] }

func (r *scriptReader) comma() {
	r.skip()
	r.rest = strings.TrimPrefix(r.rest, ",")
}

// expression reads a value that is neither an object nor a list, and returns its text; empty = it has none.
func (r *scriptReader) expression() string {
	r.rest = r.rest[len(arguments.FindString(r.rest)):]
	var b, code strings.Builder
	said, depth := false, 0
	fill := func() {
		between := strings.Trim(condition.ReplaceAllString(code.String(), ""), " +()")
		between, other := strings.CutPrefix(between, ":")
		if code.Reset(); other {
			b.WriteString("/")
		}
		if name := filledIn.FindString(between); name != "" {
			b.WriteString("{" + name + "}")
		}
	}
	for r.rest != "" {
		c := r.rest[0]
		if m := scriptText.FindStringSubmatch(r.rest); m != nil {
			fill()
			b.WriteString(scriptEscape.ReplaceAllString(m[1], "$1"))
			said, r.rest = true, r.rest[len(m[0]):]
			continue
		}
		if m := scriptRegexp.FindString(r.rest); m != "" && code.Len() == 0 {
			r.rest = r.rest[len(m):]
			continue
		}
		switch {
		case depth == 0 && strings.ContainsRune(",]}", rune(c)):
			fill()
			if !said {
				return ""
			}
			return b.String()
		case strings.ContainsRune("([{", rune(c)):
			depth++
		case strings.ContainsRune(")]}", rune(c)):
			depth--
		}
		code.WriteByte(c)
		r.rest = r.rest[1:]
	}
	return b.String()
}

// readOrTyped are the files with Chinese words that the program parses or that people type, and with texts for the
// agent, which are the same for all languages.
var readOrTyped = map[string]string{
	"bridge/choice.go": "values", "bridge/commands.go": "commands", "bridge/budget/cost.go": "values",
	"bridge/projects.go": "values", "bridge/receive.go": "what stops and continues", "bridge/midturn.go": "a mark",
	"bridge/attempt.go": "a line of the log whose words are fixed", "internal/chat/file.go": "the prompt",
	"internal/modelsim/facts.go": "questions", "internal/modelsim/scenes.go": "questions",
	"internal/modelsim/brain.go": "questions", "internal/modelsim/prefix.go": "the prompt",
	"feishu/content_other.go": "the prompt", "feishu/content_card.go": "the prompt", "feishu/forwarded.go": "the prompt",
	"feishu/cardjson/markdown.go": "a mark", "internal/claude/stream/failure.go": "what servers say",
	"internal/claude/stream/resets.go": "what servers say", "internal/schedule/behind.go": "times",
	"internal/schedule/clock.go": "times", "internal/schedule/words.go": "times",
}

// Every Chinese text of the program is on the page, with its English counterpart.
func TestTheListOfTextsIsComplete(t *testing.T) {
	var listed strings.Builder
	for _, s := range textSections(t) {
		for _, p := range s.list {
			listed.WriteString(p.zh + "\n" + p.en + "\n")
		}
	}
	all, unused := listed.String(), map[string]bool{}
	for name := range readOrTyped {
		unused[name] = true
	}
	for folder := range packages(t) {
		if strings.HasSuffix(folder, "test") || strings.HasPrefix(folder, "contextmgr") ||
			folder == "internal/feishusim" || folder == "internal/text" || folder == "internal/tokenize" {
			continue // the prompt, the platform, and characters that look alike
		}
		set, files := productFiles(t, folder)
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok {
					return true
				}
				s, ok := plainText(lit)
				if !ok || !hasHan(s) || strings.Contains(all, strings.TrimSpace(s)) {
					return true
				}
				name := set.Position(lit.Pos()).Filename
				if delete(unused, name); readOrTyped[name] == "" {
					t.Errorf("%s: not in docs/texts-all.md: %s", set.Position(lit.Pos()), s)
				}
				return true
			})
		}
	}
	for name := range unused {
		t.Errorf("%s contains no such words", name)
	}
}
