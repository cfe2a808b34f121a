package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

type manCmd struct{}

// Run prints the manual page of this program (man(7)), made of its commands and flags as --help shows them.
func (manCmd) Run(k *kong.Context) error { return writeMan(os.Stdout, k.Model.Node) }

// The parts of the page that do not come from the commands.
const manTail = `.SH FILES
.TP
.I magpie.toml
The configuration. Looked for in the working folder, then in the user's configuration folder, then in /etc/magpie.
.SH EXIT STATUS
.TP
.B 0
Everything went well.
.TP
.B 1
Something failed; the last line of the output says what.
.TP
.B 2
The command line or the configuration has a mistake.
.TP
.B 130
The person at the terminal gave up.
`

// writeMan writes the manual page.
func writeMan(w io.Writer, root *kong.Node) error {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH MAGPIE 1 \"\" \"magpie %s\"\n.SH NAME\nmagpie \\- %s\n",
		escapeRoff(version()), escapeRoff(root.Help))
	b.WriteString(".SH SYNOPSIS\n.B magpie\n.I command\n[\\fIflags\\fR]\n.SH OPTIONS\n")
	writeManFlags(&b, root.Flags)
	b.WriteString(".SH COMMANDS\n")
	for _, n := range root.Leaves(true) {
		writeManCommand(&b, n)
	}
	b.WriteString(manTail)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeManCommand describes one command.
func writeManCommand(b *strings.Builder, n *kong.Node) {
	fmt.Fprintf(b, ".SS %s\n%s\n", escapeRoff(n.FullPath()+arguments(n)), escapeRoff(n.Help))
	for _, arg := range n.Positional {
		fmt.Fprintf(b, ".TP\n.I %s\n%s\n", escapeRoff(arg.Name), escapeRoff(arg.Help))
	}
	for node := n; node.Type == kong.CommandNode; node = node.Parent {
		writeManFlags(b, node.Flags)
	}
}

// arguments shows the arguments of a command.
func arguments(n *kong.Node) (text string) {
	for _, arg := range n.Positional {
		text += " " + arg.Summary()
	}
	return text
}

func writeManFlags(b *strings.Builder, flags []*kong.Flag) {
	for _, f := range flags {
		if f.Hidden {
			continue
		}
		name := "\\fB" + escapeRoff("--"+f.Name) + "\\fR"
		if !f.IsBool() {
			name += "=\\fI" + escapeRoff(f.FormatPlaceHolder()) + "\\fR"
		}
		fmt.Fprintf(b, ".TP\n%s\n%s\n", name, escapeRoff(f.Help))
	}
}

// escapeRoff escapes what man would interpret: backslashes, and hyphens, which it would print as another character.
func escapeRoff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
