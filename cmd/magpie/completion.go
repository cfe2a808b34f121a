package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" help:"bash, zsh or fish." enum:"bash,zsh,fish"`
}

// Run prints the completion of this program's commands and flags for a shell.
func (c completionCmd) Run(k *kong.Context) error {
	words := map[string][]string{}
	collectWords(words, k.Model.Node, k.Model.Name)
	if c.Shell == "fish" {
		return writeFish(os.Stdout, k.Model.Node)
	}
	return writeBash(os.Stdout, words, c.Shell == "zsh")
}

// collectWords collects the possible words after each command, by the command's words: "magpie history" is followed by
// "import".
func collectWords(words map[string][]string, n *kong.Node, path string) {
	for _, f := range n.AllFlags(true) {
		for _, flag := range f {
			words[path] = append(words[path], "--"+flag.Name)
		}
	}
	for _, arg := range n.Positional {
		words[path] = append(words[path], arg.EnumSlice()...)
	}
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		words[path] = append(words[path], child.Name)
		collectWords(words, child, path+" "+child.Name)
	}
	slices.Sort(words[path])
	words[path] = slices.Compact(words[path])
}

// writeBash writes a completion for bash, which zsh understands as well. Where there are no words, files are completed.
func writeBash(w io.Writer, words map[string][]string, zsh bool) error {
	var b strings.Builder
	if zsh {
		// A plain .zshrc, as on macOS, has not loaded the completion that this builds upon.
		b.WriteString("(( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }\n" +
			"autoload -U +X bashcompinit && bashcompinit\n")
	}
	b.WriteString("_magpie() {\n  local path=magpie i current=${COMP_WORDS[COMP_CWORD]}\n" +
		"  for ((i = 1; i < COMP_CWORD; i++)); do\n    case \"$path ${COMP_WORDS[i]}\" in\n")
	for _, path := range sortedKeys(words) {
		if strings.Contains(path, " ") {
			fmt.Fprintf(&b, "    %q) path=%q ;;\n", path, path)
		}
	}
	b.WriteString("    esac\n  done\n  case $path in\n")
	for _, path := range sortedKeys(words) {
		fmt.Fprintf(&b, "  %q) COMPREPLY=($(compgen -W %q -- \"$current\")) ;;\n", path, strings.Join(words[path], " "))
	}
	b.WriteString("  esac\n}\ncomplete -o default -F _magpie magpie\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// writeFish writes a completion for fish.
func writeFish(w io.Writer, root *kong.Node) error {
	var b strings.Builder
	line := func(condition, rest string) { fmt.Fprintf(&b, "complete -c magpie -n '%s' %s\n", condition, rest) }
	quote := func(s string) string { return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(s) + "'" }
	flags := func(condition string, list []*kong.Flag) {
		for _, f := range list {
			line(condition, "-l "+f.Name+" -d "+quote(f.Help))
		}
	}
	flags("__fish_use_subcommand", root.Flags)
	for _, c := range root.Children {
		line("__fish_use_subcommand", "-f -a "+c.Name+" -d "+quote(c.Help))
		seen := "__fish_seen_subcommand_from " + c.Name
		flags(seen, c.Flags)
		var names []string
		for _, sub := range c.Children {
			names = append(names, sub.Name)
		}
		for _, sub := range c.Children {
			line(seen+"; and not __fish_seen_subcommand_from "+strings.Join(names, " "),
				"-f -a "+sub.Name+" -d "+quote(sub.Help))
			flags(seen+"; and __fish_seen_subcommand_from "+sub.Name, sub.Flags)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func sortedKeys(m map[string][]string) []string { return slices.Sorted(maps.Keys(m)) }
