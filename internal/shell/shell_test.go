package shell

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func texts(words []Word) (all []string) {
	for _, w := range words {
		all = append(all, w.Text)
	}
	return all
}

func TestSingleCommands(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"ls": {"ls"}, " ls\t-l ": {"ls", "-l"}, `git commit -m 'a b' "c d"`: {"git", "commit", "-m", "a b", "c d"},
		`a -''f "-"g ''`: {"a", "-f", "-g", ""}, "rm *.log": {"rm", "*.log"}, "a 中 é": {"a", "中", "é"},
		"A=1 B='x y' make": {"make"}, "git diff HEAD~1": {"git", "diff", "HEAD~1"}, "a b#c": {"a", "b#c"},
		"a if then": {"a", "if", "then"}, "[ -f a ]": {"[", "-f", "a", "]"}, "a '中\u3000文'": {"a", "中\u3000文"},
	} {
		c, ok := Single(text)
		if got := texts(c.Words); !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	c, _ := Single(`A=1 x "*" '?' a[b] c`)
	if want := []Word{{"x", false, false}, {"*", true, false}, {"?", true, false}, {"a[b]", false, true},
		{"c", false, false}}; !slices.Equal(c.Words, want) || !c.Sets {
		t.Errorf("%+v", c)
	}
}

// What may do more than its words say, or what shells read in several ways, is no single command.
func TestNoSingleCommands(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", " ", "\t", "#", "# a", "a # b", "a #", "a 'b", `a "b`, `a 'b"`, "'", `"`,
		// more commands
		"a; b", "a;", ";a", "a & b", "a &", "a && b", "a || b", "a | b", "a |& b", "a\nb", "a\n", "\na", "a\rb", "a\r\nb", "a\x00b",
		"(a)", "{ a; }", "a (b)", "a() b", "function a", "coproc a", "coproc A a", "! a", "a !b", "time a", "time -p a", "time",
		"if a", "if a; then b; fi", "while a", "until a", "for a in b", "select a in b", "case a in", "do a", "done", "fi", "then a",
		"esac", "[[ a ]]", "[[ -f a", "((a))", "let a=1", "}", "{",
		// what the shell puts in a word's place
		"a $b", "a ${b}", "a ${b:-c}", "a $(b)", "a `b`", `a "$b"`, `a "$(b)"`, "a \"`b`\"", "a $((1+1))", "a $[1+1]", "a $'b'", `a $"b"`,
		"a $'\\x2d'", "a <(b)", "a >(b)", "a =(b)", "a {b,c}", "a {1..3}", "a @(b|c)", "a *(b)", "a !(b)", "a \\b", "a \\\nb", `a "\b"`,
		// in quotes, too: which shell reads it is not known
		"a '$b'", "a 'b;c'", `a "b|c"`, "a '!b'", "a '{b}'", `a '\'`, "a 'b\nc'",
		// redirections
		"a > b", "a >> b", "a >| b", "a < b", "a <> b", "a <<< b", "a << b", "a <<- b", "a 2> b", "a 2>&1", "a >& b", "a &> b", "> a",
		"a {b}> c",
		// variables
		"A=1", "A=$b c", "A=(b c)", "A[1]=b c", "A+=b c", "export A=1", "declare A=1", "local A=1", "readonly A", "typeset A", "nameref a",
		// other blanks
		"a\vb", "a\fb", "a\u00a0b", "a\u0085b", "a\u2028b", "a\u3000b", "a\u2003b", "a\x1b", "a\x7f", "a\x01",
	} {
		if c, ok := Single(text); ok {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a": "a", "a b; c": "a b,c", "a && b || c | d": "a,b,c,d", "a 2>/dev/null | b 2>&1": "a,b", "a 2> /dev/null b": "a b",
		"a 'b c'": "a b c", "a;b": "a,b",
	} {
		list, ok := List(text)
		var got []string
		for _, c := range list {
			got = append(got, strings.Join(texts(c.Words), " "))
		}
		if !ok || strings.Join(got, ",") != want {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	for _, text := range []string{
		"", "a;", "a &&", "| a", "a | | b", "a;; b", "a & b", "a |& b", "a > b", "a 1>&2", "a >&2", "a 2>&1x", "a 2>&3", "a 2>/dev/nullx",
		"a 2>>/dev/null", "a 2>'/dev/null'", "a 2>b", "a 3>/dev/null", "a </dev/null", "a 'b;c'", "a '2>&1'", "! a | b", "time a | b",
		"a # | b", "a\nb", "a $b", "a \\", "(a)", "{ a", "a | while b", "a && if b", "2>&1", "A=1; b", "a && [[ b ]]", "a\x00; b",
	} {
		if list, ok := List(text); ok {
			t.Errorf("%q: %+v", text, list)
		}
	}
}

func TestWordsBeforeTheEnd(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "git": "", "git ": "git", "git log": "git", "git log ": "git,log", "git commit -m \"": "git,commit,-m",
		"g''it \"log\" ": "git,log", `\git log `: "git,log", "A=1 a ": "A=1,a", "a 'b c' d ": "a", "a $b c ": "a", "$a b ": "", "time a ": "time,a",
		"$'git' log ": "", "$'\\x67it' log ": "", "a; b ": "", "ls|": "", "ls;": "", "ls&&": "", "a > ": "", "(a ": "", "a\tb ": "", "a\u00a0b ": "", "a\r": "",
		"a # b ": "a",
	} {
		if got := strings.Join(WordsBefore(text), ","); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// bash sees the same words in a single command.
func TestBashSeesTheSameWords(t *testing.T) {
	t.Parallel()
	parts := slices.Concat(
		strings.Split(" '\"\t-=#~/.,:@%+^!;&|<>$`(){}[]*?\\", ""),
		[]string{"  ", "a", "b c", "-f", "''", `""`, "'a b'", `"a b"`, "A=1", "A=1 ", "A+=1 ", "if", "time ", "for ", "echo", " #", "\n", "\r", "\v",
			"\u00a0", "\u3000", "中", "é", "2>&1", "$'a'", "[[", "]]", "export ", "coproc "},
	)
	random := rand.New(rand.NewPCG(1, 2))
	var script strings.Builder
	var want []string
	for range 5_000 {
		var text string
		for range 1 + random.IntN(8) {
			text += parts[random.IntN(len(parts))]
		}
		c, ok := Single(text)
		if !ok || c.Sets || strings.Contains(text, "~") ||
			slices.ContainsFunc(c.Words, func(w Word) bool { return w.Pattern }) {
			continue
		}
		script.WriteString("printf '%s\\0' " + text + "; echo; ")
		want = append(want, fmt.Sprintf("%q\n", texts(c.Words)))
	}
	if len(want) < 100 {
		t.Fatalf("%d commands", len(want))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "--norc", "-c", script.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(out)) {
		got = append(got, fmt.Sprintf("%q\n", strings.Split(strings.TrimSuffix(line, "\x00\n"), "\x00")))
	}
	if !slices.Equal(got, want) {
		t.Errorf("bash %q\nhere %q", got, want)
	}
}

// Whatever an agent sends is read, however deeply it nests.
func TestLongCommands(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{
		"a | ", "a && ", "a; ", "if ", "while ", "until ", "for a in b; do ", "! ", "time ", "coproc ", "function a ", "case a in ", "[[ ! ",
		"A=1 ", "2>&1 ", "'a' ", `"`, "a", "select a in b; do ", "# ", "let ", "declare ", "a[", "[",
	} {
		text := strings.Repeat(unit, maxLength/len(unit))
		Single(text)
		List(text + "a")
		WordsBefore(text)
	}
	long := "a " + strings.Repeat("b", maxLength-2)
	if _, ok := Single(long); !ok {
		t.Error("the longest command is refused")
	}
	if _, ok := Single(long + "b"); ok {
		t.Error("a longer command is taken")
	}
	if got := WordsBefore(long + "b"); got != nil {
		t.Errorf("words of a longer text: %d", len(got))
	}
}

func BenchmarkSingle(b *testing.B) {
	for b.Loop() {
		Single("git commit -m 'a b c' src/a.go src/b.go")
	}
}
