package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"magpie/internal/i18n"
)

type manCmd struct{}

// Run prints the manual page of this program (man(7)), made of its commands and flags as --help shows them, in the
// language of the user. Pages in the system's folders are English, for all users of the machine: scripts/release.
func (manCmd) Run(k *kong.Context) error { return writeMan(os.Stdout, k.Model.Node, userLang()) }

// writeMan writes the manual page.
func writeMan(w io.Writer, root *kong.Node, l i18n.Lang) error {
	var b strings.Builder
	head := func(p i18n.Phrase) { b.WriteString(".SH " + p.In(l) + "\n") }
	fmt.Fprintf(&b, ".TH MAGPIE 1 \"\" \"magpie %s\"\n", escapeRoff(version()))
	head(i18n.ManName)
	fmt.Fprintf(&b, "magpie \\- %s\n", escapeRoff(root.Help))
	head(i18n.ManSynopsis)
	fmt.Fprintf(&b, ".B magpie\n.I %s\n[\\fI%s\\fR]\n", i18n.ManCommand.In(l), i18n.ManFlags.In(l))
	head(i18n.ManOptions)
	writeManFlags(&b, root.Flags, l)
	head(i18n.ManCommands)
	for _, n := range root.Leaves(true) {
		writeManCommand(&b, n, l)
	}
	head(i18n.ManFiles)
	fmt.Fprintf(&b, ".TP\n.I magpie.toml\n%s\n", i18n.ManConfig.In(l))
	head(i18n.ManExit)
	for _, code := range []struct {
		number int
		means  i18n.Phrase
	}{{0, i18n.ManWell}, {1, i18n.ManFailed}, {2, i18n.ManMistake}, {130, i18n.ManGivenUp}} {
		fmt.Fprintf(&b, ".TP\n.B %d\n%s\n", code.number, escapeRoff(code.means.In(l)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeManCommand describes one command.
func writeManCommand(b *strings.Builder, n *kong.Node, l i18n.Lang) {
	fmt.Fprintf(b, ".SS %s\n%s\n", escapeRoff(n.FullPath()+manWords(arguments(n), l)), escapeRoff(n.Help))
	for _, arg := range n.Positional {
		fmt.Fprintf(b, ".TP\n.I %s\n%s\n", escapeRoff(strings.Trim(manWords("<"+arg.Name+">", l), "<>")), escapeRoff(arg.Help))
	}
	for node := n; node.Type == kong.CommandNode; node = node.Parent {
		writeManFlags(b, node.Flags, l)
	}
}

// arguments shows the arguments of a command.
func arguments(n *kong.Node) (text string) {
	for _, arg := range n.Positional {
		text += " " + arg.Summary()
	}
	return text
}

func writeManFlags(b *strings.Builder, flags []*kong.Flag, l i18n.Lang) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		name := "\\fB" + escapeRoff("--"+f.Name) + "\\fR"
		if !f.IsBool() {
			value := strings.TrimPrefix(manWords("="+f.FormatPlaceHolder(), l), "=")
			name += "=\\fI" + escapeRoff(strings.TrimSpace(value)) + "\\fR"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, escapeRoff(f.Help))
	}
}

// manWords are words that stand for arguments and values, in the language of the page.
func manWords(text string, l i18n.Lang) string {
	if l == i18n.Chinese {
		return argumentWords.Replace(headings.Replace(text))
	}
	return text
}

// escapeRoff escapes what man would interpret: backslashes, and hyphens, which it would print as another character.
func escapeRoff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
